"""The progress of a run: lines without a terminal, bars on a terminal."""

from __future__ import annotations

import io
import logging
import re

import pytest
from rich.console import Console

from attnlab.records import logs
from attnlab.runner.console import Screen, bars, screen

SHOWN = ("train_loss", "val_loss", "val_bleu")
BLEU = {"val_bleu": 98.91}


def row(epoch: int, **more: float) -> dict[str, float]:
    return {"epoch": epoch, "seconds": 0.25, "train_loss": 1.2345e-5, "val_loss": 2.0} | more


def trained(shown: Screen, epochs: int) -> None:
    shown.training(epochs, 0, SHOWN)
    for epoch in range(1, epochs + 1):
        shown.within(0.5)
        shown.advance(row(epoch))


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch):
    monkeypatch.setattr(logs, "verbosity", 0)


def test_the_first_and_the_last_epoch_have_a_line(capsys):
    with screen() as shown:
        shown.training(300, 0, SHOWN)
        assert capsys.readouterr().err == "attnlab: tracing and compiling\n"
        shown.advance(row(1))
        assert capsys.readouterr().err == "attnlab: epoch 1/300: train 1.23e-05, val 2, 0.25 s\n"
        for epoch in range(2, 58):
            shown.advance(row(epoch))
        assert capsys.readouterr().err == ""  # all within a second
        shown.working(0, None, "scoring the test part")
    last, then = capsys.readouterr().err.splitlines()
    assert last.startswith("attnlab: epoch 57/300: ")
    assert then == "attnlab: scoring the test part"


@pytest.mark.parametrize("verbosity", [-1, 0])
def test_jobs_of_a_sweep_and_quiet_runs_show_nothing(capsys, monkeypatch, verbosity):
    monkeypatch.setattr(logs, "verbosity", verbosity)
    with screen(quiet=verbosity == 0) as shown:
        trained(shown, 3)
        shown.working(0, None, "drawing")
    assert capsys.readouterr().err == ""


def test_with_v_the_log_is_shown_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(logs, "verbosity", 1)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    with logs.logging_to(tmp_path / "run.log"), screen() as shown:
        trained(shown, 2)
        logging.getLogger("attnlab.records").debug("MLflow: it has all")
    said = capsys.readouterr().err
    log = (tmp_path / "run.log").read_text()
    for text in (said, log):
        assert text.count("epoch 1/2") == text.count("epoch 2/2") == 1
    assert said.endswith("attnlab: MLflow: it has all\n")


@pytest.fixture
def terminal():
    """The last state of a terminal of 80 columns."""
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    with bars(console, "{task.fields[text]}") as progress:
        shown = Screen(progress, quiet=False)

        def drawn() -> list[str]:
            page = Console(file=io.StringIO(), width=80)
            page.print(progress.get_renderable())
            return [line.rstrip() for line in page.file.getvalue().splitlines()]

        yield shown, drawn


def test_a_terminal_of_80_columns_has_room_for_the_time_left(terminal):
    shown, drawn = terminal
    shown.working(0, None, "preparing")
    shown.training(1000, 998, SHOWN)
    assert "tracing and compiling" in drawn()[-1]
    shown.within(0.5)
    assert "tracing" not in drawn()[-1]
    shown.advance(row(999, val_loss=1.2345e-5, **BLEU))
    shown.working(2, 5, "scoring the test part")
    lines = drawn()
    assert lines[0].endswith("0:00")  # preparing has ended
    assert len(lines) == 3 and max(map(len, lines)) <= 80
    assert lines[1].startswith("epoch 999/1000")
    assert "train 1.23e-05 val 1.23e-05 bleu 98.9" in lines[1]
    assert re.search(r" \d\d:\d\d$", lines[1])
    assert "40%" in lines[2]
