"""Exported models: what is written, and that it runs without attnlab."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import CommandsHere, assert_refused

# The import of attnlab fails in the process that runs an example.
BLOCKED = """
import runpy, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "attnlab":
            raise ImportError(name)

sys.meta_path.insert(0, Blocked())
sys.modules.pop("attnlab", None)
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def example_of(folder: Path) -> str:
    """The output of an example, in a process that can't import attnlab, elsewhere."""
    example = folder / "example.py"
    assert len(example.read_text().splitlines()) <= 20
    kept = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, str(example)],
        cwd=folder.parent,
        env={**kept, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_series_is_exported(trained, tmp_path):
    here, out = CommandsHere(trained.attnlab.folder), tmp_path / "out"
    done = here("export", trained.folder, "--format", "saved_model", "--out", out)
    assert done.code == 0, done.err
    line, last = done.out.splitlines()
    assert line.startswith("`forecast` differs by at most ") and last == f"exported: {out}"
    assert {path.name for path in out.iterdir()} == {
        *("README.md", "example.py", "model", "sample.npz")
    }
    card = (out / "README.md").read_text()
    assert line in card and "task=series task.path=rain.csv" in card and "seasonal_naive" in card
    again = here("export", trained.folder, "--format", "saved_model", "--out", out)
    assert_refused(again, f"--out={out}: exists already.")
    assert [*tmp_path.iterdir()] == [out]


def test_wrong_requests(trained, tmp_path):
    here = CommandsHere(trained.attnlab.folder)
    form = "--format", "saved_model"
    assert_refused(here("export", trained.folder), "--format: expected one of saved_model")
    done = here("export", trained.folder, "--format", "pickle")
    assert done.code == 2 and "pickle" in done.err
    done = here("export", trained.folder, *form, "--quantize", "int8")
    assert_refused(done, "--quantize=int8: not for --format saved_model.")
    done = here("export", trained.folder, *form, "--epoch", "9")
    assert_refused(done, "--epoch: expected best, last or one of the saved epochs")


@pytest.mark.slow
def test_a_translator_is_exported_with_its_search(translating, tmp_path):
    here, out = CommandsHere(translating.attnlab.folder), tmp_path / "out"
    done = here("export", translating.folder, "--format", "saved_model", "--out", out)
    assert done.code == 0, done.err
    said = done.out.splitlines()
    count = said[0].split()[-3]
    assert said[0] == f"`tokens` is equal in {count} of {count} test items."
    assert said[1].startswith("tokenizer.json gives the same tokens for ")
    assert len(example_of(out).splitlines()) == 1
