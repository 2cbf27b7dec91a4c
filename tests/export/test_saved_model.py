"""Exported models: what is written, and that it runs without attnlab."""

from __future__ import annotations

import pytest
import tensorflow as tf
from command_line import CommandsHere, assert_refused
from exported_examples import example_of


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


def test_a_full_disk_is_one_sentence(trained, tmp_path, monkeypatch):
    def full(*_, **__):
        raise tf.errors.ResourceExhaustedError(None, None, "No space left on device")

    monkeypatch.setattr(tf.saved_model, "save", full)
    here, out = CommandsHere(trained.attnlab.folder), tmp_path / "out"
    done = here("export", trained.folder, "--format", "saved_model", "--out", out)
    assert_refused(done, f"--out={out}: can't be written (No space left on device")
    assert [*tmp_path.iterdir()] == []


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
