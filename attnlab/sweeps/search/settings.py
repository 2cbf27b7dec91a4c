"""The `search` section: the space, the sampler and pruner, and the metrics."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from attnlab.config.parsing import parse_section
from attnlab.config.rules import did_you_mean, lookup
from attnlab.config.sections import SearchConfig, decides_result
from attnlab.errors import RequestError, RunFailed
from attnlab.sweeps.search.spaces import Space

# Entries of metrics.json that don't depend on the test part.
METRICS = ("best_value", "parameters", "seconds", "epochs", "best_epoch")
_LISTED = f"one of {', '.join(METRICS)}"
DEFAULT_TRIALS = 20


@dataclass(frozen=True)
class SearchSettings(SearchConfig):
    """The `search` section after `parse`, with all defaults filled in.

    The section has no keys for the three fields here.
    """

    # the column of history.csv that the task monitors, and its direction
    monitor: tuple[str, str] = ("val_loss", "min")
    # the command's overrides that can change the meaning of a result
    fixed: tuple[str, ...] = ()
    # hashes of the user's own files, see `RunConfig.file_hashes`
    files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(
        cls,
        document: Mapping[str, Any] | None,
        fixed: Iterable[str] = (),
        monitor: tuple[str, str] = ("val_loss", "min"),
    ) -> SearchSettings:
        """Check the `search` section.

        Args:
            document: The section.
            fixed: The command's overrides.
            monitor: The task's monitored metric and its direction.

        Raises:
            RequestError: A value has the wrong type or range, or contradicts another one.
        """
        given, fixed = parse_section("search", cls, {"search": document or {}}), list(fixed)
        space = Space.parse(given.space, fixed)
        metrics = _metrics(given.metrics)
        sampler = given.sampler or ("tpe" if len(metrics) == 1 else "nsgaii")
        directions = _directions(given.directions, metrics, monitor)
        _check_sampler(sampler, space, metrics)
        trials = _trials(given.trials, sampler, space)
        population = given.population
        if population is None and sampler == "nsgaii":
            # With Optuna's default of 50, a short search would have only one generation.
            population = min(50, max(4, trials // 5))
        sections = {word: re.split("[./=]", word.lstrip("+~"))[0] for word in fixed}
        return replace(
            given,
            space=space,
            sampler=sampler,
            trials=trials,
            metrics=metrics,
            directions=directions,
            pruner=_pruner(given.pruner, metrics),
            population=population,
            storage=_storage(given.storage),
            monitor=monitor,
            fixed=tuple(sorted(w for w, head in sections.items() if decides_result(head))),
        )

    def objectives(self, metrics: Mapping[str, Any]) -> tuple[float, ...]:
        """Read the values of the metrics; raises `RunFailed` if one isn't finite."""
        values = [lookup(metrics, name) for name in self.metrics]
        for name, value in zip(self.metrics, values, strict=True):
            if not isinstance(value, (int, float)) or not math.isfinite(value):
                why = "" if value is not None else ": without a validation part there is none"
                raise RunFailed(
                    f"search.metrics: expected a number for {name}, got "
                    f"{'null' if value is None else value}{why}."
                )
        return tuple(map(float, values))


def is_wanted(document: Mapping[str, Any] | None) -> bool:
    """Whether a composed `search` section differs from the default, which means no search."""
    return {**_DEFAULTS, **(document or {})} != _DEFAULTS


_DEFAULTS = {spec.name: spec.default for spec in fields(SearchConfig) if "rule" in spec.metadata}


def _metrics(given: Any) -> tuple[str, ...]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, (list, tuple)) or not names:
        raise RequestError(f"search.metrics: expected {_LISTED} or a list, got {given}.")
    for name in names:
        if name in METRICS:
            continue
        head = str(name).partition(".")[0]
        if head in ("test", "skill", "baselines", "extra"):
            raise RequestError(
                f"search.metrics: expected {_LISTED}, got {name}: what is chosen by the "
                "test part can't be judged by it any more."
            )
        hint = did_you_mean(str(name), list(METRICS))
        raise RequestError(f"search.metrics: expected {_LISTED}, got {name}.{hint}")
    if len(set(names)) < len(names):
        raise RequestError(f"search.metrics: expected each metric once, got {given}.")
    return tuple(names)


def _directions(given: Any, metrics: tuple[str, ...], monitor: tuple[str, str]) -> tuple[str, ...]:
    natural = tuple(monitor[1] if name == "best_value" else "min" for name in metrics)
    if given is None:
        return natural
    words = [given] if isinstance(given, str) else given
    if not isinstance(words, (list, tuple)) or len(words) != len(metrics):
        raise RequestError(
            f"search.directions: expected min or max for each of {', '.join(metrics)}, got {given}."
        )
    for name, word, own in zip(metrics, words, natural, strict=True):
        if word not in ("min", "max"):
            raise RequestError(f"search.directions: expected min or max for {name}, got {word}.")
        if name == "best_value" and word != own:
            raise RequestError(
                f"search.directions: expected {own} for best_value, which is the best "
                f"{monitor[0]} of a run, got {word}."
            )
    return tuple(words)


def _check_sampler(sampler: str, space: Space, metrics: tuple[str, ...]) -> None:
    if sampler != "cmaes":
        return
    if len(metrics) > 1:
        raise RequestError(
            "search.sampler: expected nsgaii, tpe, random or grid with several search.metrics, "
            "got cmaes."
        )
    numbers = [d.key for d in space.dimensions if hasattr(d, "low")]
    if len(numbers) < 2:
        raise RequestError(
            "search.sampler: cmaes expects at least two ranges of numbers in search.space, got "
            f"{len(numbers)}: use tpe."
        )


def _trials(given: int | None, sampler: str, space: Space) -> int:
    if sampler != "grid":
        return given or DEFAULT_TRIALS
    size = math.prod(len(values) for values in space.grid().values())
    return min(given or size, size)


def _pruner(given: str | None, metrics: tuple[str, ...]) -> str:
    if metrics == ("best_value",):
        return given or "median"
    if given not in (None, "none"):
        raise RequestError(
            "search.pruner: expected none, since only a search for best_value alone can be judged "
            f"epoch by epoch, got {given}."
        )
    return "none"


def _storage(given: str | None) -> str | None:
    if given is None:
        return None
    if "://" not in given:
        return str(Path(given).expanduser().absolute())
    if urlsplit(given).password:
        raise RequestError(
            "search.storage: expected no password in it, since a sweep saves its command: use the "
            "database's own password file or variable instead."
        )
    return given
