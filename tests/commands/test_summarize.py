"""`attnlab summarize`: sentences of a text, without a run."""

from __future__ import annotations

import pytest
from command_line import assert_refused
from run_folders import write_run

TEXT = (
    "The bank raised its rates on Monday. Rates of the bank are high. A fox lives\nin the forest. "
    "The forest is home to a fox and an owl. Rain fell on the town. Much rain came to the town."
)


@pytest.fixture
def lab(here):
    (here.folder / "article.txt").write_text(TEXT)
    return here


def test_one_sentence_is_printed_per_line_in_text_order(lab):
    out = lab.run("summarize", "article.txt", "--sentences", "3").out
    assert lab("summarize", "-", "--sentences", "3", stdin=TEXT.encode()).out == out
    whole = " ".join(TEXT.split())
    places = [whole.index(line) for line in out.splitlines()]
    assert len(places) == 3 and places == sorted(places)


def test_a_wrong_request_gets_one_sentence(lab):
    write_run(lab.runs)
    (lab.folder / "empty.txt").write_text("\n")
    for words, message in (
        (("empty.txt",), "FILE: empty.txt: expected a text, got an empty one."),
        (("article.txt", "--sentences", "7"), "--sentences=7: must be at most 6"),
        (("article.txt", "--encoder", "x" * 300), "--encoder: expected a run folder"),
        (("article.txt", "--encoder", "latest"), "--encoder: latest: expected a completed run"),
        (("article.txt", "--encoder", "."), "--encoder: expected the folder of a run of"),
    ):
        assert_refused(lab("summarize", *words), message)


def test_a_name_that_may_be_a_presets_is_opened_by_keras_hub(lab):
    pytest.importorskip("keras_hub")
    code, _, err = lab("summarize", "article.txt", "--encoder", "bert_of_nobody")
    assert (code, err.count("\n")) == (2, 1)
    assert "--encoder: expected the folder of a run" in err and "got bert_of_nobody: Unknown" in err
