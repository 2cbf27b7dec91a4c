"""`attnlab plan` from the command line."""

from __future__ import annotations

import pytest

from attnlab.cli import main


def plan(runs, capsys, *words):
    """Exit code, standard output and standard error."""
    code = main(["plan", "--runs", str(runs), *words])
    return code, *capsys.readouterr()


def test_the_table_shows_the_number_of_seeds_needed(three_groups, capsys):
    code, out, err = plan(three_groups, capsys, "--difference", "2%", "--by", "attention")
    assert (code, err) == (0, "")
    assert "to find a difference of 2%" in out
    (row,) = [line.split() for line in out.splitlines() if "  bahdanau  " in line]
    assert row[:4] == ["sunspots", "bahdanau", "0.0212", "5"]
    assert "to find: a difference to no attention" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "Missing option '--difference'"),
        (["--difference", "0"], "--difference=0: must be"),
        (["--difference", "1", "--task", "fib"], "None of the 15 runs satisfies"),
    ],
    ids=str,
)
def test_a_wrong_request_is_one_sentence_and_exit_code_2(three_groups, capsys, words, text):
    code, out, err = plan(three_groups, capsys, *words)
    assert (code, out) == (2, "")
    assert text in err and err.count("\n") == 1
