"""Which number of metrics.json is compared, which way is better, and what it gains on baselines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from attnlab.config.rules import did_you_mean, lookup
from attnlab.errors import RequestError
from attnlab.tasks.declaration import POSITIVE, UNBOUNDED, Kind, Metric

# What every run's metrics.json has, of whatever kind: which way is better.
_OF_EVERY_RUN = {"skill": 1, "seconds": -1, "parameters": -1, "epochs": -1}
_BOUNDS_OF_EVERY_RUN = {
    "skill": (-math.inf, 1.0),
    **dict.fromkeys(("seconds", "parameters", "epochs"), POSITIVE),
}
# Parts of metrics.json that are no results of the run.
_NO_RESULTS = {"baselines", "skills", "signatures", "notes", "seed", "beam"}
_TEST = "test"
_MOST_NAMED = 24


class Quantity(NamedTuple):
    """A number of metrics.json."""

    # as a user gives it, without `test.`: `rmse`, or dotted, such as `extra.compositions.bleu`
    path: str
    direction: int  # 1 where higher is better, -1 where lower is, 0 where neither is known
    is_test: bool  # whether it is one of the main test results
    is_reported: bool = False  # whether it is what the kind reports, of whatever part
    metric: Metric | None = None  # what the kind says of it; None where it says nothing

    @classmethod
    def of(cls, path: str | None, metrics: Mapping[str, Any], kind: Kind | None) -> Quantity:
        """The quantity of a path in runs such as the one that has these metrics.

        Args:
            path: See above; None for the one that the kind reports.
            metrics: metrics.json, whose `monitor` says of what `best_value` is a value.
            kind: That of their task, if it is known here.
        """
        reported = reported_metric(metrics, kind)
        path = (path or reported).removeprefix(f"{_TEST}.")
        leaf = path.rpartition(".")[2]
        name = str(metrics.get("monitor")) if leaf == "best_value" else leaf
        known = kind.scoring.metric(name) if kind else None
        direction = _OF_EVERY_RUN.get(leaf, 0)
        if known:
            direction = 1 if known.direction == "max" else -1
        return cls(path, direction, path in metrics.get(_TEST, {}), leaf == reported, known)

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest value that it can have."""
        if self.metric:
            return self.metric.bounds
        return _BOUNDS_OF_EVERY_RUN.get(self.leaf, UNBOUNDED)

    @property
    def leaf(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]

    def value(self, metrics: Mapping[str, Any]) -> float | None:
        """A run's value; NaN where the file has null for what isn't finite, None without any."""
        return _number(metrics, self.path)

    def skill(self, metrics: Mapping[str, Any]) -> float | None:
        """What part of the best baseline's error is gone; None where there is no such baseline."""
        part = part_of(metrics, self.path)
        if self.is_reported or part.get("skill", 0.0) is None:  # its baseline knows the rule
            return _plain(part.get("skill"))
        baseline = self._of_baselines(part).get(str(self.best_baseline(metrics)))
        own = self.value(metrics)
        perfect = self.metric.perfect if self.metric else None
        if own is None or perfect is None or baseline is None:
            return None
        return 1 - abs(perfect - own) / abs(perfect - baseline) if baseline != perfect else None

    def best_baseline(self, metrics: Mapping[str, Any]) -> str | None:
        """The name of the baseline that is best by it, in its part; None where there is none.

        Those that know the rule are left out.
        """
        part = part_of(metrics, self.path)
        if self.is_reported or not self.direction:
            return part.get("best_baseline")
        values = self._of_baselines(part)
        names = values.keys() - {*part.get("oracles", ())}
        return max(sorted(names), key=lambda name: self.direction * values[name], default=None)

    def _of_baselines(self, part: Mapping[str, Any]) -> dict[str, float]:
        """Its values of a part's baselines, by name, where they have it."""
        found = {
            name: _plain(values.get(self.leaf))
            for name, values in (part.get("baselines") or {}).items()
        }
        return {name: value for name, value in found.items() if value is not None}


class Amount(NamedTuple):
    """How large a difference is: in the metric's units, or as a share of the reference's mean."""

    option: str  # as which it was given
    value: float  # above 0
    is_share: bool  # whether the value is a share
    text: str  # as it was given

    @classmethod
    def parse(cls, option: str, given: str) -> Amount:
        """A number such as `0.5`, or per cent such as `5%`.

        Raises:
            RequestError: it is neither, or not above 0.
        """
        text = given.strip()
        try:
            value = float(text.removesuffix("%"))
        except ValueError:
            value = math.nan
        if not 0 < value < math.inf:
            raise RequestError(
                f"{option}: expected a number above 0 as 0.5, or per cent of the reference's mean "
                f"as 5%, got {given!r}."
            )
        is_share = text.endswith("%")
        return cls(option, value / 100 if is_share else value, is_share, text)

    def at(self, mean: float, geometric: bool) -> float:
        """The size of differences to a reference of this mean; of ratios that of their logarithm.

        Raises:
            RequestError: there is no such size: a share of 0, or a ratio in units.
        """
        if geometric and not self.is_share:
            raise RequestError(
                f"{self.option}: expected per cent as 5% with --geometric, which compares ratios, "
                f"got {self.text!r}."
            )
        if self.is_share and not mean:
            raise RequestError(
                f"{self.option}: expected a number in the metric's units, because the reference's "
                f"mean is 0, got {self.text!r}."
            )
        if geometric:
            return math.log1p(self.value)
        return self.value * abs(mean) if self.is_share else self.value


def reported_metric(metrics: Mapping[str, Any], kind: Kind | None) -> str:
    """The metric of a run's result: as metrics.json says, in older ones as the kind does."""
    name = metrics.get("metric") or (kind.scoring.reported if kind else None)
    return str(name or next(iter(metrics.get(_TEST, {})), "loss"))


def check_metric(path: str, all_metrics: list[Mapping[str, Any]]) -> None:
    """Check that some run has a number.

    Raises:
        RequestError: None has; the text names the nearest and all that there are.
    """
    if any(_number(metrics, path) is not None for metrics in all_metrics):
        return
    known = list(dict.fromkeys(name for metrics in all_metrics for name in _paths(metrics)))
    more = ", ..." if len(known) > _MOST_NAMED else ""
    names = ", ".join(known[:_MOST_NAMED]) + more
    raise RequestError(
        f"--metric: expected one of {names}, got {path!r}.{did_you_mean(path, known)}"
    )


def _paths(node: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The paths of all numbers, the test results first."""
    for key, value in sorted(node.items(), key=lambda item: item[0] != _TEST):
        if key in _NO_RESULTS:
            continue
        if isinstance(value, Mapping):
            yield from _paths(value, prefix if key == _TEST else f"{prefix}{key}.")
        elif _plain(value) is not None:
            yield f"{prefix}{key}"


def part_of(metrics: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """The mapping that has the path's leaf, or has a `test` that has it."""
    above = path.rpartition(".")[0]
    part = lookup(metrics, above) if above else metrics
    return part if isinstance(part, Mapping) else {}


def _number(metrics: Mapping[str, Any], path: str) -> float | None:
    part, leaf = part_of(metrics, path), path.rpartition(".")[2]
    for place in (part.get(_TEST), part):
        if isinstance(place, Mapping) and leaf in place:
            value = place[leaf]
            return math.nan if value is None and place is not metrics else _plain(value)
    return None


def _plain(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
