"""Tests over test items, which say whether other windows or sentences could turn a result round.

Forecasts get Diebold and Mariano's test, translations sacreBLEU's paired bootstrap. Losses, or the
counts behind a score, are first put together over the seeds that both sides have, so each test item
counts once and another choice of seeds is no difference.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from attnlab.compare.bootstrap import Unlike, hypotheses, paired_bootstrap
from attnlab.compare.metrics import SCORES, Metric
from attnlab.compare.runs import RunRecord
from attnlab.compare.statistics import diebold_mariano, holm
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
    groups: Sequence[Runs],
    reference: Runs,
    metric: Metric,
    bootstrap: bool | None,
    notes: list[str],
) -> list[ItemTest | None]:
    """Test groups against the reference, as far as the metric and the files allow.

    Args:
        groups: Each group's runs by seed.
        reference: The runs of the reference by seed.
        metric: Its test is over items where it is an error of forecasts or a score of translations.
        bootstrap: Whether translations are tested; None where there aren't too many of them.
        notes: Gets what to know, for example why there is no test.

    Returns:
        A test for each group; None where there is none, as without a seed that both sides have.
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


def _shared(runs: Runs, reference: Runs) -> tuple[int, ...]:
    """The seeds that both have."""
    return tuple(seed for seed in runs if seed in reference)


def _diebold_mariano(
    groups: Sequence[Runs], reference: Runs, squared: bool
) -> list[ItemTest | None]:
    losses = _Losses(squared)
    found: list[ItemTest | None] = []
    for runs in groups:
        test, seeds = None, _shared(runs, reference)
        if seeds:
            base = losses.averaged([reference[seed] for seed in seeds])
            own = losses.averaged([runs[seed] for seed in seeds])
            test = diebold_mariano(own, base, losses.horizon)
        found.append(
            ItemTest(DIEBOLD_MARIANO, test.n, test.p, statistic=test.statistic) if test else None
        )
    return found


class _Losses:
    """Losses of forecasts of the same test windows; each run's are read once."""

    def __init__(self, squared: bool):
        self.horizon = 0
        self._squared = squared
        self._items: np.ndarray | None = None  # index, step and target of each row
        self._read: dict[str, np.ndarray] = {}

    def averaged(self, runs: Sequence[RunRecord]) -> np.ndarray:
        """The loss of each window in the order of time, mean of the runs."""
        return np.mean([self._of(run) for run in runs], axis=0)

    def _of(self, run: RunRecord) -> np.ndarray:
        if run.run.name not in self._read:
            self._read[run.run.name] = self._from_file(run)
        return self._read[run.run.name]

    def _from_file(self, run: RunRecord) -> np.ndarray:
        table = _read_forecast(run.run.path / "predictions.csv")
        if self._items is None:
            self._items, self.horizon = table[:, :3], int(table[:, 1].max())
        if not np.array_equal(self._items, table[:, :3]):
            raise Unlike(f"{run.run.name} has other test items than the others")
        error = table[:, 3] - table[:, 2]
        losses = error**2 if self._squared else np.abs(error)
        order = np.argsort(self._items[:: self.horizon, 0], kind="stable")
        return losses.reshape(-1, self.horizon).mean(axis=1)[order]


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
    groups: Sequence[Runs],
    reference: Runs,
    name: str,
    sparing: bool,
    notes: list[str],
) -> list[ItemTest | None]:
    found: list[ItemTest | None] = [None] * len(groups)
    by_seeds: dict[tuple[int, ...], list[int]] = {}  # places of the groups that share these seeds
    for place, runs in enumerate(groups):
        if seeds := _shared(runs, reference):
            by_seeds.setdefault(seeds, []).append(place)
    items, bases = None, {}
    for seeds in by_seeds:
        items, bases[seeds] = hypotheses({seed: reference[seed] for seed in seeds}, items)
    if items is None:
        return found
    number = len(items) * sum(len(seeds) * (1 + len(at)) for seeds, at in by_seeds.items())
    if sparing and number > _AT_ONCE:
        notes.append(f"no paired bootstrap, which would count {number:,} texts: see --bootstrap")
        return found
    for seeds, places in by_seeds.items():
        others = [hypotheses({s: groups[place][s] for s in seeds}, items)[1] for place in places]
        targets = [target for _, target in items]
        p_values, signature = paired_bootstrap(name, bases[seeds], others, targets)
        for place, p in zip(places, p_values, strict=True):
            found[place] = ItemTest(BOOTSTRAP, len(items), p, signature=signature)
    return found
