"""Which number of metrics.json is compared, which way is better, and what it gains on baselines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from attnlab.config.rules import lookup, nearest
from attnlab.errors import RequestError

# Scores of 100, whose distance to 100 is the error.
SCORES = ("bleu", "chrf", "bleu_lc_tok")
ERRORS = ("rmse", "mae", "mse", "nrmse")
_HIGHER = {*SCORES, "accuracy", "skill", "precision", "recall"}
_LOWER = {*ERRORS, "loss", "perplexity", "error_rate", "seconds", "parameters", "epochs"}
# Parts of metrics.json that are no results of the run.
_OTHERS = {"baselines", "skills", "signatures", "notes", "seed", "beam"}
_TEST = "test"
_MOST_NAMED = 24


class Metric(NamedTuple):
    """A number of metrics.json.

    Attributes:
        path: As a user gives it: `rmse`, or dotted, such as `extra.compositions.bleu`.
        direction: 1 where higher is better, -1 where lower is, 0 where neither is known.
        is_test: Whether it is one of the main test results.
    """

    path: str
    direction: int
    is_test: bool

    @property
    def leaf(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]

    def value(self, metrics: Mapping[str, Any]) -> float | None:
        """A run's value; NaN where the file has null for a number that isn't finite.

        Returns:
            None where metrics.json has no such number.
        """
        return _number(metrics, self.path)

    def skill(self, metrics: Mapping[str, Any]) -> float | None:
        """What part of the best baseline's error is gone; None where there is no such baseline."""
        part = _part(metrics, self.path)
        if self.leaf == metrics.get("metric", "rmse"):
            return _plain(part.get("skill"))
        baseline = lookup(part, f"baselines.{part.get('best_baseline')}.{self.leaf}")
        own = self.value(metrics)
        if own is None or not isinstance(baseline, int | float):
            return None
        if self.leaf in SCORES:
            own, baseline = 100 - own, 100 - baseline
        elif self.leaf not in ERRORS:
            return None
        return 1 - own / baseline if baseline > 0 else None


def main_metric(metrics: Mapping[str, Any]) -> str:
    """The metric by which the run's task judges."""
    return str(metrics.get("metric", "rmse"))


def make_metric(path: str, metrics: Mapping[str, Any]) -> Metric:
    """A metric of runs such as the given one.

    Args:
        path: See `Metric`.
        metrics: Of a run, whose `monitor` says which way `best_value` is better.
    """
    leaf = path.rpartition(".")[2]
    if leaf == "best_value":
        leaf = str(metrics.get("monitor"))
    leaf = leaf.removeprefix("val_").removeprefix("shifted_")
    direction = 1 if leaf in _HIGHER else -1 if leaf in _LOWER else 0
    return Metric(path, direction, path in metrics.get(_TEST, {}))


def check_metric(path: str, all_metrics: list[Mapping[str, Any]]) -> None:
    """Check that some run has a metric.

    Raises:
        RequestError: None has; the text names the nearest and all that there are.
    """
    if any(_number(metrics, path) is not None for metrics in all_metrics):
        return
    known = dict.fromkeys(name for metrics in all_metrics for name in metric_paths(metrics))
    near = nearest(path, list(known))
    hint = f" Did you mean {near}?" if near else ""
    names = ", ".join(list(known)[:_MOST_NAMED]) + (", ..." if len(known) > _MOST_NAMED else "")
    raise RequestError(f"--metric: expected one of {names}, got {path!r}.{hint}")


def metric_paths(metrics: Mapping[str, Any]) -> list[str]:
    """All that `--metric` can be for a run, the test results first."""
    main = [name for name, value in metrics.get(_TEST, {}).items() if _plain(value) is not None]
    rest = {key: value for key, value in metrics.items() if key != _TEST}
    return list(dict.fromkeys([*main, *_paths(rest, "")]))


def _paths(node: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for key, value in node.items():
        if key in _OTHERS:
            continue
        if isinstance(value, Mapping):
            yield from _paths(value, prefix if key == _TEST else f"{prefix}{key}.")
        elif _plain(value) is not None:
            yield f"{prefix}{key}"


def _part(metrics: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """The mapping that has the path's leaf, or has a `test` that has it."""
    above = path.rpartition(".")[0]
    part = lookup(metrics, above) if above else metrics
    return part if isinstance(part, Mapping) else {}


def _number(metrics: Mapping[str, Any], path: str) -> float | None:
    part, leaf = _part(metrics, path), path.rpartition(".")[2]
    for place in (part.get(_TEST), part):
        if isinstance(place, Mapping) and leaf in place:
            value = place[leaf]
            return math.nan if value is None and place is not metrics else _plain(value)
    return None


def _plain(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
