"""A comparison as two tables, how good each group is and how it differs from the reference; notes.

`formats` writes them.
"""

from __future__ import annotations

from attnlab.comparison.comparison import Comparison, GroupResult
from attnlab.comparison.sequential import ALPHA, first_bounded
from attnlab.comparison.statistics import ENOUGH_SEEDS
from attnlab.terminal import NOTHING, Write, distinct, in_one_format, number_format, p_text
from attnlab.views.records import Table

_DIRECTIONS = {1: "higher is better", -1: "lower is better", 0: "as a plain number"}
_LARGE_SKILL = 100.0  # if a skill is this large, skills are written with three digits


def heading(comparison: Comparison) -> str:
    """Return the heading of a task's tables: task, data, metric, units, which way is better."""
    metric = comparison.metric
    units = f" in {comparison.units}" if comparison.units else ""
    part = "test " if metric.is_test else ""
    data = f" ({comparison.data})" if comparison.data else ""
    return f"{comparison.task}{data}: {part}{metric.path}{units}, {_DIRECTIONS[metric.direction]}"


def results_table(comparison: Comparison) -> Table:
    """Make a row for each group: seeds, mean and interval, best and worst, skill, size, speed."""
    results, write = comparison.results, value_format(comparison)
    skills = [result.skill for result in results]
    large = any(skill is not None and abs(skill) >= _LARGE_SKILL for skill in skills)
    write_skill = number_format(skills, digits=3) if large else "{:.3f}".format
    seconds = in_one_format([result.seconds_per_epoch for result in results], digits=3)
    mean = "geometric mean" if comparison.geometric else "mean"
    ends = ["best", "worst"] if comparison.metric.direction else ["lowest", "highest"]
    interval = "95 % sequential" if comparison.sequential else "95 % interval"
    header = [*comparison.by, "n", mean, interval, *ends, "skill", "parameters", "s/epoch"]
    rows = [
        [
            *result.group.cells,
            str(result.interval.n),
            write(result.interval.mean),
            _ends(result, write),
            write(result.best),
            write(result.worst),
            NOTHING if result.skill is None else write_skill(result.skill),
            " to ".join(f"{n:,}" for n in dict.fromkeys(result.parameters or ())) or NOTHING,
            speed,
        ]
        for result, speed in zip(results, seconds, strict=True)
    ]
    return Table("", header, rows, len(comparison.by))


def _ends(result: GroupResult, write: Write) -> str:
    low, high = result.interval.low, result.interval.high
    return NOTHING if low is None or high is None else f"{write(low)} to {write(high)}"


def value_format(comparison: Comparison) -> Write:
    """Return the number format of the groups' values, for tables and for sentences."""
    ends = ((*result.interval[1:4], result.best, result.worst) for result in comparison.results)
    return number_format(value for values in ends for value in values)


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
        seeds = _all_seeds(result, comparison)
        rows.append(
            [
                *result.group.cells,
                str(n) if n == seeds else f"{n} of {seeds}",
                (NOTHING if mean is None else write(mean)) + bounds,
                p_text(result.p_corrected),
                *([p_text(result.item_test.p_holm if result.item_test else None)] if test else []),
                result.verdict,
            ]
        )
    side = {1: "above", -1: "below"}.get(comparison.metric.direction)
    better = f" ({side} {nothing:g} is better)" if side else ""
    title = f"{what} to {comparison.reference_name}{better}"
    return Table(title, [*header, "verdict"], rows, len(comparison.by))


def _all_seeds(result: GroupResult, comparison: Comparison) -> int:
    """Count the seeds that the group or the reference has."""
    return len({*result.group.runs, *(comparison.reference.runs if comparison.reference else ())})


def footnotes(comparison: Comparison) -> list[str]:
    """Explain the tests and how to read the results; `attnlab explain` has all columns."""
    differences, lines = comparison.differences, []
    if any(result.skill is not None for result in comparison.results):
        baseline = comparison.baseline or "the best baseline"
        lines.append(f"skill: share of the error of {baseline} that the model removes")
    if differences and comparison.sequential:
        lines.append(
            "sequential: intervals, p and verdicts stay valid however often you look, if "
            f"differences are roughly normal, at alpha {ALPHA:g} / {len(differences)}; they need "
            f"{first_bounded(ALPHA / len(differences))} shared seeds"
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
