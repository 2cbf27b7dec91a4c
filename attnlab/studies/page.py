"""A study's report in Markdown, and the study's figure."""

from __future__ import annotations

import os
import shlex

from attnlab.compare.formats import markdown
from attnlab.compare.tables import number_format
from attnlab.records.environment import TYPED
from attnlab.studies.results import Cell, Results, answer, baselines


def report_md(found: Results) -> str:
    """The whole report: answers, groups, baselines, published numbers, differences of protocol."""
    study = found.study
    parts = [f"# {study.name}", study.question]
    if study.quick:
        parts.append("**This is the quick form of the study: it decides little.**")
    parts.append("\n".join(f"- {answer(each)}" for each in found.main.tasks))
    if study.source:
        parts.append(f"Source: {study.source}")
    if found.cells:
        parts += ["## Beside what was published", _published_table(found)]
    if study.differences:
        parts += ["## How the protocol differs", "\n".join(f"- {d}" for d in study.differences)]
    parts += ["## All groups", markdown(found.main).rstrip("\n")]
    lines = [line for each in found.main.tasks for line in _baseline_lines(each)]
    if lines:
        parts += ["## Baselines", "\n".join(lines)]
    commands = [f"    attnlab -m {shlex.join(words)}" for words in study.grids()]
    parts += ["## Made by", f"    {os.environ.get(TYPED, '')}", "which ran", "\n".join(commands)]
    return "\n\n".join(parts) + "\n"


def _published_table(found: Results) -> str:
    lines = [
        "| group | metric | published | by | ours, 95 % interval | n | verdict |",
        "|---|---|---:|---|---:|---:|---|",
    ]
    return "\n".join([*lines, *map(_published_row, found.cells)])


def _published_row(cell: Cell) -> str:
    each = cell.published
    group = ", ".join(f"{key}={value}" for key, value in each.where.items())
    ours, n = "", ""
    if cell.result is not None:
        n, mean, low, high = map(str, cell.result.interval)
        numbers = [value for value in cell.result.interval[1:] if value is not None]
        write = number_format([*numbers, each.value])
        ours = write(numbers[0])
        if len(numbers) == 3:
            ours += f" [{write(numbers[1])}, {write(numbers[2])}]"
    why = f": {each.why}" if each.why and cell.result is not None else ""
    by = f"{each.system}, {each.source}"
    row = [group, each.metric, f"{each.value:g}", by, ours, n, cell.verdict + why]
    return f"| {' | '.join(text.replace('|', chr(92) + '|') for text in row)} |"


def _baseline_lines(comparison) -> list[str]:
    found = baselines(comparison)
    write = number_format(found.values())
    values = ", ".join(f"{name} {write(value)}" for name, value in found.items())
    return [f"- {comparison.name}, {comparison.metric.path}: {values}"] if found else []
