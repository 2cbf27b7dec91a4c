"""A comparison as two tables, how good each group is and how it differs from the reference; notes.

`formats` writes them.
"""

from __future__ import annotations

from collections.abc import Callable

from attnlab.comparison.comparison import Comparison, GroupResult
from attnlab.comparison.sequential import first_bounded
from attnlab.comparison.statistics import ALPHA, ENOUGH_SEEDS
from attnlab.terminal import NOTHING, distinct, number_format, p_text
from attnlab.views.records import Table

_DIRECTIONS = {1: "higher is better", -1: "lower is better", 0: "as a plain number"}
_LARGE_SKILL = 100.0  # if a skill is this large, skills are written with three digits


def heading(task: Comparison) -> str:
    """Return the heading of a task's tables: task, data, metric, units, which way is better."""
    metric = task.metric
    units = f" in {task.units}" if task.units else ""
    part = "test " if metric.is_test else ""
    name = f"{task.task} ({task.data})" if task.data else task.task
    return f"{name}: {part}{metric.path}{units}, {_DIRECTIONS[metric.direction]}"


def results_table(comparison: Comparison) -> Table:
    """Make a row for each group: seeds, mean and interval, best and worst, skill, size, speed."""
    results, write = comparison.results, value_format(comparison)
    write_seconds = number_format((result.seconds_per_epoch for result in results), digits=3)
    skills = [result.skill for result in results]
    large = any(skill is not None and abs(skill) >= _LARGE_SKILL for skill in skills)
    write_skill = number_format(skills, digits=3) if large else "{:.3f}".format
    mean = "geometric mean" if comparison.geometric else "mean"
    ends = ["best", "worst"] if comparison.metric.direction else ["lowest", "highest"]
    interval = "95 % sequential" if comparison.sequential else "95 % interval"
    header = [*comparison.by, "n", mean, interval, *ends, "skill", "parameters", "s/epoch"]
    rows = []
    for result in results:
        n, mean_value, low, high = result.interval
        ends_text = NOTHING if low is None or high is None else f"{write(low)} to {write(high)}"
        sizes = dict.fromkeys(result.parameters or ())
        rows.append(
            [
                *result.group.cells,
                str(n),
                write(mean_value),
                ends_text,
                write(result.best),
                write(result.worst),
                _cell(result.skill, write_skill),
                " to ".join(f"{size:,}" for size in sizes) or NOTHING,
                _cell(result.seconds_per_epoch, write_seconds),
            ]
        )
    return Table("", header, rows, len(comparison.by))


def value_format(comparison: Comparison) -> Callable[[float], str]:
    """Return the number format of the groups' values, for tables and for sentences."""
    ends = ((*result.interval[1:], result.best, result.worst) for result in comparison.results)
    return number_format(value for values in ends for value in values)


def _cell(value: float | None, write: Callable[[float], str]) -> str:
    return NOTHING if value is None else write(value)


def differences_table(comparison: Comparison) -> Table | None:
    """Make a row for each group except the reference: difference, p values, verdict.

    None if there is only one group.
    """
    if comparison.reference is None:
        return None
    ends = [value for r in comparison.differences for value in (r.difference or ())[1:4]]
    nothing = 1.0 if comparison.geometric else 0.0
    write = distinct(ends, nothing, number_format(ends, digits=3))
    what = "ratio" if comparison.geometric else "difference"
    interval = "sequential" if comparison.sequential else "95 %"
    test = comparison.item_test
    header = [*comparison.by, "n", f"{what} [{interval}]", "p", *([test.heading] if test else [])]
    rows = []
    for result in comparison.differences:
        n, mean, low, high, _ = result.difference or (0, None, None, None, None)
        bounds = "" if low is None or high is None else f" [{write(low)}, {write(high)}]"
        seeds = len(_all_seeds(result, comparison))
        rows.append(
            [
                *result.group.cells,
                str(n) if n == seeds else f"{n} of {seeds}",
                _cell(mean, write) + bounds,
                p_text(result.p_corrected),
                *([p_text(result.item_test.p_holm if result.item_test else None)] if test else []),
                result.verdict,
            ]
        )
    side = {1: "above", -1: "below"}.get(comparison.metric.direction)
    better = f" ({side} {nothing:g} is better)" if side else ""
    title = f"{what} to {comparison.reference_name}{better}"
    return Table(title, [*header, "verdict"], rows, len(comparison.by))


def _all_seeds(result: GroupResult, comparison: Comparison) -> set[int]:
    """Return the seeds of a group and of the reference."""
    return {*result.group.runs, *(comparison.reference.runs if comparison.reference else ())}


def footnotes(comparison: Comparison) -> list[str]:
    """Explain the columns and the tests, and how to read the results."""
    low, high = comparison.metric.bounds
    ends = [result.interval[2:] for result in comparison.results]
    is_cut = any(end in ((low, high)[place],) for pair in ends for place, end in enumerate(pair))
    lines = [
        f"n: number of seeds; interval: 95 % {'sequential' if comparison.sequential else 't'} "
        f"interval of their mean{', cut at the bounds of the metric' if is_cut else ''}; s/epoch: "
        "seconds of the median epoch"
    ]
    if any(result.skill is not None for result in comparison.results):
        baseline = comparison.baseline or "the best baseline"
        lines[0] += f"; skill: share of the error of {baseline} that the model removes"
    differences = comparison.differences
    if any(r.difference[0] < len(_all_seeds(r, comparison)) for r in differences if r.difference):
        lines.append("n of a difference: seeds that both groups have, of all their seeds")
    if differences and comparison.sequential:
        level = ALPHA / len(differences)
        lines.append(
            "sequential: intervals, p and verdicts stay valid however often you look, if "
            f"differences are roughly normal, at alpha {ALPHA:g} / {len(differences)}; they need "
            f"{first_bounded(level)} shared seeds"
        )
    elif tests := sum(result.p_corrected is not None for result in differences):
        corrected = f", corrected for {tests} tests (Holm); intervals are not corrected"
        lines.append(f"p: paired t test over shared seeds{corrected if tests > 1 else ''}")
    if test := comparison.item_test:
        several = sum(result.item_test is not None for result in differences) > 1
        corrected = ", corrected (Holm)" if several else ""
        once = "; valid for one look only" if comparison.sequential else ""
        signature = f"; {test.signature}" if test.signature else ""
        lines.append(f"{test.heading}: {test.method}{corrected}{once}{signature}")
    if any(result.verdict == "too few seeds" for result in differences):
        lines.append(
            f"too few seeds: below {ENOUGH_SEEDS} shared seeds a single run can decide, so "
            "differences of any size get no verdict: train more seeds"
        )
    return [*lines, *comparison.notes]
