"""The number of metrics.json that is compared: which way is better, its skill over baselines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from attnlab.config.rules import did_you_mean, lookup
from attnlab.errors import RequestError
from attnlab.records.files import flatten
from attnlab.tasks.kinds import UNBOUNDED, Kind, Metric

# Entries that every run's metrics.json has, and which way is better.
_OF_EVERY_RUN = {"skill": 1, "seconds": -1, "parameters": -1, "epochs": -1}
# Parts of metrics.json that are not results of the run.
_NO_RESULTS = {"baselines", "skills", "signatures", "notes", "seed", "beam"}
_TEST = "test"
_MOST_NAMED = 24


class Quantity(NamedTuple):
    """A number of metrics.json."""

    # as the user writes it, without `test.`: `rmse`, or dotted: `extra.compositions.bleu`
    path: str
    direction: int  # 1 if higher is better, -1 if lower is better, 0 if unknown
    is_test: bool  # whether it is one of the main test results
    is_reported: bool = False  # whether it is the metric that the kind reports, on any part
    metric: Metric | None = None  # the kind's declaration; None if the kind has none

    @classmethod
    def of(cls, path: str | None, metrics: Mapping[str, Any], kind: Kind | None) -> Quantity:
        """Make the quantity of a path, for runs of one kind.

        Args:
            path: See above; None for the metric that the kind reports.
            metrics: A run's metrics.json. Its `monitor` names the metric of `best_value`.
            kind: The kind of the runs' task; None if it isn't installed here.
        """
        reported = reported_metric(metrics, kind)
        path = (path or reported).removeprefix(f"{_TEST}.")
        leaf = path.rpartition(".")[2]
        name = str(metrics.get("monitor")) if leaf == "best_value" else leaf
        metric = kind.scoring.metric(name) if kind else None
        direction = _OF_EVERY_RUN.get(leaf, 0)
        if metric:
            direction = 1 if metric.direction == "max" else -1
        return cls(path, direction, path in metrics.get(_TEST, {}), leaf == reported, metric)

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest possible value."""
        return self.metric.bounds if self.metric else UNBOUNDED

    @property
    def leaf(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]

    def value(self, metrics: Mapping[str, Any]) -> float | None:
        """Return a run's value; NaN if the file has null (not finite), None if it has no entry."""
        part = part_of(metrics, self.path)
        for place in (part.get(_TEST), part):
            if isinstance(place, Mapping) and self.leaf in place:
                value = place[self.leaf]
                return math.nan if value is None and place is not metrics else _number(value)
        return None

    def skill(self, metrics: Mapping[str, Any]) -> float | None:
        """Return the share of the best baseline's error that the run removes.

        None for other metrics than the reported one, and without a baseline that makes errors.
        """
        return _number(part_of(metrics, self.path).get("skill")) if self.is_reported else None


def reported_metric(metrics: Mapping[str, Any], kind: Kind | None) -> str:
    """Return the metric of a run's result, by metrics.json or else by the kind."""
    name = metrics.get("metric") or (kind.scoring.reported if kind else None)
    return str(name or next(iter(metrics.get(_TEST, {})), "loss"))


def check_metric(path: str, all_metrics: list[Mapping[str, Any]]) -> None:
    """Check that at least one run has this number.

    Raises:
        RequestError: No run has the number. The message suggests the nearest name and lists all.
    """
    if any(Quantity(path, 0, False).value(metrics) is not None for metrics in all_metrics):
        return
    keys = [
        key
        for metrics in all_metrics
        for key in flatten(metrics, _NO_RESULTS)
        if _number(lookup(metrics, key)) is not None
    ]
    keys.sort(key=lambda key: not key.startswith(f"{_TEST}."))
    names = [*dict.fromkeys(key.removeprefix(f"{_TEST}.") for key in keys)]
    some = ", ".join(names[:_MOST_NAMED]) + ", ..." * (len(names) > _MOST_NAMED)
    raise RequestError(
        f"--metric: expected one of {some}, got {path!r}.{did_you_mean(path, names)}"
    )


def part_of(metrics: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """Return the mapping with the path's last part, directly or in its entry `test`."""
    above = path.rpartition(".")[0]
    part = lookup(metrics, above) if above else metrics
    return part if isinstance(part, Mapping) else {}


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
