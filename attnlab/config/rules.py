"""Rules for single settings: which values are valid, how they are checked and described."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import ge, le
from typing import Any

from attnlab.errors import RequestError

# Name of a type -> the Python type, and its description in messages.
_TYPES: dict[str | None, tuple[type, str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "bool": (bool, "true or false"),
    "str": (str, "a text"),
    "list": (list, "a list"),
    "mapping": (dict, "KEY: VALUE"),
    None: (object, "a value"),
}


# How a value may depend on a number or a switch elsewhere: in words, and whether both fit.
_RELATIONS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "divides": ("a divisor of", lambda value, whole: whole % value == 0),
    "at_most": ("at most", le),
    "at_least": ("at least", ge),
    "excludes": ("null with", lambda value, other: not other),
}


@dataclass(frozen=True)
class Rule:
    """The valid values of one setting."""

    # One of `_TYPES`; a `float` may be a whole number.
    type: str | None = None
    min: float | None = None  # smallest value allowed
    max: float | None = None  # largest value allowed
    above: float | None = None  # the value must be greater
    below: float | None = None  # the value must be smaller
    choices: Sequence[Any] | None = None  # the only valid values
    words: Sequence[str] = ()  # valid in addition to values of the type
    optional: bool = False  # whether null is valid
    # Dotted paths of other settings: see `_RELATIONS`.
    divides: str | None = None
    at_most: str | None = None
    at_least: str | None = None
    excludes: str | None = None
    # PATH=NAME,NAME: values that another setting must have, unless this one is null or false
    requires: str | None = None
    hashed: bool = False  # whether it is a path whose content decides the result
    why: str | None = None  # the reason for the rule, for messages
    auto: Any = None  # the value for `auto`; see `attnlab.config.composing`
    help: str | None = None  # the meaning of the setting, for `attnlab explain`

    def expected(self) -> str:
        """Return the rule in words, for messages."""
        if self.choices is not None:
            return "one of " + ", ".join(map(_written, self.choices))
        bounds = [
            f"{label} {bound:,.10g}"
            for label, bound in (
                ("at least", self.min),
                ("above", self.above),
                ("at most", self.max),
                ("below", self.below),
            )
            if bound is not None
        ]
        words = " ".join([_TYPES[self.type][1], " and ".join(bounds)]).strip()
        between = ", " if self.type == "bool" else " or "
        words = between.join([*filter(None, [", ".join(self.words)]), words])
        return f"{words}, or null" if self.optional else words


def read_rule(key: str, mapping: Mapping[str, Any]) -> Rule:
    """Return the rule in a mapping of a YAML file; raises `RequestError` if it isn't one."""
    try:
        rule = Rule(**mapping)
    except TypeError as error:
        raise RequestError(f"{key}: its rule is wrong: {error}.") from error
    if rule.type not in _TYPES:
        types = ", ".join(filter(None, _TYPES))
        raise RequestError(f"{key}: in its rule, type: expected one of {types}, got {rule.type}.")
    return rule


def check_rule(key: str, value: Any, rule: Rule, config: Mapping[str, Any] | None = None) -> None:
    """Raise `RequestError` if the value of the setting `key`, a dotted path, breaks a rule.

    `config` is the whole configuration, for rules that refer to other settings.
    """
    if value is None and (rule.optional or (rule.choices and None in rule.choices)):
        return
    if value in rule.words:
        return
    reason = f" ({rule.why})" if rule.why else ""
    if not _fits(value, rule):
        hint = did_you_mean(_written(value), list(map(_written, rule.choices or ())))
        raise RequestError(
            f"{key}: expected {rule.expected()}{reason}, got {_written(value)}.{hint}"
        )
    if config is None:
        return
    for relation, (words, holds) in _RELATIONS.items():
        path = getattr(rule, relation)
        other = lookup(config, path) if path else None
        if isinstance(other, int | float) and not holds(value, other):
            raise RequestError(f"{key}: expected {words} {path}={other}, got {value}.")
    if rule.requires and value is not False:
        path, _, names = rule.requires.partition("=")
        if (other := lookup(config, path)) is not None and str(other) not in names.split(","):
            wanted = " or ".join(names.split(","))
            raise RequestError(f"{key}: needs {path}={wanted}{reason}, got {path}={other}.")


def _written(value: Any) -> str:
    """Return a value in YAML's spelling, except `True` and `False`."""
    return "null" if value is None else str(value) or '""'


def _fits(value: Any, rule: Rule) -> bool:
    if rule.choices is not None:
        return value in rule.choices
    expected = _TYPES[rule.type][0]
    if expected is object:
        return True
    if isinstance(value, bool) or expected is bool:
        return isinstance(value, bool) and expected is bool
    if isinstance(value, int | float) and expected in (int, float):
        return (
            (isinstance(value, int) or expected is float)
            and math.isfinite(value)
            and (rule.min is None or value >= rule.min)
            and (rule.max is None or value <= rule.max)
            and (rule.above is None or value > rule.above)
            and (rule.below is None or value < rule.below)
        )
    return isinstance(value, expected) and value != ""


def did_you_mean(word: str, candidates: Sequence[str], prefix: str = "") -> str:
    """Return ` Did you mean X?` for a message about a wrong word; empty if nothing is similar.

    X is the prefix and the most similar candidate.
    """
    folded = {candidate.casefold(): candidate for candidate in reversed(candidates)}
    matches = difflib.get_close_matches(word.casefold(), folded, n=1)
    return f" Did you mean {prefix}{folded[matches[0]]}?" if matches else ""


# Settings by their names in Keras, PyTorch, Transformers and libraries of forecasts.
_ALIASES = {
    "lr": "optimizer.learning_rate",
    "num_epochs": "trainer.epochs",
    "max_epochs": "trainer.epochs",
    "early_stopping": "trainer.patience",
    "random_state": "seed",
    "hidden_size": "model.units",
    "d_model": "model.units",
    "num_layers": "model.layers",
    "num_heads": "attention.heads",
    "nhead": "attention.heads",
    "lookback": "task.history",
    "pred_len": "task.horizon",
    "csv": "task.path",
    "dataset": "data",
    "output_dir": "paths.runs",
}


def similar_key(word: str, keys: Sequence[str]) -> str:
    """Return ` Did you mean KEY?` for a wrong key: by its last part, by an alias, or by spelling.

    Empty if there is no such key.
    """
    leaf = word.rpartition(".")[2]
    matches = [key for key in keys if key.rpartition(".")[2] == leaf]
    if not matches and leaf in _ALIASES:
        matches = [_ALIASES[leaf]]
    return f" Did you mean {' or '.join(matches)}?" if matches else did_you_mean(word, keys)


def lookup(config: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path of nested mappings; None if there is none."""
    node: Any = config
    for part in path.split("."):
        # dict first, because it is faster
        if not isinstance(node, (dict, Mapping)) or part not in node:
            return None
        node = node[part]
    return node
