"""From plain mappings to a checked `RunConfig`, for a new run and for a stored one.

A value is checked by the rule of its setting: in conf/rules.yaml, or in its option's file. Settings
that depend on the machine stay `auto` in the configuration: `trainer.jit` and `trainer.together`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import yaml

from attnlab.config.options import section_rules
from attnlab.config.rules import check_rule, did_you_mean, lookup, read_rule
from attnlab.config.sections import OPTION_GROUPS, SECTIONS, RunConfig, absolute, recent_hash
from attnlab.errors import RequestError


def parse(
    document: Mapping[str, Any], rules: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> RunConfig:
    """Check a plain configuration; paths of the user's own files become absolute.

    Args:
        document: nested mappings with the groups, the sections and `seed`.
        rules: for each group `{setting: rule}`, as in its YAML; a setting with a dot is a path
            into the whole document, so that an option can exclude other options.

    Raises:
        RequestError: a value is missing or breaks its rule.
    """
    document = dict(document)
    for key in document:
        _check_known(key, [*OPTION_GROUPS, *SECTIONS, "data", "seed"], "")
    check_rule("seed", document.get("seed"), read_rule("seed", section_rules("seed")))
    for group in [*OPTION_GROUPS, *(["data"] if "data" in document else [])]:
        _check_group(group, document, rules)
    for name, cls in SECTIONS.items():
        parse_section(name, cls, document)
    if uri := (document.get("tracking") or {}).get("uri"):
        if "@" in uri.partition("://")[2].partition("/")[0]:
            raise RequestError(
                "tracking.uri: must not contain a user name or password, because it is saved with "
                "the run: set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD instead."
            )
        document["tracking"] = {**document["tracking"], "uri": absolute_uri(uri)}
    hashes = {}
    for group in rules:
        for name in (name for name, rule in rules[group].items() if rule.get("hashed")):
            path = absolute(document[group][name] or "")
            if document[group][name] and os.path.exists(path):
                document[group] = {**document[group], name: path}
                hashes[f"{group}.{name}"] = recent_hash(path)
    return RunConfig(document, {key: value for key, value in hashes.items() if value})


def stored_config(
    document: Mapping[str, Any], status: Mapping[str, Any], changes: Mapping[str, str]
) -> RunConfig:
    """Return the configuration of a stored run, in which some settings may change.

    Args:
        document: the content of its config.yaml.
        status: the content of its status.json.
        changes: new numbers of epochs or devices, and new paths of the user's own files: dotted
            keys and their values as YAML.

    Raises:
        RequestError: another key, or a wrong value.
    """
    hashes = status.get("file_hashes", {})
    allowed = ("trainer.epochs", "trainer.devices", *hashes)
    values = {key: read_value(key, text) for key, text in changes.items()}
    for key, value in values.items():
        if key not in allowed:
            raise RequestError(f"{key}: only {' and '.join(allowed)} may change in a stored run.")
        if key in hashes:
            values[key] = absolute(str(value))
            if not os.path.exists(values[key]):
                raise RequestError(f"{key}: expected a file or folder that exists, got {value!r}.")
    changed = parse(document, {}).with_values(values)
    return replace(parse(changed.document, {}), file_hashes=hashes)


def absolute_uri(uri: str) -> str:
    """Return a URI with an absolute path, for use in any working folder."""
    start = "sqlite:///" if uri.startswith("sqlite:///") else ""
    is_path = start or ("/" in uri and ":" not in uri)
    return start + os.path.abspath(uri.removeprefix(start)) if is_path else uri


def read_value(key: str, text: str) -> Any:
    """Parse a text as YAML; raises `RequestError`."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RequestError(f"{key}: {text!r} is not valid YAML.") from error


def yaml_text(value: Any) -> str:
    """Return a value in YAML's spelling."""
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def _check_group(group: str, document: Mapping[str, Any], all_rules: Mapping[str, Any]) -> None:
    settings, rules = document.get(group), all_rules.get(group, {})
    if not isinstance(settings, Mapping) or "name" not in settings:
        raise RequestError(f"{group}: expected the name of one of its options, got {settings}.")
    for key, mapping in rules.items():
        path = key if "." in key else f"{group}.{key}"
        rule, value = read_rule(path, mapping), lookup(document, path)
        if "." in key and rule.choices is not None:
            if value is not None and value not in rule.choices:  # None: no such setting here
                others = [own[key].get("choices") for own in all_rules.values() if key in own]
                valid = [v for v in rule.choices if all(v in own for own in others if own)]
                reason = f": {rule.why}" if rule.why else ""
                hint = f" Valid: {', '.join(map(yaml_text, valid))}." if valid else ""
                raise RequestError(
                    f"{group}={settings['name']} can't be combined with {path}={value}{reason}."
                    f"{hint}"
                )
            continue
        # An option of another group, such as a mechanism, may have a value for `auto`.
        autos = [own[path]["auto"] for own in all_rules.values() if "auto" in own.get(path, {})]
        if value not in autos:
            check_rule(path, value, rule, document)
    # After the combinations: another group's option may have set a key of this one.
    if rules:
        for key in settings:
            _check_known(key, ["name", *rules], f"{group}.")


def _check_known(key: str, known: list[str], prefix: str) -> None:
    if key not in known:
        hint = did_you_mean(key, known, prefix)
        raise RequestError(f"{prefix}{key}: there is no such key.{hint}")


def parse_section(name: str, cls: type, document: Mapping[str, Any]) -> Any:
    """Return a section of a configuration as an object of its class; raises `RequestError`."""
    values, rules = document.get(name, {}), section_rules(name)
    for key in values:
        _check_known(key, list(rules), f"{name}.")
    section = cls(**values)
    for key, rule in rules.items():
        path = f"{name}.{key}"
        check_rule(path, getattr(section, key), read_rule(path, rule), document)
    return section
