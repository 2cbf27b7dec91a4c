"""Rules for single settings: which values are valid, how they are checked and described."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from operator import gt, lt
from typing import Any

from attnlab.errors import RequestError

# Name of a type -> the Python type, and its description in messages.
_TYPES: dict[str, tuple[type, str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "bool": (bool, "true or false"),
    "str": (str, "a text"),
    "list": (list, "a list"),
    "mapping": (dict, "KEY: VALUE"),
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
    # Dotted path of another setting, a whole number that the value must divide.
    divides: str | None = None
    # Dotted path of another setting, a number that the value must not exceed.
    at_most: str | None = None
    at_least: str | None = None  # dotted path of a number that the value must not fall below
    excludes: str | None = None  # dotted path of a setting that must be null, false or 0
    # PATH=NAME,NAME: values that another setting must have, unless this one is null or false
    requires: str | None = None
    hashed: bool = False  # whether it is a path whose content decides the result, too
    why: str | None = None  # the reason for the rule, for messages
    auto: Any = None  # the value for `auto`; see `attnlab.config.parsing`
    help: str | None = None  # the meaning of the setting, for `attnlab explain`

    def expected(self) -> str:
        """Return the rule in words, for messages."""
        if self.choices is not None:
            return "one of " + ", ".join(map(_written, self.choices))
        words = _TYPES[self.type][1] if self.type else "a value"
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
        words = " ".join([words, " and ".join(bounds)]).strip()
        between = ", " if self.type == "bool" else " or "
        words = between.join([*filter(None, [", ".join(self.words)]), words])
        return f"{words}, or null" if self.optional else words


# Rules by the identity of their mapping, which is stored, too, so that its id isn't reused.
_rules: dict[int, tuple[Mapping[str, Any], Rule]] = {}


def read_rule(key: str, mapping: Mapping[str, Any]) -> Rule:
    """Return the rule in a mapping of a YAML file, cached by the mapping's identity.

    Raises:
        RequestError: the mapping is not a rule.
    """
    if id(mapping) not in _rules:
        names = [field.name for field in fields(Rule)]
        for name in mapping:
            if name not in names:
                hint = did_you_mean(str(name), names)
                raise RequestError(f"{key}: its rule has the unknown key {name}.{hint}")
        rule = Rule(**mapping)
        check_rule(f"{key}: in its rule, type", rule.type, Rule(choices=[*_TYPES, None]))
        _rules[id(mapping)] = mapping, rule
    return _rules[id(mapping)][1]


def check_rule(key: str, value: Any, rule: Rule, config: Mapping[str, Any] | None = None) -> None:
    """Raise `RequestError` if the value of the setting `key`, a dotted path, breaks a rule.

    `config` is the whole configuration, for rules that refer to other settings.
    """
    if value is None and (rule.optional or (rule.choices and None in rule.choices)):
        return
    if value in rule.words:
        return
    if not _fits(value, rule):
        given = _written(value)
        hint = did_you_mean(given, list(map(_written, rule.choices or ())))
        reason = f" ({rule.why})" if rule.why else ""
        raise RequestError(f"{key}: expected {rule.expected()}{reason}, got {given}.{hint}")
    if config is not None:
        _check_relations(key, value, rule, config)


def _check_relations(key: str, value: Any, rule: Rule, config: Mapping[str, Any]) -> None:
    """Check a value against other settings."""
    whole = lookup(config, rule.divides) if rule.divides else None
    if isinstance(whole, int) and whole % value != 0:
        divisors = ", ".join(str(n) for n in range(1, whole + 1) if whole % n == 0)
        raise RequestError(
            f"{key}: expected a divisor of {rule.divides}={whole} ({divisors}), got {value}."
        )
    for path, words, breaks in ((rule.at_most, "at most", gt), (rule.at_least, "at least", lt)):
        bound = lookup(config, path) if path else None
        if isinstance(bound, int) and breaks(value, bound):
            raise RequestError(f"{key}: expected {words} {path}={bound}, got {value}.")
    if rule.excludes and (other := lookup(config, rule.excludes)):
        raise RequestError(f"{key}: expected null with {rule.excludes}={other}, got {value}.")
    if rule.requires and value is not False:
        path, _, names = rule.requires.partition("=")
        if (found := lookup(config, path)) is not None and str(found) not in names.split(","):
            reason = f" ({rule.why})" if rule.why else ""
            wanted = " or ".join(names.split(","))
            raise RequestError(f"{key}: needs {path}={wanted}{reason}, got {path}={found}.")


def _written(value: Any) -> str:
    """Return a value in YAML's spelling, except `True` and `False`."""
    return "null" if value is None else str(value) or '""'


def _fits(value: Any, rule: Rule) -> bool:
    if rule.type is not None:
        expected = _TYPES[rule.type][0]
        numeric = rule.type == "float" and isinstance(value, int)
        if isinstance(value, bool) and expected is not bool:
            return False
        if not (isinstance(value, expected) or numeric) or value == "":
            return False
    if rule.choices is not None and value not in rule.choices:
        return False
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (
            math.isfinite(value)
            and (rule.min is None or value >= rule.min)
            and (rule.max is None or value <= rule.max)
            and (rule.above is None or value > rule.above)
            and (rule.below is None or value < rule.below)
        )
    return True


def did_you_mean(word: str, candidates: list[str], prefix: str = "") -> str:
    """Return ` Did you mean X?` for a message about a wrong word; empty if nothing is similar.

    X is the prefix and the most similar candidate.
    """
    found = nearest(word, candidates)
    return f" Did you mean {prefix}{found}?" if found else ""


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
    known = [key for key in keys if key.rpartition(".")[2] == leaf]
    known = known or [key for key in (_ALIASES.get(leaf),) if key]
    return f" Did you mean {' or '.join(known)}?" if known else did_you_mean(word, list(keys))


def nearest(word: str, candidates: Sequence[str]) -> str | None:
    """Return the candidate most similar to a word, ignoring case; None if none is similar."""
    import difflib

    folded = {each.casefold(): each for each in reversed(candidates)}
    found = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def lookup(config: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path of nested mappings; None if there is none."""
    node: Any = config
    for part in path.split("."):
        if (
            not isinstance(node, (dict, Mapping)) or part not in node
        ):  # dict first, because it is faster
            return None
        node = node[part]
    return node
