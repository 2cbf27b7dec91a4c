"""What a run prints at its end: its result next to its baselines, and its folder."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.padding import Padding
from rich.table import Table

from attnlab.config.options import in_prose
from attnlab.records import logs
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.kinds import kind_of
from attnlab.terminal.console import plain_console, plain_table, width
from attnlab.terminal.numbers import in_one_format


def print_result(metrics: Mapping[str, Any], folder: Path, file: Any = None) -> None:
    """Print the test result next to its baselines, the caveats, and the folder.

    With `-q` only the folder, for scripts.
    """
    if logs.verbosity < 0:
        print(folder)
        return
    console = plain_console(file)
    print_table(metrics, "test", file)
    metric, parts = metrics["metric"], kind_of(metrics["task"]).scoring.parts
    for name, extra in metrics.get("extra", {}).items():
        result = "not possible, the weights are tied to the length of the training windows"
        if extra is not None:
            result = f"{metric} {number(extra['test'][metric])}"
        meaning = parts.get(name, "a further part of the test data")
        console.print(f"{name} ({meaning}): {result}", soft_wrap=True)
    print_notes(metrics.get("notes", []), file)
    console.print(
        f"best epoch {metrics['best_epoch']} of {metrics['epochs']}, "
        f"{metrics['parameters']:,} parameters, {metrics['seconds']:.1f} s"
    )
    tries = kind_of(metrics["task"]).predictions.next_steps
    keys = (metrics["model"], metrics["task"], "")
    if advice := next((tries[key] for key in keys if key in tries), None):
        other = "luong_global" if metrics["attention"] == "bahdanau" else "bahdanau"
        advice = advice.format(run=RunDirectory(folder).word, other=other)
        console.print(f"next: {advice}", soft_wrap=True)
    console.print(f"run folder: {folder}", soft_wrap=True)


def print_table(metrics: Mapping[str, Any], part: str, file: Any = None) -> None:
    """The result of one part: a row for the run and one for each baseline, best first.

    The column `skill` is 1 - error / error of that row: what the run gains on it.
    """
    console = plain_console(file)
    own = in_prose(metrics["attention"])
    name = f"{metrics['task']} / {own} / seed {metrics['seed']}"
    console.print(f"{name}: {part}, in {metrics['units']}", soft_wrap=True)
    kind = kind_of(metrics["task"])
    known = {metric.name: metric for metric in kind.scoring.metrics}
    columns = [name for name in metrics["test"] if name not in known or known[name].in_tables]
    rows = [(metrics["attention"], metrics["test"]), *metrics["baselines"].items()]
    metric, sign = metrics["metric"], 1 if kind.scoring.is_lower_better(metrics["metric"]) else -1

    def rank(row: Sequence[Any]) -> float:
        value = row[1].get(metric)
        return math.inf if value is None or value != value else sign * value

    def table(columns: Sequence[str]) -> Table:
        found, ranked = (
            plain_table([kind.predictions.item, *columns, "skill"], [kind.predictions.item]),
            sorted(rows, key=rank),
        )
        cells = [in_one_format([row[1].get(column) for row in ranked]) for column in columns]
        skills = in_one_format([metrics["skills"].get(row[0]) for row in ranked])
        for row, *numbers, skill in zip(ranked, *cells, skills, strict=True):
            own = row is rows[0]
            found.add_row(row[0], *numbers, "" if own else skill, style="bold" if own else "")
        return found

    droppable = [column for column in columns if column != metric]
    missing: list[str] = []
    while droppable and width(table(columns), console) > console.width:
        missing.insert(0, droppable.pop())
        columns.remove(missing[0])
    console.print(Padding(table(columns), (1, 0), expand=False))
    if missing:
        text = f"left out, for the terminal is narrow: {', '.join(missing)}"
        console.print(text, soft_wrap=True)
    console.print(_verdict(metrics), soft_wrap=not console.is_terminal)


def print_notes(notes: Iterable[str], file: Any = None) -> None:
    """Caveats, a line each."""
    console = plain_console(file)
    for note in notes:
        console.print(f"note: {note}", soft_wrap=not console.is_terminal)


def _verdict(metrics: Mapping[str, Any]) -> str:
    """What came out, in a sentence."""
    own, best, skill = in_prose(metrics["attention"]), metrics["best_baseline"], metrics["skill"]
    result = metrics["test"].get(metrics["metric"])
    if result is None or not math.isfinite(result):
        return f"What {own} gives is not finite: a smaller optimizer.learning_rate may help."
    if skill is None:
        return f"{best} makes no error to speak of: no model can do better than it."
    share = f"{abs(skill):.1%}"
    if skill >= 0:
        return f"{share} of the error of {best}, the best baseline, is gone with {own} (skill)."
    return f"The error of {own} is {share} above that of {best}, the best baseline (skill below 0)."


def number(value: float | None, form: str = ".4g") -> str:
    """A number as tables show it; with an exponent it has a digit less, for there are many."""
    text = "-" if value is None else f"{value:{form}}"
    return f"{value:.2e}" if "e" in text else text
