"""What a run's configuration is: typed sections, and the rules that their values obey.

The sections that every run has are dataclasses whose fields carry their range. The groups that
grow by one YAML file (`attention`, `task`, `model`, `optimizer`, `schedule`) are `Option`s: a name
and settings, whose ranges stand in the same file under `rules`. One function, `check_rule`,
judges both.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from attnlab.errors import RequestError

OPTION_GROUPS = ("task", "attention", "model", "optimizer", "schedule")
_TYPES = {"int": int, "float": float, "bool": bool, "str": str, "list": list}
_ARTICLE = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a text",
    "list": "a list",
}


@dataclass(frozen=True)
class Rule:
    """What one setting may be.

    Attributes:
        type: `int`, `float`, `bool`, `str` or `list`; a whole number passes for a `float`.
        min: smallest value allowed.
        max: largest value allowed.
        above: the value must be greater.
        below: the value must be smaller.
        choices: the only values allowed.
        optional: whether null is allowed.
        divides: dotted path of a whole number in the configuration that the value must divide.
        why: the reason, added to the message when the rule is broken.
    """

    type: str | None = None
    min: float | None = None
    max: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[Any, ...] | None = None
    optional: bool = False
    divides: str | None = None
    why: str | None = None

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Rule:
        """Read a rule from YAML; raises `TypeError` on a field that no rule has."""
        values = dict(mapping)
        if "choices" in values:
            values["choices"] = tuple(values["choices"])
        return cls(**values)

    def expected(self) -> str:
        """The rule in words, for messages."""
        if self.choices is not None:
            return "one of " + ", ".join(str(choice) for choice in self.choices)
        words = _ARTICLE.get(self.type or "", "a value")
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
        return f"{words}, or null" if self.optional else words


def check_rule(key: str, value: Any, rule: Rule, config: Mapping[str, Any] | None = None) -> None:
    """Raise `RequestError` if `value` breaks `rule`.

    Args:
        key: dotted path of the setting, for the message.
        value: what was given.
        rule: what is expected.
        config: the whole configuration as nested mappings, for rules that look across groups.
    """
    if value is None and (rule.optional or (rule.choices and None in rule.choices)):
        return
    if not _fits(value, rule):
        raise RequestError(_sentence(key, rule.expected(), value, rule.why, rule.choices))
    if rule.divides is not None and config is not None:
        whole = lookup(config, rule.divides)
        if isinstance(whole, int) and whole % value != 0:
            divisors = ", ".join(str(n) for n in range(1, whole + 1) if whole % n == 0)
            raise RequestError(
                f"{key}: expected a divisor of {rule.divides}={whole} ({divisors}), got {value}."
            )


def _fits(value: Any, rule: Rule) -> bool:
    if rule.type is not None:
        expected = _TYPES[rule.type]
        numeric = rule.type == "float" and isinstance(value, int)
        if isinstance(value, bool) and expected is not bool:
            return False
        if not (isinstance(value, expected) or numeric):
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


def _sentence(key: str, expected: str, value: Any, why: str | None, choices: Any) -> str:
    given = "null" if value is None else str(value)
    near = nearest(given, [str(choice) for choice in choices or ()])
    hint = f" Did you mean {near}?" if near else ""
    reason = f" ({why})" if why else ""
    return f"{key}: expected {expected}{reason}, got {given}.{hint}"


def nearest(word: str, candidates: list[str]) -> str | None:
    """The candidate most like `word`, or None where nothing is alike."""
    import difflib

    found = difflib.get_close_matches(word, candidates, n=1, cutoff=0.5)
    return found[0] if found else None


def lookup(config: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path of nested mappings; None where there is none."""
    node: Any = config
    for part in path.split("."):
        if not isinstance(node, Mapping) or part not in node:
            return None
        node = node[part]
    return node


def ruled(default: Any, **rule: Any) -> Any:
    """A dataclass field with a default and a `Rule`."""
    return field(default=default, metadata={"rule": Rule.from_mapping(rule)})


@dataclass
class TrainerConfig:
    """How long and in which batches a model is trained.

    Attributes:
        epochs: passes over the training windows.
        batch_size: windows a gradient step.
        patience: epochs without a better monitored value before training stops; null never stops.
        min_delta: how much better counts as better.
        precision: `float32`, or `mixed_bfloat16` for GPUs that have it.
        jit: compile epochs with XLA; false keeps TensorFlow's graph mode.
    """

    epochs: int = ruled(30, type="int", min=1, max=999)
    batch_size: int = ruled(32, type="int", min=1)
    patience: int | None = ruled(None, type="int", min=1, optional=True)
    min_delta: float = ruled(0.0, type="float", min=0)
    precision: str = ruled("float32", choices=["float32", "mixed_bfloat16"])
    jit: bool = ruled(True, type="bool")


@dataclass
class TrackingConfig:
    """What MLflow gets.

    Attributes:
        enabled: whether the run is logged to MLflow at all.
        uri: tracking server or store; null means $MLFLOW_TRACKING_URI, else a SQLite file in
            the runs folder.
        weights: which epochs' weights become artifacts; the run folder keeps all of them.
        timeout: seconds to wait at the end of a run for a tracker that does not answer.
    """

    enabled: bool = ruled(True, type="bool")
    uri: str | None = ruled(None, type="str", optional=True)
    weights: str = ruled("best", choices=["all", "best", "none"])
    timeout: float = ruled(30.0, type="float", above=0)


@dataclass
class PathsConfig:
    """Where runs and downloads lie.

    Attributes:
        runs: folder of run folders.
        data: cache of downloaded corpora.
    """

    runs: str = ruled("./runs", type="str")
    data: str = ruled("~/.cache/attnlab", type="str")


@dataclass(frozen=True)
class Option:
    """One choice from a group that grows by files: its name, its class, its settings.

    Attributes:
        name: for example `luong_local`.
        target: dotted path of the Python class; None where a task chooses the class.
        settings: keyword arguments for that class.
    """

    name: str
    target: str | None
    settings: Mapping[str, Any]

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Option:
        """Split a composed group into name, target and settings."""
        settings = {k: v for k, v in mapping.items() if k not in ("name", "_target_", "rules")}
        return cls(mapping["name"], mapping.get("_target_"), settings)


@dataclass(frozen=True)
class RunConfig:
    """A whole run, checked.

    Attributes:
        task: what is learned, from which data, under which protocol.
        attention: the mechanism.
        model: the architecture around it.
        optimizer: the update rule.
        schedule: the learning rate over the run.
        trainer: epochs, batches, stopping.
        tracking: MLflow.
        paths: folders.
        seed: seed of weights, data order, dropout and generated data.
        document: the same as plain nested mappings, as it is saved.
    """

    task: Option
    attention: Option
    model: Option
    optimizer: Option
    schedule: Option
    trainer: TrainerConfig
    tracking: TrackingConfig
    paths: PathsConfig
    seed: int
    document: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """SHA-256 of everything that decides the result: all but `paths` and `tracking`."""
        decisive = {k: v for k, v in self.document.items() if k not in ("paths", "tracking")}
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


SEED_RULE = Rule(type="int", min=0, max=2**31 - 1)
SECTIONS = {"trainer": TrainerConfig, "tracking": TrackingConfig, "paths": PathsConfig}


def parse(
    document: Mapping[str, Any], rules: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> RunConfig:
    """Check a plain configuration and give it its types.

    Args:
        document: nested mappings with the groups, the sections and `seed`.
        rules: for each group, `{setting: rule}` as in its YAML; a setting with a dot is a path
            into the whole document, so that a file can say what it can't be combined with.

    Raises:
        RequestError: a value is missing or breaks its rule; the text names the key.
    """
    known = [*OPTION_GROUPS, *SECTIONS, "seed"]
    for key in document:
        _check_known(key, known, "")
    check_rule("seed", document.get("seed"), SEED_RULE)
    for group in OPTION_GROUPS:
        _check_group(group, document, rules.get(group, {}))
    sections = {name: _section(name, cls, document) for name, cls in SECTIONS.items()}
    _refuse_credentials(sections["tracking"].uri)
    options = {group: Option.from_mapping(document[group]) for group in OPTION_GROUPS}
    return RunConfig(**options, **sections, seed=document["seed"], document=document)


def _check_group(group: str, document: Mapping[str, Any], rules: Mapping[str, Any]) -> None:
    settings = document.get(group)
    if not isinstance(settings, Mapping) or "name" not in settings:
        raise RequestError(f"{group}: expected the name of one of its options, got {settings}.")
    if rules:
        for key in settings:
            _check_known(key, ["name", "_target_", *rules], f"{group}.")
    for key, mapping in rules.items():
        path = key if "." in key else f"{group}.{key}"
        rule = Rule.from_mapping(mapping)
        if "." in key and rule.choices is not None:
            _check_combination(group, settings["name"], path, lookup(document, path), rule)
        else:
            check_rule(path, lookup(document, path), rule, document)


def _check_known(key: str, known: list[str], prefix: str) -> None:
    if key not in known:
        near = nearest(key, known)
        hint = f" Did you mean {prefix}{near}?" if near else ""
        raise RequestError(f"{prefix}{key}: there is no such key.{hint}")


def _check_combination(group: str, name: str, path: str, value: Any, rule: Rule) -> None:
    if value in (rule.choices or ()):
        return
    choices = ", ".join(str(choice) for choice in rule.choices or ())
    reason = f": {rule.why}" if rule.why else ""
    raise RequestError(
        f"{group}={name} can't be combined with {path}={value}{reason}. Valid: {choices}."
    )


def _refuse_credentials(uri: str | None) -> None:
    if uri and "@" in uri.partition("://")[2].partition("/")[0]:
        raise RequestError(
            "tracking.uri: expected no user name or password in it, since it is saved with the "
            "run: set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD instead."
        )


def _section(name: str, cls: type, document: Mapping[str, Any]) -> Any:
    values = document.get(name, {})
    known = {f.name: f for f in dataclasses.fields(cls)}
    for key in values:
        _check_known(key, list(known), f"{name}.")
    section = cls(**values)
    for key, spec in known.items():
        check_rule(f"{name}.{key}", getattr(section, key), spec.metadata["rule"], document)
    return section
