"""Exported models: what is written, and that it runs without attnlab."""

from __future__ import annotations

import os

import numpy as np
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


def test_a_failed_check_leaves_nothing_behind(trained, tmp_path, monkeypatch):
    from attnlab.export import saved_model

    monkeypatch.setattr(saved_model, "outputs", lambda *_: {"forecast": np.zeros((1, 1))})
    here, out = CommandsHere(trained.attnlab.folder), tmp_path / "made/by/export/out"
    (tmp_path / "made").mkdir()
    done = here("export", trained.folder, "--format", "saved_model", "--out", out)
    assert done.code == 1 and done.out == ""
    start = "attnlab: the command export failed: the exported model differs from attnlab's own: "
    assert done.err.startswith(start) and len(done.err.splitlines()) == 1
    assert [*tmp_path.rglob("*")] == [tmp_path / "made"]


def test_an_empty_folder_is_filled_and_stays_the_same_folder(trained, tmp_path):
    here, out = CommandsHere(trained.attnlab.folder), tmp_path / "out"
    (out / ".export-killed" / "model").mkdir(parents=True)  # by a killed export: doesn't count
    (tmp_path / "link").symlink_to(out)
    number = out.stat().st_ino
    done = here("export", trained.folder, "--format", "saved_model", "--out", tmp_path / "link")
    assert done.code == 0, done.err
    assert out.stat().st_ino == number  # the working folder of a shell, or a mount point
    assert {path.name for path in out.iterdir()} == {
        *("README.md", "example.py", "model", "sample.npz")
    }
    assert (tmp_path / "link").is_symlink() and len([*tmp_path.iterdir()]) == 2


def test_what_is_no_free_folder_stays_as_it_is(trained, tmp_path):
    here = CommandsHere(trained.attnlab.folder)
    full = tmp_path / "full"
    full.mkdir()
    (full / "file").write_text("mine")
    (tmp_path / "link").symlink_to(full)
    (tmp_path / "loop").symlink_to("loop")
    before = {*tmp_path.rglob("*")}
    for name, said in (
        *((name, "exists already") for name in ("full", "full/file", "link", "loop")),
        ("full/file/out", "can't be written (Not a directory)."),
        ("made/" + "n" * 300, "(File name too long)."),
        (os.fsdecode(b"bad\xff"), "is not UTF-8"),
    ):
        done = here("export", trained.folder, "--format", "saved_model", "--out", tmp_path / name)
        assert_refused(done, "--out=", said)
    assert {*tmp_path.rglob("*")} == before and (full / "file").read_text() == "mine"


def test_the_name_of_a_folder_may_be_as_long_as_the_system_allows(trained, tmp_path):
    here, out = CommandsHere(trained.attnlab.folder), tmp_path / ("n" * 250)
    done = here("export", trained.folder, "--format", "saved_model", "--out", out)
    assert done.code == 0, done.err


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
