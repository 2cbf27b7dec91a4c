"""Searches by the real command line: killed, gone on with, pruned."""

from __future__ import annotations

import json
import signal
import time

import pytest
from command_line import TINY

SEARCH = ("-m", "search=learning_rate", "task=fib", *TINY, "tracking.enabled=false")


def statuses(attnlab) -> list[dict]:
    return [json.loads((run / "status.json").read_text()) for run in attnlab.run_folders()]


@pytest.mark.slow
def test_a_search_that_was_killed_goes_on_and_does_exactly_its_trials(attnlab):
    command = (*SEARCH, "search.trials=3")
    process = attnlab.start(*command)
    while process.poll() is None and not any(
        status["state"] == "completed" for status in statuses(attnlab)
    ):
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    outcome = attnlab(*command)
    assert outcome.code == 0, outcome.err
    assert "3 completed" in outcome.out
    assert [status["state"] for status in statuses(attnlab)].count("completed") == 3
    again = attnlab(*command)
    assert again.code == 0, again.err
    assert [status["state"] for status in statuses(attnlab)].count("completed") == 3


def test_a_hopeless_trial_is_given_up_and_says_so(attnlab):
    outcome = attnlab(
        *("-m", "task=fib", *TINY, "trainer.epochs=4", "tracking.enabled=false"),
        "search.space={optimizer.learning_rate: {choice: [0.01, 1e-9]}}",
        *("search.sampler=grid", "search.seed=1", "search.prune_after_trials=1"),
        "search.prune_after_epochs=2",
    )
    assert outcome.code == 0, outcome.err
    good, given_up = statuses(attnlab)
    assert good["state"] == "completed"
    assert (given_up["state"], given_up["pruned"], given_up["epoch"]) == ("killed", True, 2)
    assert "1 completed" in outcome.out
    assert "1 pruned" in outcome.out


def test_what_cannot_be_searched_is_said_before_anything_runs(attnlab):
    outcome = attnlab(*SEARCH, "optimizer.learning_rate=0.1")
    assert outcome.code == 2
    assert "optimizer.learning_rate is searched, and the command fixes it" in outcome.err
    outcome = attnlab(*SEARCH[2:], "-m", "search.space={model.unit: {int: [4, 8]}}")
    assert outcome.code == 2
    assert "model.unit: there is no such key. Did you mean model.units?" in outcome.err
    (attnlab.folder / "notes.txt").write_text("a,b\n")
    outcome = attnlab(*SEARCH, "search.storage=notes.txt")
    assert outcome.code == 2
    assert "search.storage: expected a journal that a search has written" in outcome.err
    assert (attnlab.folder / "notes.txt").read_text() == "a,b\n"
    assert attnlab.run_folders() == []
