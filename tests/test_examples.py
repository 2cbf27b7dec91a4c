"""The notebooks of `examples/` run from top to bottom."""

import os
import re
from pathlib import Path

import pytest
from command_line import ROOT
from documents import everything

NOTEBOOKS = sorted(ROOT.glob("examples/*.ipynb"))
# A cell more for those that answer something: what was asked has its right answer.
GERMAN = {
    "The old dog sleeps.": "Der alte Hund schläft.",
    "I know that the boy can help him.": "Ich weiß, dass der Junge ihm helfen kann.",
    "The old dog has not seen the queen.": "Der alte Hund hat die Königin nicht gesehen.",
    "The king falls asleep.": "Der König schläft ein.",
    "The dog sleeps.": "Der Hund schläft.",
}
CHECKS = {
    "forecast_your_csv": """
year = [100 + 0.4 * n + 25 * math.sin(math.pi * n / 6) for n in range(180, 192)]
assert max(abs(result.predict(steps=12) - year)) < 8  # the noise of the past has 5
""",
    "translate_and_look": f"assert dict(zip({[*GERMAN]}, result.predict({[*GERMAN]}))) == {GERMAN}",
}


def test_notebooks_have_no_stored_outputs():
    assert len(NOTEBOOKS) == 4
    for path in NOTEBOOKS:
        assert '"outputs": []' in (text := path.read_text(encoding="utf-8"))
        assert '"output_type"' not in text and '"execution_count": null' in text


def test_every_sentence_to_be_translated_has_its_translation():
    notebook = (ROOT / "examples/translate_and_look.ipynb").read_text(encoding="utf-8")
    shown = everything() + notebook.replace("\\", "")
    asked = re.findall(r'attnlab translate [^`\n]*?"(.*?)"', shown)
    for arguments in re.findall(r"\.predict\(\[(.*?)\]\)", shown):
        asked += re.findall(r'"(.*?)"', arguments)
    assert {*asked} - {"..."} == {*GERMAN}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Jupyter's own
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path):
    nbformat, nbclient = (pytest.importorskip(name) for name in ("nbformat", "nbclient"))
    book = nbformat.read(path, as_version=4)
    book.cells.append(nbformat.v4.new_code_cell(CHECKS.get(path.stem, "")))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for name in [name for name in environment if name.startswith("ATTNLAB_")]:
        del environment[name]
    client = nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": tmp_path}})
    client.execute(env=environment)
    shown = [output.get("data", {}) for cell in book.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in data for data in shown) >= 1
