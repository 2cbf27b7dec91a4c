"""What a run shows: lines without a terminal, bars on a terminal, and the result."""

from __future__ import annotations

import io
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from attnlab.runner.console import Screen, bars, print_result, print_table, screen

SHOWN = ("train_loss", "val_loss", "val_bleu")


def row(epoch: int, **more: float) -> dict[str, float]:
    return {"epoch": epoch, "seconds": 0.25, "train_loss": 1.2345e-5, "val_loss": 2.0} | more


def trained(shown: Screen, epochs: int) -> None:
    shown.training(epochs, 0, SHOWN)
    for epoch in range(1, epochs + 1):
        shown.within(0.5)
        shown.advance(row(epoch))


def test_the_first_and_the_last_epoch_have_a_line(capsys):
    with screen() as shown:
        trained(shown, 57)  # within a second
        shown.working(0, None, "scoring the test part")
    assert capsys.readouterr().err.splitlines() == [
        "attnlab: tracing and compiling",
        "attnlab: epoch 1/57: train 1.23e-05, val 2, 0.25 s",
        "attnlab: epoch 57/57: train 1.23e-05, val 2, 0.25 s",
        "attnlab: scoring the test part",
    ]


# Of a process without pytest's handlers of logs.
EACH_VERBOSITY = """
import sys
from pathlib import Path
from attnlab.records import logs
from test_console import screen, trained
for verbosity in (-1, 0, 1):
    logs.verbosity = verbosity
    with logs.logging_to(Path(sys.argv[1], str(verbosity))), screen(verbosity == 0) as shown:
        trained(shown, 2)
"""


def test_jobs_of_a_sweep_show_nothing_and_with_v_the_log_is_shown_once(tmp_path):
    words = [sys.executable, "-c", EACH_VERBOSITY, str(tmp_path)]
    folder = Path(__file__).parent
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    for text in (done.stderr, (tmp_path / "1").read_text()):
        assert text.count("epoch 1/2") == text.count("epoch 2/2") == 1


def test_a_terminal_of_80_columns_has_room_for_the_time_left():
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    page = Console(file=io.StringIO(), width=80)
    with bars(console, "{task.fields[text]}") as progress:
        shown = Screen(progress, quiet=False)
        shown.working(0, None, "preparing")
        shown.training(1000, 998, SHOWN)
        shown.within(0.5)
        shown.advance(row(999, val_loss=1.2345e-5, val_bleu=98.91))
        shown.working(2, 5, "scoring the test part")
        page.print(progress.get_renderable())
    lines = [line.rstrip() for line in page.file.getvalue().splitlines()]
    assert lines[0].endswith("0:00")  # preparing has ended
    assert len(lines) == 3 and max(map(len, lines)) <= 80
    assert lines[1].startswith("epoch 999/1000")
    assert "train 1.23e-05 val 1.23e-05 bleu 98.9" in lines[1]
    assert re.search(r" \d\d:\d\d$", lines[1])
    assert "40%" in lines[2]


@pytest.mark.parametrize(
    ("rmse", "skill", "sentence"),
    [
        (0.75, 0.25, "The error of no attention is 25.0 % below that of persistence, the best"),
        (1.5, -0.5, "The error of no attention is 50.0 % above that of persistence"),
        (0.5, None, "persistence makes practically no error"),
        (math.nan, None, "The result of no attention is not finite"),
    ],
)
def test_a_sentence_reports_the_result(capsys, rmse, skill, sentence):
    run = {"task": "fib", "attention": "none", "seed": 0, "units": "values", "metric": "rmse"}
    scores = {"test": {"rmse": rmse}, "baselines": {"persistence": {"rmse": 1.0}}}
    skills = {"best_baseline": "persistence", "skill": skill, "skills": {"persistence": skill}}
    print_table({**run, **scores, **skills, "scored": "one step ahead"}, "test")
    title, *_, verdict = capsys.readouterr().out.splitlines()
    assert title == "fib / no attention / seed 0: test, one step ahead, in values"
    assert verdict.startswith(sentence)


@pytest.mark.parametrize(
    ("best", "value", "command"),
    [
        (5, 2.0, "attnlab resume {} trainer.epochs=10  # still improving in the last epoch"),
        (4, 2.0, "attnlab forecast {}  # or train with another attention=NAME, then"),
        (5, 0.0, "attnlab forecast {}  # or train with another attention=NAME, then"),
        (
            5,
            None,
            "attnlab --config-dir mine forecast {}  # or train with another attention=NAME, then",
        ),
    ],
)
def test_a_run_whose_last_epoch_is_the_best_is_to_be_trained_longer(
    tmp_path, monkeypatch, capsys, best, value, command
):
    """Not if its value is perfect, nor without validation data. A folder of options is named."""
    monkeypatch.setenv("ATTNLAB_RUNS", str(tmp_path))
    monkeypatch.setenv("ATTNLAB_CONFIG_DIR", os.path.abspath("mine") if value is None else "")
    scores = {"task": "fib", "attention": "none", "seed": 0, "units": "values"}
    scores |= {"metric": "rmse", "test": {"rmse": 1.0}, "baselines": {"persistence": {"rmse": 2.0}}}
    scores |= {"skills": {"persistence": 0.5}, "skill": 0.5, "best_baseline": "persistence"}
    ends = {"monitor": value if value is None else "val_loss", "best_value": value}
    sizes = {"best_epoch": best, "epochs": 5, "parameters": 7, "seconds": 1.0}
    print_result({**scores, **ends, **sizes}, tmp_path / "run")
    advice = capsys.readouterr().out.splitlines()[-1]
    assert advice.startswith(f"next: {command.format(tmp_path / 'run')}")
