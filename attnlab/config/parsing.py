"""From plain mappings to a checked `RunConfig`, and back from it to one that is resumed.

A value is checked by its field's rule in `attnlab.config.sections`, or by its option's in `conf/`.
`auto` is resolved only here, so that a run's configuration shows the value. Settings that depend on
the machine stay `auto` in the configuration: `trainer.jit` and `trainer.together`.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from attnlab.config.file_hashes import absolute, recent_hash
from attnlab.config.options import option_class, options
from attnlab.config.rules import Rule, check_rule, did_you_mean, lookup, read_rule
from attnlab.config.sections import OPTION_GROUPS, SECTIONS, SEED_RULE, RunConfig
from attnlab.errors import RequestError

# The settings of models of a kind that has no files for them.
PLAIN = "plain"


def kind_of_task(task: Any) -> Any:
    """Return the kind of a task; None if there is no such task, which is reported elsewhere."""
    try:
        return option_class("task", task).kind  # type: ignore[attr-defined]
    except RequestError:
        return None


def model_settings(task: str, attention: str, model: str) -> str:
    """Return the file of conf/model/settings that goes with a task, a mechanism and a model.

    A task that doesn't exist has one, too.
    """
    kind = kind_of_task(task)
    if kind is None:
        return PLAIN
    if model == "auto":
        model = kind.models.architectures.get(attention, "rnn")
    files = options("model/settings")
    own = any(name.startswith(f"{kind.name}_") for name in files)
    return f"{kind.name}_{model}" if own else PLAIN


def without_auto(
    document: Mapping[str, Any],
    rules: Mapping[str, Mapping[str, Mapping[str, Any]]],
    kind: Any,
) -> dict[str, Any]:
    """Return a configuration with values in place of `auto`.

    Rules say the values; a rule of the mechanism counts before that of the group which the setting
    belongs to. What follows from a pretrained encoder is what the kind says.
    """
    if kind and kind.models.resolve:
        document = kind.models.resolve(document)
    found = dict(document)
    for group in ("attention", *rules):
        for key, rule in rules.get(group, {}).items():
            section, _, name = (key if "." in key else f"{group}.{key}").rpartition(".")
            if "auto" in rule and lookup(found, f"{section}.{name}") == "auto":
                found[section] = {**found[section], name: rule["auto"]}
    return found


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
    document = dict(document)
    known = [*OPTION_GROUPS, *SECTIONS, "data", "seed"]
    for key in document:
        _check_known(key, known, "")
    check_rule("seed", document.get("seed"), SEED_RULE)
    groups = [*OPTION_GROUPS, *(["data"] if "data" in document else [])]
    for group in groups:
        _check_group(group, document, rules)
    for name, cls in SECTIONS.items():
        parse_section(name, cls, document)
    if uri := (document.get("tracking") or {}).get("uri"):
        document["tracking"] = {**document["tracking"], "uri": absolute_uri(_without_user(uri))}
    paths = _own_paths(document, rules)
    return RunConfig(
        document,
        file_hashes=_file_hashes(paths),
        files={key: absolute(path) for key, path in paths.items()},
    )


def _without_user(uri: str) -> str:
    """Refuse a URI with a user name or a password in it."""
    if "@" in uri.partition("://")[2].partition("/")[0]:
        raise RequestError(
            "tracking.uri: expected no user name or password in it, since it is saved with the "
            "run: set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD instead."
        )
    return uri


def _own_paths(
    document: Mapping[str, Any], rules: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> dict[str, str]:
    """The paths of the user's own files and folders that exist, by the settings that name them."""
    keys = [
        f"{g}.{key}" for g, own in rules.items() for key, rule in own.items() if rule.get("hashed")
    ]
    paths = {key: lookup(document, key) for key in keys}
    return {key: path for key, path in paths.items() if path and os.path.exists(absolute(path))}


def _file_hashes(paths: Mapping[str, str]) -> dict[str, str]:
    """The hashes of files and folders by the same keys; what is no data has none."""
    found = {key: recent_hash(path) for key, path in paths.items()}
    return {key: value for key, value in found.items() if value}


def absolute_uri(uri: str) -> str:
    """The URI of the same store for commands in any working folder."""
    start = "sqlite:///" if uri.startswith("sqlite:///") else ""
    is_path = start or ("/" in uri and ":" not in uri)
    return start + os.path.abspath(uri.removeprefix(start)) if is_path else uri


def changed(config: RunConfig, changes: Mapping[str, str]) -> RunConfig:
    """The configuration of a run that is resumed: unchanged, except for the number of epochs.

    `changes` are dotted keys and their values as YAML.

    Raises:
        RequestError: there is no such key, or it is another than `trainer.epochs` and its value is
            not what it was; the text names key, old and new value.
    """
    epochs = {}
    for key, text in changes.items():
        new, old = read_value(key, text), lookup(config.document, key)
        if isinstance(old, float) and isinstance(new, str):  # YAML wants the point in 1.0e-3
            with suppress(ValueError):
                new = float(new)
        if old is None and not _has(config.document, key):
            raise RequestError(f"{key}: there is no such key in the run's configuration.")
        old = old.get("name") if isinstance(old, Mapping) else old
        if key == "trainer.epochs":
            epochs[key] = new
        elif new != old:
            raise RequestError(
                f"{key}: expected {yaml_text(old)}, as the run began with, got {yaml_text(new)}. "
                "Only trainer.epochs may change when a run goes on."
            )
    return parse(config.with_values(epochs).document, {})


def _has(document: Mapping[str, Any], key: str) -> bool:
    section, _, name = key.rpartition(".")
    node = lookup(document, section) if section else document
    return isinstance(node, Mapping) and name in node


def read_value(key: str, text: str) -> Any:
    """The value that a text is as YAML; raises `RequestError` where it is none."""
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RequestError(f"{key}: expected a value as in YAML, got {text!r}.") from error


def yaml_text(value: Any) -> str:
    """A setting's value in YAML's spelling."""
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def _check_group(group: str, document: Mapping[str, Any], all_rules: Mapping[str, Any]) -> None:
    settings, rules = document.get(group), all_rules.get(group, {})
    if not isinstance(settings, Mapping) or "name" not in settings:
        raise RequestError(f"{group}: expected the name of one of its options, got {settings}.")
    if rules:
        for key in settings:
            _check_known(key, ["name", *rules], f"{group}.")
    for key, mapping in rules.items():
        path = key if "." in key else f"{group}.{key}"
        rule = read_rule(path, mapping)
        if "." in key and rule.choices is not None:
            if not _has(document, key):  # as before there was such a setting: it has its default
                continue
            if lookup(document, path) not in rule.choices:
                others = [own[key].get("choices") for own in all_rules.values() if key in own]
                raise _combined(f"{group}={settings['name']}", path, document, rule, others)
        elif lookup(document, path) not in _of_others(path, all_rules):
            check_rule(path, lookup(document, path), rule, document)


def _of_others(path: str, all_rules: Mapping[str, Any]) -> list[Any]:
    """What `auto` of a setting means with options of other groups, such as a mechanism."""
    rules = [own[path] for own in all_rules.values() if path in own]
    return [rule["auto"] for rule in rules if "auto" in rule]


def _check_known(key: str, known: list[str], prefix: str) -> None:
    if key not in known:
        hint = did_you_mean(key, known, prefix)
        raise RequestError(f"{prefix}{key}: there is no such key.{hint}")


def _combined(
    option: str, path: str, document: Mapping[str, Any], rule: Rule, others: Iterable[Any]
) -> RequestError:
    """That an option doesn't go with a setting; `others` are choices that others leave it."""
    reason = f": {rule.why}" if rule.why else ""
    left = [each for each in rule.choices or () if all(each in own for own in others if own)]
    valid = f" Valid: {', '.join(map(yaml_text, left))}." if left else ""
    return RequestError(
        f"{option} can't be combined with {path}={lookup(document, path)}{reason}.{valid}"
    )


def parse_section(name: str, cls: type, document: Mapping[str, Any]) -> Any:
    """Check a section of a configuration: an object of its class; raises `RequestError`."""
    values = document.get(name, {})
    known = {f.name: f for f in dataclasses.fields(cls) if "rule" in f.metadata}
    for key in values:
        _check_known(key, list(known), f"{name}.")
    section = cls(**values)
    for key, spec in known.items():
        check_rule(f"{name}.{key}", getattr(section, key), spec.metadata["rule"], document)
    return section
