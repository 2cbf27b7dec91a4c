"""The notebooks of `examples/` run from top to end, as a person would run them."""

import os
from pathlib import Path

import pytest
from command_line import ROOT

NOTEBOOKS = sorted(ROOT.glob("examples/*.ipynb"))


def test_notebooks_are_kept_without_outputs():
    assert len(NOTEBOOKS) == 4
    for path in NOTEBOOKS:
        assert '"outputs": []' in (text := path.read_text(encoding="utf-8"))
        assert '"output_type"' not in text and '"execution_count": null' in text


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Jupyter's own
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path):
    nbformat, nbclient = (pytest.importorskip(name) for name in ("nbformat", "nbclient"))
    book = nbformat.read(path, as_version=4)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for name in [name for name in environment if name.startswith("ATTNLAB_")]:
        del environment[name]
    client = nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": tmp_path}})
    client.execute(env=environment)
    shown = [output.get("data", {}) for cell in book.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in data for data in shown) >= 1
