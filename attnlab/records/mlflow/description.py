"""Tags with the origin of a folder, and its description in Markdown, for MLflow."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from attnlab.errors import RequestError
from attnlab.records import files

NOTE = "mlflow.note.content"
# The last line of a description; without it, somebody has edited the description.
MARK = "*attnlab keeps this text up to date while it ends with this line.*"
_LONGEST_COMMAND, _MOST_ROWS = 3000, 20

Document = Mapping[str, Any]


def origin(folder: Path) -> dict[str, str]:
    """Return tags with the user, the command as typed, and the commit of the code."""
    try:
        known = files.read_json(folder / "environment.json")
    except RequestError:  # the file is missing or damaged
        return {}
    commit = (known.get("code") or {}).get("commit")
    command = str(known.get("command") or "")[:_LONGEST_COMMAND]
    tags = {"mlflow.user": known.get("user"), "mlflow.source.git.commit": commit}
    return {key: value for key, value in {**tags, "attnlab.command": command}.items() if value}


def baseline_tags(metrics: Document) -> dict[str, str]:
    """Return a tag with the main metric of each baseline."""
    main, baselines = metrics.get("metric"), metrics.get("baselines", {})
    known = {name: values.get(main) for name, values in baselines.items()}
    return {f"baseline.{name}": f"{main} {_cell(v)}" for name, v in known.items() if v is not None}


def run_description(status: Document, metrics: Document, attention: str, command: str) -> str:
    """Describe a run: its result next to the baselines, or how it ended without a result."""
    if not metrics:
        ended = f"**{status['state']}** after epoch {status.get('epoch', 0)}"
        return _text([f"{ended}: {status['error']}" if status.get("error") else ended], command)
    test, main = metrics["test"], metrics["metric"]
    columns = [main, *(name for name in test if name != main)]
    rows = {f"**{attention}**": test, **metrics["baselines"]}
    table = [[name, *(values.get(column) for column in columns)] for name, values in rows.items()]
    result = (
        f"**test {main} {_cell(test.get(main))}** with the weights of epoch "
        f"{metrics['best_epoch']}: {metrics['monitor']} {_cell(metrics['best_value'])}"
    )
    return _text([result, _table(["test", *columns], table)], command)


def sweep_description(folder: Path, results: Document, command: str) -> str:
    """Describe a sweep: the best run of a task, and the first rows of the table."""
    best = ""
    if results.get("best"):
        run = f"**best run by {results['by']}: {results['best']}** with {results.get('monitored')}"
        how = f"`attnlab report {folder.name}`"
        best = f"{run}. {how} shows which group is better, with confidence intervals."
    try:
        with open(folder / "table.csv", encoding="utf-8", newline="") as stream:
            header, *rows = [row[:-2] for row in csv.reader(stream)]  # without error and folder
    except (OSError, ValueError, csv.Error):
        return _text([best], command)
    return _text([best, _table(header, rows[:_MOST_ROWS])], command)


def _text(parts: Iterable[str], command: str) -> str:
    shown = f"    {' '.join(command.split())}" if command else ""
    return "\n\n".join(part for part in (*parts, shown, MARK) if part)


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    with suppress(ValueError):
        text = f"{float(text):.4g}" if "." in text else text
    return text.replace("|", "\\|").replace("\n", " ")
