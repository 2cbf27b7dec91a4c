"""Rules for single settings: which values are valid, how they are checked and described."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attnlab.errors import RequestError

# Name of a type -> the Python type, and its description in messages.
_TYPES: dict[str | None, tuple[type, str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "bool": (bool, "true or false"),
    "str": (str, "a text"),
    "list": (list, "a list"),
    None: (object, "a value"),
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
    divides: str | None = None  # dotted path of a number that the value must divide
    at_most: str | None = None  # dotted path of the largest value allowed
    # For dotted paths the value, or a list of values, needed unless this setting is null or false.
    requires: Mapping[str, Any] = field(default_factory=dict)
    hashed: bool = False  # whether it is a path whose content decides the result
    why: str | None = None  # the reason for the rule, for messages
    auto: Any = None  # the value for `auto`; see `attnlab.config.composing`
    help: str | None = None  # the meaning of the setting, for `attnlab explain`

    def expected(self) -> str:
        """Return the rule in words, for messages."""
        if self.choices is not None:
            return "one of " + ", ".join(map(yaml_text, self.choices))
        limits = {
            **{"at least": self.min, "above": self.above},
            **{"at most": self.max, "below": self.below},
        }
        bounds = [f"{words} {limit:,.10g}" for words, limit in limits.items() if limit is not None]
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
    is_valid_null = value is None and (rule.optional or None in (rule.choices or ()))
    if is_valid_null or value in rule.words:
        return
    reason = f" ({rule.why})" if rule.why else ""
    if not _fits(value, rule):
        hint = did_you_mean(yaml_text(value), list(map(yaml_text, rule.choices or ())))
        raise RequestError(
            f"{key}: expected {rule.expected()}{reason}, got {yaml_text(value)}.{hint}"
        )
    if config is None:
        return
    whole, limit = (lookup(config, path) if path else None for path in (rule.divides, rule.at_most))
    if isinstance(whole, int) and whole % value:
        raise RequestError(f"{key}: expected a divisor of {rule.divides}={whole}, got {value}.")
    if isinstance(limit, int | float) and value > limit:
        raise RequestError(f"{key}: expected at most {rule.at_most}={limit}, got {value}.")
    for path, needed in rule.requires.items() if value is not False else ():
        values, other = needed if isinstance(needed, list) else [needed], lookup(config, path)
        if other is not None and other not in values:
            words = " or ".join(map(yaml_text, values))
            got = f"{path}={yaml_text(other)}"
            raise RequestError(f"{key}: needs {path}={words}{reason}, got {got}.")


def yaml_text(value: Any) -> str:
    """Return a value in YAML's spelling."""
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value) or '""'


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


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return ` Did you mean X?` with the most similar candidate; empty if none is similar."""
    folded = {candidate.casefold(): candidate for candidate in candidates}
    matches = difflib.get_close_matches(word.casefold(), folded, n=1)
    return f" Did you mean {folded[matches[0]]}?" if matches else ""


def lookup(config: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path of nested mappings; None if there is none."""
    node: Any = config
    for part in path.split("."):
        # dict first, because it is faster
        if not isinstance(node, (dict, Mapping)) or part not in node:
            return None
        node = node[part]
    return node
