"""Groups of runs held against each other: means over seeds, differences to a reference, in words.

Every statement is about seeds that both sides have. What only looks like a difference between
groups because something else differs too is said by `comparison_settings`.
"""

from __future__ import annotations

import math
import statistics as plain
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from attnlab.compare.conditions import check_keys
from attnlab.compare.items import item_tests
from attnlab.compare.metrics import Metric, check_metric, main_metric, make_metric
from attnlab.compare.results import Comparison, Comparisons, Group, Request, Row
from attnlab.compare.runs import Chosen, RunRecord, choose
from attnlab.compare.settings import changed_settings, warnings_of
from attnlab.compare.statistics import (
    Difference,
    Interval,
    holm,
    mean_interval,
    paired_difference,
)
from attnlab.config.rules import nearest
from attnlab.errors import RequestError

ENOUGH_SEEDS = 5
LEVEL = 0.05
_WIDE_SPAN = 30
_MOST_NAMED = 5


def compare(runs: Path, request: Request) -> Comparisons:
    """Compare the runs of a folder.

    Args:
        runs: The folder of all runs.
        request: What is asked for.

    Raises:
        RequestError: No run fits, or a key, a metric or the reference isn't known.
    """
    chosen = choose(runs, request.selection)
    check_keys("--by", request.by, [record.settings for record in chosen.records])
    if "seed" in request.by:
        raise RequestError("--by: expected keys other than seed, which groups are averaged over.")
    left_out = _left_out(chosen)
    by_task: dict[str, list[RunRecord]] = {}
    for record in chosen.records:
        by_task.setdefault(record.task, []).append(record)
    if request.metric:
        check_metric(request.metric, [record.metrics for record in chosen.records])
    compared = []
    for task, records in sorted(by_task.items()):
        metric = make_metric(
            request.metric or main_metric(records[-1].metrics), records[-1].metrics
        )
        if any(_has_value(record, metric) for record in records):
            compared.append(_compare_task(task, records, metric, request))
        else:
            left_out.append(f"{task}, without a finite {metric.path}")
    if not compared:
        raise RequestError(f"--metric: expected runs with a finite value, got {left_out[-1]}.")
    _check_reference(request.reference, compared)
    return Comparisons(compared, left_out)


def _compare_task(
    task: str, records: list[RunRecord], metric: Metric, request: Request
) -> Comparison:
    warnings: list[str] = []
    notes: list[str] = []
    usable = _usable(records, metric, warnings)
    if request.geometric:
        _require_positive(usable, metric)
    groups = _groups(usable, metric, request.by, notes, warnings)
    reference = _reference(groups, request)
    rows = [_row(group, metric, request.geometric) for group in groups]
    if reference is not None and len(groups) > 1:
        rows = _against(rows, reference, metric, request, notes)
    elif len(groups) == 1:
        notes.append("there is one group only, so nothing to hold it against")
    else:
        notes.append(f"no group is {request.reference}, so nothing to hold the others against")
    warnings += warnings_of([(group.label, group.runs) for group in groups], request.by)
    if not request.geometric and metric.direction < 0 and _spans_decades(groups):
        notes.append("values of one group span decades: --geometric averages their logarithms")
    rows.sort(key=lambda row: _order(row, metric))
    newest = usable[-1].metrics
    baselines = {str(record.metrics.get("best_baseline")) for record in usable}
    return Comparison(
        task=task,
        by=request.by,
        metric=metric,
        units=str(newest.get("units", "")) if metric.leaf in ("rmse", "mae") else "",
        geometric=request.geometric,
        rows=tuple(rows),
        reference=reference.label if reference and len(groups) > 1 else None,
        baseline=baselines.pop() if len(baselines) == 1 and metric.is_test else None,
        notes=notes,
        warnings=warnings,
    )


def _left_out(chosen: Chosen) -> list[str]:
    states = ", ".join(f"{count} {state}" for state, count in chosen.left_out.items() if count)
    return ([f"not completed: {states}"] if states else []) + _some(chosen.damaged)


def _usable(records: list[RunRecord], metric: Metric, warnings: list[str]) -> list[RunRecord]:
    """The runs that have a finite value; the others are named."""
    usable, lacking = [], []
    for record in records:
        if _has_value(record, metric):
            usable.append(record)
        else:
            what = "no" if metric.value(record.metrics) is None else "no finite"
            lacking.append(f"left out {record.run.name}: it has {what} {metric.path}")
    warnings += _some(lacking)
    return usable


def _has_value(record: RunRecord, metric: Metric) -> bool:
    value = metric.value(record.metrics)
    return value is not None and math.isfinite(value)


def _some(lines: list[str]) -> list[str]:
    """The first few, and how many more there are."""
    more = len(lines) - _MOST_NAMED
    return lines[:_MOST_NAMED] + ([f"... and {_count(more, 'other run')}"] if more > 0 else [])


def _require_positive(records: list[RunRecord], metric: Metric) -> None:
    for record in records:
        value = metric.value(record.metrics)
        if value is not None and value <= 0:
            raise RequestError(
                f"--geometric: expected values above 0, but {metric.path} is {value:g} in "
                f"{record.run.name}."
            )


def _groups(
    records: list[RunRecord],
    metric: Metric,
    by: tuple[str, ...],
    notes: list[str],
    warnings: list[str],
) -> list[Group]:
    """The groups in the order of their keys; of several runs of a seed the newest counts."""
    found: dict[tuple[str | None, ...], dict[int, RunRecord]] = {}
    older: list[tuple[RunRecord, RunRecord]] = []
    for record in records:  # the oldest first
        runs = found.setdefault(tuple(record.setting(key) for key in by), {})
        if record.seed in runs:
            older.append((runs[record.seed], record))
        runs[record.seed] = record
    changed = dict.fromkeys(key for pair in older for key in changed_settings(*pair))
    if changed:
        warnings.append(
            f"left out {_count(len(older), 'older run')} of a group and seed, with another "
            f"{', '.join(changed)}: see --by and --where"
        )
    elif older:
        notes.append(f"left out {_count(len(older), 'older run')} of the same group and seed")
    return [
        Group(key, runs, {seed: metric.value(run.metrics) or 0.0 for seed, run in runs.items()})
        for key, runs in ((key, dict(sorted(found[key].items()))) for key in _sorted(found))
    ]


def _sorted(keys: Iterable[tuple[str | None, ...]]) -> list[tuple[str | None, ...]]:
    """In the order of numbers, then of words."""

    def order(value: str | None) -> tuple[int, float, str]:
        try:
            return (0, float(value), "") if value is not None else (2, 0.0, "")
        except ValueError:
            return 1, 0.0, str(value)

    return sorted(keys, key=lambda key: [order(value) for value in key])


def _reference(groups: list[Group], request: Request) -> Group | None:
    """The group that others are held against; None where the request's is of another task.

    Chosen without a look at results: holding all against the best would be picking a winner twice.
    """
    if request.reference is not None:
        return next((group for group in groups if _is_meant(group, request)), None)
    plain_ones = [group for group in groups if all(_has_none(run) for run in group.runs.values())]
    return max(plain_ones or groups, key=lambda group: len(group.runs))


def _has_none(record: RunRecord) -> bool:
    return record.setting("attention.name") == "none"


def _is_meant(group: Group, request: Request) -> bool:
    given = _parts(str(request.reference))
    if all("=" in part for part in given):
        wanted = dict(part.split("=", 1) for part in given)
        own = dict(zip(request.by, group.key, strict=True))
        return all(own.get(key) == value for key, value in wanted.items())
    return given == _parts(group.label)


def _parts(label: str) -> list[str]:
    """The values of a label, whether commas or slashes stand between."""
    return [part.strip() for part in label.replace("/", ",").split(",")]


def _check_reference(given: str | None, compared: list[Comparison]) -> None:
    labels = list(dict.fromkeys(g.label for each in compared for g in each.groups))
    if given is None or any(each.reference for each in compared) or len(labels) < 2:
        return
    near = nearest(given, labels)
    hint = f" Did you mean {near}?" if near else ""
    raise RequestError(
        f"--reference: expected one of the groups {', '.join(labels)}, got {given!r}.{hint}"
    )


def _row(group: Group, metric: Metric, geometric: bool) -> Row:
    values = np.array(list(group.values.values()))
    ends = sorted(values, reverse=metric.direction > 0)
    skills = [metric.skill(run.metrics) for run in group.runs.values()]
    sizes = [run.metrics.get("parameters") for run in group.runs.values()]
    known = [size for size in sizes if isinstance(size, int)]
    return Row(
        group=group,
        interval=_averaged(values, geometric),
        best=float(ends[0]),
        worst=float(ends[-1]),
        skill=_mean(skills),
        parameters=(min(known), max(known)) if known else None,
        seconds_per_epoch=_mean([_seconds_per_epoch(run) for run in group.runs.values()]),
    )


def _averaged(values: np.ndarray, geometric: bool) -> Interval:
    if not geometric:
        return mean_interval(values)
    n, *ends = mean_interval(np.log(values))
    return Interval(n, *(None if end is None else math.exp(end) for end in ends))  # type: ignore[arg-type]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return plain.fmean(known) if known and len(known) == len(values) else None


def _seconds_per_epoch(record: RunRecord) -> float | None:
    """The median, which compiling in the first epoch doesn't move."""
    try:
        seconds = record.run.history.read().get("seconds")
    except RequestError:
        return None
    return plain.median(seconds) if seconds else None


def _against(
    rows: list[Row], reference: Group, metric: Metric, request: Request, notes: list[str]
) -> list[Row]:
    """The rows with what they gain or lose over the reference."""
    others = [row for row in rows if row.group is not reference]
    differences = [_difference(row.group, reference, request.geometric) for row in others]
    corrected = holm([difference.p for difference in differences])
    items = item_tests(
        [row.group.runs for row in others],
        reference.runs,
        metric,
        request.bootstrap,
        notes,
    )
    judged = {
        id(row.group): replace(
            row,
            difference=difference,
            p_holm=p,
            item_test=item,
            verdict=_verdict(difference, p, metric.direction, 1.0 if request.geometric else 0.0),
        )
        for row, difference, p, item in zip(others, differences, corrected, items, strict=True)
    }
    return [judged.get(id(row.group), row) for row in rows]


def _difference(group: Group, reference: Group, geometric: bool) -> Difference:
    """Paired over the seeds that both have."""
    shared = [seed for seed in group.values if seed in reference.values]
    values = np.array([group.values[seed] for seed in shared])
    base = np.array([reference.values[seed] for seed in shared])
    if not geometric:
        return paired_difference(values, base)
    n, *ends, p = paired_difference(np.log(values), np.log(base))
    mean, low, high = (None if end is None else math.exp(end) for end in ends)
    return Difference(n, mean, low, high, p)


def _verdict(difference: Difference, p: float | None, direction: int, nothing: float) -> str:
    """In words; a p value says nothing below five seeds, where one run decides."""
    if difference.n == 0:
        return "no shared seed"
    if difference.n < ENOUGH_SEEDS:
        return "too few seeds"
    if p is None or difference.mean is None:
        return "identical" if difference.mean == nothing else "no spread"
    if p >= LEVEL:
        return "no evidence"
    higher = difference.mean > nothing
    if direction == 0:
        return "higher" if higher else "lower"
    return "better" if higher == (direction > 0) else "worse"


def _spans_decades(groups: list[Group]) -> bool:
    for group in groups:
        values = list(group.values.values())
        if min(values) > 0 and max(values) > _WIDE_SPAN * min(values):
            return True
    return False


def _order(row: Row, metric: Metric) -> float:
    return -metric.direction * row.interval.mean


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
