"""The profile of a command."""

import re

import pytest

from attnlab.run import command
from attnlab.run.command import profiled, spent


def test_phases_are_separate_and_sum_to_the_total(monkeypatch, capsys):
    clock = iter([0.0, 1.0, 3.0, 6.0, 10.0, 15.0])
    monkeypatch.setattr(command.time, "perf_counter", lambda: next(clock))
    monkeypatch.setenv("ATTNLAB_PROFILE", "1")

    @spent("training")
    def train():
        with spent("saving"):
            pass

    with profiled():  # 0
        train()  # 1, 3 to 6, 10
    lines = [line.split() for line in capsys.readouterr().err.splitlines()]
    found = {" ".join(words[1:-3]): (words[-3], words[-1]) for words in lines}
    assert found == {
        "training": ("6.00", "40.0%"),
        "saving": ("3.00", "20.0%"),
        "other": ("6.00", "40.0%"),
        "in all": ("15.00", "100.0%"),
    }


@pytest.mark.slow
def test_a_command_prints_its_profile_on_request(here, no_figures, monkeypatch):
    words = ("task=fib", "task.count=61", "model.units=3", "trainer.epochs=1")
    words += ("trainer.batch_size=61", "trainer.jit=false", "tracking.enabled=false")
    assert "in all" not in here(*words).err
    monkeypatch.setenv("ATTNLAB_PROFILE", "1")
    err = here(*words, "seed=1").err
    shares = [float(share) for share in re.findall(r"([\d.]+)%$", err, re.MULTILINE)]
    assert shares[-1] == 100.0 and abs(sum(shares[:-1]) - 100.0) < 1.0
    for phase in ("composing", "first steps", "saving", "evaluating", "figures", "tracking"):
        assert re.search(rf"^attnlab: {phase} +[\d.]+ s", err, re.MULTILINE), err
