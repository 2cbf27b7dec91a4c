"""The space of a search: a range of numbers or a list of choices for each setting."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnlab.config.arguments import quoted
from attnlab.config.rules import Rule, check_rule, did_you_mean
from attnlab.config.sections import decides_result
from attnlab.errors import RequestError

if TYPE_CHECKING:
    import optuna

GRID_LIMIT = 10_000
_KINDS = ("interval", "int", "choice")
_EXTRAS = ("log", "step", "points")
_KEY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_PLAIN_WORD = re.compile(r"[A-Za-z_][\w./-]*")
_HYDRAS_WORDS = ("null", "true", "false", "nan", "inf")
_LUCK = "a search over seeds finds luck, not a better setting: list seeds in a sweep instead"
_OTHER_VALUES = "its choices lead to values that can't be compared: list them in a sweep instead"
_NO_RESULT = "it doesn't decide the result"
# Keys that can't be searched, in addition to those that don't change results.
_REFUSED = {
    "seed": _LUCK,
    **dict.fromkeys(["task", "task.monitor", "data", "experiment"], _OTHER_VALUES),
}


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included."""

    key: str  # the setting, as a dotted path
    low: float  # smallest value
    high: float  # largest value
    whole: bool = False  # whole numbers only
    log: bool = False  # sample uniformly on a logarithmic scale
    step: float | None = None  # distance between values; None for any value
    points: int | None = None  # number of values that a grid tries

    def suggest(self, trial: optuna.trial.Trial) -> None:
        """Let the sampler choose a value for the trial."""
        if self.whole:
            step = int(self.step or 1)
            trial.suggest_int(self.key, int(self.low), int(self.high), step=step, log=self.log)
        else:
            trial.suggest_float(self.key, self.low, self.high, step=self.step, log=self.log)

    def word(self, value: float) -> str:
        """Write a value for an override, without needless digits."""
        if self.whole:
            return str(int(value))
        if self.log or self.step:
            rounded = float(f"{value:{'.4g' if self.log else '.12g'}}")
        else:
            rounded = round(value, 3 - math.floor(math.log10(self.high - self.low)))
        return repr(min(max(rounded, self.low), self.high))

    def ends(self) -> list[float]:
        """Return the smallest and largest value, to check whether the setting allows them."""
        return [self.low, self.high]

    @property
    def size(self) -> int:
        """Return the largest number of values that a grid tries."""
        if self.points is None and self.step is None and not self.whole:
            return 1  # `grid` refuses it
        return self.points or _steps(self.low, self.high, self.step or 1) + 1

    def grid(self) -> list[float]:
        """List the values that a grid tries; raises `RequestError` without step or points."""
        if self.points is None and self.step is None and not self.whole:
            raise RequestError(
                f"search.space.{self.key}: expected step or points in addition to interval, since "
                "search.sampler=grid tries every value."
            )
        if self.points is None:
            step = self.step or 1
            values = [self.low + n * step for n in range(_steps(self.low, self.high, step) + 1)]
        else:
            shares = [n / (self.points - 1) for n in range(self.points)]
            ratio, span = self.high / self.low if self.log else 1.0, self.high - self.low
            values = [
                self.low * ratio**share if self.log else self.low + share * span for share in shares
            ]
        if self.whole:
            return list(dict.fromkeys(round(value) for value in values))
        return list(dict.fromkeys(float(self.word(value)) for value in values))


@dataclass(frozen=True)
class Categorical:
    """One of a list of values, or of a group's options."""

    key: str  # the setting or the group
    choices: tuple[Any, ...]  # the values or options

    def suggest(self, trial: optuna.trial.Trial) -> None:
        """Let the sampler choose a value for the trial."""
        trial.suggest_categorical(self.key, self.choices)

    def word(self, value: Any) -> str:
        """Write a value for an override."""
        if value is None or isinstance(value, bool):
            return {None: "null", True: "true", False: "false"}[value]
        if not isinstance(value, str):
            return repr(value)
        if _PLAIN_WORD.fullmatch(value) and value.lower() not in _HYDRAS_WORDS:
            return value
        return quoted(value)

    @property
    def size(self) -> int:
        """Return the number of choices."""
        return len(self.choices)

    def grid(self) -> list[Any]:
        """List the values that a grid tries."""
        return list(self.choices)

    ends = grid


@dataclass(frozen=True)
class Space:
    """The settings that a search chooses for each trial."""

    dimensions: tuple[Range | Categorical, ...]  # one per setting

    @classmethod
    def parse(cls, document: Any, fixed: Iterable[str] = ()) -> Space:
        """Parse `search.space`.

        Args:
            document: `{optimizer.learning_rate: {interval: [1e-4, 1e-1], log: true}, ...}`; nested
                mappings work as well as dotted keys.
            fixed: The command's overrides, whose keys can't be searched.

        Raises:
            RequestError: The space is empty, or a key or its range can't be searched.
        """
        if document is not None and not isinstance(document, Mapping):
            raise RequestError(f"search.space: expected keys with their ranges, got {document}.")
        specs = dict(_specs(document or {}, ""))
        if not specs:
            raise RequestError(
                "search.space: expected a range for at least one key, got none: choose a preset "
                "with search=NAME or write search.space={optimizer.learning_rate: "
                "{interval: [1e-4, 1e-1], log: true}}."
            )
        given = {word.lstrip("+~").partition("=")[0].partition("@")[0]: word for word in fixed}
        for key in specs:
            _check_key(key, given)
        return cls(tuple(_dimension(key, spec) for key, spec in specs.items()))

    def overrides(self, values: Mapping[str, Any]) -> list[str]:
        """Write the overrides that give the settings these values."""
        return [f"{d.key}={d.word(values[d.key])}" for d in self.dimensions]

    def grid(self) -> dict[str, list[Any]]:
        """Map each key to the values that a grid tries.

        Raises:
            RequestError: A range has no steps, or there are too many points.
        """
        size = math.prod(dimension.size for dimension in self.dimensions)
        if size > GRID_LIMIT:
            raise RequestError(
                f"search.space: expected at most {GRID_LIMIT:,} points with search.sampler=grid, "
                f"got {size:,}."
            )
        return {dimension.key: dimension.grid() for dimension in self.dimensions}

    def probes(self) -> list[list[str]]:
        """Return a few sets of overrides that together have every end and every choice.

        Composing them before the first job finds values that a setting doesn't allow, and keys that
        don't exist with some option of a group. Groups are combined in all ways; other settings
        vary one at a time.
        """
        groups = [d for d in self.dimensions if "." not in d.key]
        others = [d for d in self.dimensions if "." in d.key]
        first = {d.key: d.ends()[0] for d in self.dimensions}
        chosen = [
            first | dict(zip([d.key for d in groups], values, strict=True))
            for values in itertools.product(*(d.ends() for d in groups))
        ]
        tried = [first | {d.key: value} for d in others for value in d.ends()[1:]]
        return [self.overrides(values) for values in [*chosen, *tried]]

    def describe(self) -> str:
        """Describe the space in a text that identifies it."""
        return "; ".join(map(_describe, sorted(self.dimensions, key=lambda d: d.key)))


def _describe(dimension: Range | Categorical) -> str:
    if isinstance(dimension, Categorical):
        return f"{dimension.key}: {', '.join(map(dimension.word, dimension.choices))}"
    kind = "int" if dimension.whole else "interval"
    text = f"{dimension.key}: {kind} {dimension.low:.12g} to {dimension.high:.12g}"
    if dimension.step:
        text += f" step {dimension.step:.12g}"
    return f"{text} log" if dimension.log else text


def _specs(node: Mapping[Any, Any], prefix: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield dotted key and specification of each dimension in nested mappings."""
    for name, value in node.items():
        key = f"{prefix}{name}"
        if not isinstance(value, Mapping) or not value:
            raise RequestError(
                f"search.space.{key}: expected {{interval: [LOW, HIGH]}}, {{int: [LOW, HIGH]}} or "
                f"{{choice: [A, B]}}, got {'null' if value is None else value}."
            )
        if all(isinstance(inner, Mapping) for inner in value.values()):
            yield from _specs(value, f"{key}.")
        else:
            yield key, value


def _check_key(key: str, fixed: Mapping[str, str]) -> None:
    if not _KEY.fullmatch(key):
        raise RequestError(f"search.space: expected a key such as model.units, got {key}.")
    why = _REFUSED.get(key) if decides_result(key) else _NO_RESULT
    if why:
        raise RequestError(f"search.space: {key} can't be searched: {why}.")
    if key in fixed:
        raise RequestError(
            f"search.space: {key} is searched, and the command fixes it with "
            f"{key}={fixed[key].partition('=')[2]}: leave one of the two out."
        )


def _dimension(key: str, spec: Mapping[str, Any]) -> Range | Categorical:
    where = f"search.space.{key}"
    for name in spec:
        if name not in (*_KINDS, *_EXTRAS):
            hint = did_you_mean(str(name), [*_KINDS, *_EXTRAS])
            raise RequestError(f"{where}.{name}: there is no such key.{hint}")
    kinds = [name for name in _KINDS if name in spec]
    if len(kinds) != 1:
        given = " and ".join(kinds) or "none of them"
        raise RequestError(f"{where}: expected one of interval, int and choice, got {given}.")
    if kinds == ["choice"]:
        return _choice(key, where, spec)
    return _range(key, where, kinds[0], spec)


def _choice(key: str, where: str, spec: Mapping[str, Any]) -> Categorical:
    for name in _EXTRAS:
        if name in spec:
            raise RequestError(f"{where}.{name}: a choice has no such key.")
    choices = spec["choice"]
    if not _is_list(choices) or len(choices) < 2:
        raise RequestError(f"{where}.choice: expected a list of two values or more, got {choices}.")
    for index, value in enumerate(choices):
        if not (value is None or isinstance(value, (str, int, float, bool))):
            raise RequestError(f"{where}.choice: expected single values, got {value}.")
        if value in choices[:index]:  # Optuna can't tell 1, 1.0 and true apart
            raise RequestError(f"{where}.choice: expected different values, got {value} twice.")
    return Categorical(key, tuple(choices))


def _range(key: str, where: str, kind: str, spec: Mapping[str, Any]) -> Range:
    whole, bounds = kind == "int", spec[kind]
    numbers = "two whole numbers" if whole else "two numbers"
    if not (_is_list(bounds) and len(bounds) == 2 and all(_is_number(b, whole) for b in bounds)):
        raise RequestError(f"{where}.{kind}: expected [LOW, HIGH], {numbers}, got {bounds}.")
    low, high = bounds
    if not low < high:
        raise RequestError(f"{where}.{kind}: expected LOW below HIGH, got {bounds}.")
    log, step, points = spec.get("log", False), spec.get("step"), spec.get("points")
    check_rule(f"{where}.log", log, Rule("bool"))
    if log and low <= 0:
        raise RequestError(f"{where}.{kind}: expected numbers above 0 with log, got {bounds}.")
    if points is not None:
        check_rule(f"{where}.points", points, Rule("int", min=2))
    if step is not None and points is not None:
        raise RequestError(f"{where}: expected one of step and points, got both.")
    if step is not None:
        if log:
            raise RequestError(f"{where}.step: expected no step with log, got {step}.")
        rule = Rule("int" if whole else "float", above=0, max=high - low)
        check_rule(f"{where}.step", step, rule)
        high = low + _steps(low, high, step) * step
        high = high if whole else float(f"{high:.12g}")
    return Range(key, low, high, whole, log, step, points)


def _steps(low: float, high: float, step: float) -> int:
    """Return how many steps fit between two numbers, in spite of rounding errors."""
    return math.floor((high - low) / step + 1e-9)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_number(value: Any, whole: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        return False
    return math.isfinite(value)
