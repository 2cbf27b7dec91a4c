"""A comparison as Markdown, LaTeX, CSV and JSON: for papers, for other programs."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from attnlab.compare.results import Comparison, Comparisons, Row
from attnlab.compare.sheets import (
    Sheet,
    differences_sheet,
    footnotes,
    heading,
    results_sheet,
)

_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
}


def markdown(found: Comparisons) -> str:
    """Tables with a heading each; notes and warnings as lists."""
    parts = []
    for comparison in found.tasks:
        parts.append(f"**{heading(comparison)}**")
        for sheet in _sheets(comparison):
            parts += [sheet.title] if sheet.title else []
            parts.append(_markdown_table(sheet))
        lines = [f"- {text}" for text in footnotes(comparison)]
        lines += [f"- warning: {text}" for text in comparison.warnings]
        parts.append("\n".join(lines))
    parts += ["\n".join(f"- left out: {text}" for text in found.left_out)] * bool(found.left_out)
    return "\n\n".join(parts) + "\n"


def latex(found: Comparisons) -> str:
    """Tables for the package booktabs; notes and warnings as comments."""
    parts = []
    for comparison in found.tasks:
        lines = [heading(comparison), *footnotes(comparison)]
        lines += [f"warning: {text}" for text in comparison.warnings]
        parts += [f"% {text}" for text in lines]
        parts += [_latex_table(sheet) for sheet in _sheets(comparison)]
    return "\n".join([*parts, *(f"% left out: {text}" for text in found.left_out)]) + "\n"


def comma_separated(found: Comparisons) -> str:
    """A line for each group of each task, with full digits."""
    rows = [row for comparison in found.tasks for row in flat_rows(comparison)]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_json(found: Comparisons) -> str:
    """Everything, with full digits."""
    tasks = [
        {
            "task": comparison.task,
            "metric": comparison.metric.path,
            "direction": {1: "higher", -1: "lower", 0: None}[comparison.metric.direction],
            "units": comparison.units or None,
            "by": list(comparison.by),
            "reference": comparison.reference,
            "baseline": comparison.baseline,
            "geometric": comparison.geometric,
            "groups": [
                {**flat, "values": {str(k): v for k, v in row.group.values.items()},
                 "runs": [str(run.run.path) for run in row.group.runs.values()]}
                for flat, row in zip(flat_rows(comparison), comparison.rows, strict=True)
            ],
            "notes": footnotes(comparison),
            "warnings": comparison.warnings,
        }
        for comparison in found.tasks
    ]  # fmt: skip
    return json.dumps({"tasks": tasks, "left_out": found.left_out}, indent=2, ensure_ascii=False)


def flat_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """All numbers of each group by name; None where there is none."""
    return [_flat(comparison, row) for row in comparison.rows]


def _flat(comparison: Comparison, row: Row) -> dict[str, Any]:
    least, most = row.parameters or (None, None)
    difference, test = row.difference, row.item_test
    return {
        "task": comparison.task,
        "metric": comparison.metric.path,
        **dict(zip(comparison.by, row.group.key, strict=True)),
        "n": row.interval.n,
        "mean": row.interval.mean,
        "low": row.interval.low,
        "high": row.interval.high,
        "best": row.best,
        "worst": row.worst,
        "skill": row.skill,
        "parameters": most,
        "parameters_least": least,
        "seconds_per_epoch": row.seconds_per_epoch,
        "reference": comparison.reference,
        "shared_seeds": difference.n if difference else None,
        "ratio" if comparison.geometric else "difference": difference.mean if difference else None,
        "difference_low": difference.low if difference else None,
        "difference_high": difference.high if difference else None,
        "p": difference.p if difference else None,
        "p_holm": row.p_holm,
        "item_test": test.kind if test else None,
        "items": test.items if test else None,
        "item_statistic": test.statistic if test else None,
        "item_p": test.p if test else None,
        "item_p_holm": test.p_holm if test else None,
        "verdict": row.verdict or None,
    }


def _sheets(comparison: Comparison) -> list[Sheet]:
    differences = differences_sheet(comparison)
    return [results_sheet(comparison), *([differences] if differences else [])]


def _markdown_table(sheet: Sheet) -> str:
    def cell(text: str, number: int) -> str:
        text = text.replace("|", "\\|")
        return f"`{text}`" if number < sheet.words else text

    rule = ["---:"] * len(sheet.header)
    for number in [*range(sheet.words), *([-1] if sheet.header[-1] == "verdict" else [])]:
        rule[number] = "---"
    body = [[cell(text, number) for number, text in enumerate(row)] for row in sheet.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [sheet.header, rule, *body])


def _latex_table(sheet: Sheet) -> str:
    columns = "l" * sheet.words + "r" * (len(sheet.header) - sheet.words)
    lines = [" & ".join(_latex_text(cell) for cell in row) + r" \\" for row in sheet.rows]
    head = " & ".join(_latex_text(name) for name in sheet.header) + r" \\"
    title = [f"% {sheet.title}"] if sheet.title else []
    begin = rf"\begin{{tabular}}{{{columns}}}"
    middle = [r"\toprule", head, r"\midrule", *lines, r"\bottomrule"]
    return "\n".join([*title, begin, *middle, r"\end{tabular}"])


def _latex_text(text: str) -> str:
    """Escaped, and a minus as mathematics has it."""
    escaped = "".join(_LATEX.get(character, character) for character in text)
    parts = escaped.split(" ")
    return " ".join(_minus(part) for part in parts)


def _minus(word: str) -> str:
    start = word[: len(word) - len(word.lstrip("["))]
    rest = word[len(start) :]
    return f"{start}$-${rest[1:]}" if rest[:1] == "-" and rest[1:2].isdigit() else word
