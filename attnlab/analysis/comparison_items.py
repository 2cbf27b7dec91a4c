"""Tests over test items, which say whether other windows or sentences could turn a result round.

Forecasts get Diebold and Mariano's test, translations sacreBLEU's paired bootstrap. Losses, or the
counts behind a score, are first put together over a group's seeds, so each test item counts once.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from attnlab.analysis.comparison_bootstrap import Unlike, hypotheses, paired_bootstrap
from attnlab.analysis.comparison_metrics import SCORES, Metric
from attnlab.analysis.comparison_runs import RunRecord
from attnlab.analysis.statistics import diebold_mariano, holm
from attnlab.errors import RequestError

DIEBOLD_MARIANO, BOOTSTRAP = "Diebold-Mariano", "paired bootstrap"
_SQUARED, _ABSOLUTE = ("rmse", "mse", "nrmse"), ("mae",)
# Translations that sacreBLEU counts in about two seconds.
_AT_ONCE = 30_000

Runs = Mapping[int, RunRecord]


@dataclass(frozen=True)
class ItemTest:
    """The test of one group against the reference.

    Attributes:
        kind: `DIEBOLD_MARIANO` or `BOOTSTRAP`.
        items: How many test items.
        p: Two-sided p value.
        p_holm: The same, corrected over the table.
        statistic: Diebold and Mariano's, above 0 where the group's losses are larger.
        signature: sacreBLEU's, of the bootstrap.
    """

    kind: str
    items: int
    p: float
    p_holm: float | None = None
    statistic: float | None = None
    signature: str | None = None


def item_tests(
    groups: Sequence[tuple[str, Runs]],
    reference: Runs,
    metric: Metric,
    bootstrap: bool | None,
    notes: list[str],
) -> list[ItemTest | None]:
    """Test groups against the reference, as far as the metric and the files allow.

    Args:
        groups: Each group's label and runs.
        reference: The runs of the reference.
        metric: Its test is over items where it is an error of forecasts or a score of translations.
        bootstrap: Whether translations are tested; None where there aren't too many of them.
        notes: Gets what to know, for example why there is no test.

    Returns:
        A test for each group; None where there is none.
    """
    if not metric.is_test:
        return [None] * len(groups)
    try:
        if metric.leaf in (*_SQUARED, *_ABSOLUTE):
            found = _diebold_mariano(groups, reference, metric.leaf in _SQUARED)
        elif metric.leaf in SCORES and bootstrap is not False:
            found = _bootstrap(groups, reference, metric.leaf, bootstrap is None, notes)
        else:
            return [None] * len(groups)
    except (Unlike, RequestError) as error:
        notes.append(f"no test over test items: {error}")
        return [None] * len(groups)
    corrected = holm([test.p if test else None for test in found])
    return [
        replace(test, p_holm=p) if test else None for test, p in zip(found, corrected, strict=True)
    ]


def _diebold_mariano(
    groups: Sequence[tuple[str, Runs]], reference: Runs, squared: bool
) -> list[ItemTest | None]:
    targets, horizon, base = _losses(reference, squared, None)
    found: list[ItemTest | None] = []
    for _, runs in groups:
        _, _, losses = _losses(runs, squared, targets)
        test = diebold_mariano(losses, base, horizon)
        found.append(
            ItemTest(DIEBOLD_MARIANO, test.n, test.p, statistic=test.statistic) if test else None
        )
    return found


def _losses(
    runs: Runs, squared: bool, expected: np.ndarray | None
) -> tuple[np.ndarray, int, np.ndarray]:
    """Index and target of each row, the horizon, and the loss of each window, mean of the seeds."""
    sums = None
    for run in runs.values():
        table = _read_forecast(run.run.path / "predictions.csv")
        expected = table[:, :3] if expected is None else expected
        if not np.array_equal(expected, table[:, :3]):
            raise Unlike(f"{run.run.name} has other test items than the others")
        error = table[:, 3] - table[:, 2]
        losses = error**2 if squared else np.abs(error)
        sums = losses if sums is None else sums + losses
    assert expected is not None and sums is not None
    horizon = int(expected[:, 1].max())
    order = np.argsort(expected[::horizon, 0], kind="stable")
    return expected, horizon, (sums / len(runs)).reshape(-1, horizon).mean(axis=1)[order]


def _read_forecast(path: Path) -> np.ndarray:
    """(rows, 4): index, step, target and prediction; other columns are not even read."""
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            header = next(csv.reader([stream.readline()]))
            columns = [header.index(name) for name in ("index", "step", "target", "prediction")]
            table = np.loadtxt(
                stream, delimiter=",", usecols=columns, quotechar='"', comments=None, ndmin=2
            )
        if not len(table) or len(table) % table[:, 1].max():
            raise ValueError("rows are missing")
    except (OSError, ValueError, StopIteration) as error:
        reason = getattr(error, "strerror", None) or error
        raise RequestError(f"{path}: damaged or missing: {reason}") from error
    return table


def _bootstrap(
    groups: Sequence[tuple[str, Runs]],
    reference: Runs,
    name: str,
    sparing: bool,
    notes: list[str],
) -> list[ItemTest | None]:
    items, base = hypotheses(reference, None)
    number = len(items) * sum(len(runs) for runs in [reference, *(runs for _, runs in groups)])
    if sparing and number > _AT_ONCE:
        notes.append(f"no paired bootstrap, which would count {number:,} texts: see --bootstrap")
        return [None] * len(groups)
    others = [hypotheses(runs, items)[1] for _, runs in groups]
    p_values, signature = paired_bootstrap(name, base, others, [target for _, target in items])
    return [ItemTest(BOOTSTRAP, len(items), p, signature=signature) for p in p_values]
