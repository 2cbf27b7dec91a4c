"""Rules for single settings: what a value may be, judged and put into words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import gt, lt
from typing import Any

from attnlab.errors import RequestError

# Name of a type -> the type, and its word in messages.
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
    """What one setting may be."""

    # One of `_TYPES`; a whole number passes for a `float`.
    type: str | None = None
    min: float | None = None  # smallest value allowed
    max: float | None = None  # largest value allowed
    above: float | None = None  # the value must be greater
    below: float | None = None  # the value must be smaller
    choices: Sequence[Any] | None = None  # the only values allowed
    words: Sequence[str] = ()  # allowed in addition to values of the type
    optional: bool = False  # whether null is allowed
    # Dotted path of a whole number in the configuration that the value must divide.
    divides: str | None = None
    # Dotted path of a number in the configuration that the value must not pass.
    at_most: str | None = None
    at_least: str | None = None  # dotted path of a number that the value must reach
    excludes: str | None = None  # dotted path of what must then be null, false or 0
    hashed: bool = False  # a path of the user's own data, whose content decides the result, too
    why: str | None = None  # the reason, added to the message when the rule is broken
    auto: Any = None  # what the value `auto` means; see `attnlab.config.parsing`
    help: str | None = None  # what the setting is, for `attnlab explain`

    def expected(self) -> str:
        """The rule in words, for messages."""
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


_NUMBER, _TEXT, _LIST = Rule("float"), Rule("str"), Rule("list")
# What a rule in a YAML file may say, and how.
_PARTS = {
    "type": Rule(choices=[*_TYPES]),
    **dict.fromkeys(["min", "max", "above", "below"], _NUMBER),
    **dict.fromkeys(["choices", "words"], _LIST),
    **dict.fromkeys(["optional", "hashed"], Rule("bool")),
    **dict.fromkeys(["divides", "at_most", "at_least", "excludes", "why", "help"], _TEXT),
    "auto": Rule(optional=True),
}


def read_rule(key: str, given: Mapping[str, Any]) -> Rule:
    """Read the rule of a setting from its mapping in a YAML file, once for each mapping.

    Raises:
        RequestError: it is no rule.
    """
    known = _known_rules.get(id(given))
    if known is None or known[0] is not given:
        _known_rules[id(given)] = known = given, _new_rule(key, given)
    return known[1]


# By the identity of its mapping, which is kept so that no other one gets it.
_known_rules: dict[int, tuple[Mapping[str, Any], Rule]] = {}


def _new_rule(key: str, given: Mapping[str, Any]) -> Rule:
    for name, value in given.items():
        if name not in _PARTS:
            hint = did_you_mean(str(name), list(_PARTS))
            raise RequestError(f"{key}: its rule has {name}, which no rule has.{hint}")
        check_rule(f"{key}: in its rule, {name}", value, _PARTS[name])
    return Rule(**given)


def check_rule(key: str, value: Any, rule: Rule, config: Mapping[str, Any] | None = None) -> None:
    """Raise `RequestError` if the value of a setting, named by its dotted path, breaks a rule.

    `config` is the whole configuration, for rules that look across groups.
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
    """Hold a value against other settings of the configuration."""
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
        raise RequestError(f"{key}: expected null beside {rule.excludes}={other}, got {value}.")


def _written(value: Any) -> str:
    """As in YAML, except `True` and `False`."""
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
    """A sentence to add to a complaint about a word: ` Did you mean X?`, or nothing.

    X is the candidate most like the word, after the prefix.
    """
    found = nearest(word, candidates)
    return f" Did you mean {prefix}{found}?" if found else ""


def nearest(word: str, candidates: Sequence[str]) -> str | None:
    """The candidate most like a word, in any case; None if none is."""
    import difflib

    folded = {each.casefold(): each for each in reversed(candidates)}
    found = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def lookup(config: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path of nested mappings; None where there is none."""
    node: Any = config
    for part in path.split("."):
        if not isinstance(node, (dict, Mapping)) or part not in node:  # first what is quick
            return None
        node = node[part]
    return node
