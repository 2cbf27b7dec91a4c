"""From plain mappings to a checked `RunConfig`, and back from it to one that is resumed.

A value is checked by its field's rule in `attnlab.config.sections`, or by its option's in `conf/`.
`auto` is resolved only here, so that a run's configuration shows the value. Settings that depend on
the machine stay `auto` in the configuration: `trainer.jit` and `trainer.together`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from attnlab.config.file_hashes import absolute, recent_hash
from attnlab.config.options import option_class, options, section_rules
from attnlab.config.rules import check_rule, did_you_mean, lookup, read_rule
from attnlab.config.sections import OPTION_GROUPS, SECTIONS, RunConfig
from attnlab.errors import RequestError

# The model settings of kinds without files of their own.
PLAIN = "plain"


def kind_of_task(task: Any) -> Any:
    """Return the kind of a task; None if there is no such task."""
    try:
        return option_class("task", task).kind  # type: ignore[attr-defined]
    except RequestError:
        return None


def model_settings(task: str, attention: str, model: str) -> str:
    """Return the name of the file in conf/model/settings for a task, a mechanism and a model.

    For an unknown task it is `PLAIN`.
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
    """Return a configuration in which rules have replaced `auto` by values.

    A rule of the mechanism has priority over a rule of the setting's own group. The kind resolves
    settings that depend on a pretrained encoder.
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
    """Check a plain configuration and return it with types.

    Args:
        document: nested mappings with the groups, the sections and `seed`.
        rules: for each group `{setting: rule}`, as in its YAML; a setting with a dot is a path
            into the whole document, so that an option can exclude other options.

    Raises:
        RequestError: a value is missing or breaks its rule.
    """
    document = dict(document)
    known = [*OPTION_GROUPS, *SECTIONS, "data", "seed"]
    for key in document:
        _check_known(key, known, "")
    check_rule("seed", document.get("seed"), read_rule("seed", section_rules("seed")))
    groups = [*OPTION_GROUPS, *(["data"] if "data" in document else [])]
    for group in groups:
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
    paths = {
        key: path
        for key in (f"{g}.{key}" for g in rules for key in rules[g] if rules[g][key].get("hashed"))
        if (path := lookup(document, key)) and os.path.exists(absolute(path))
    }
    hashes = {key: recent_hash(path) for key, path in paths.items()}
    return RunConfig(
        document,
        file_hashes={key: value for key, value in hashes.items() if value},
        files={key: absolute(path) for key, path in paths.items()},
    )


def absolute_uri(uri: str) -> str:
    """Return a URI with an absolute path, for use in any working folder."""
    start = "sqlite:///" if uri.startswith("sqlite:///") else ""
    is_path = start or ("/" in uri and ":" not in uri)
    return start + os.path.abspath(uri.removeprefix(start)) if is_path else uri


def changed(config: RunConfig, changes: Mapping[str, str]) -> RunConfig:
    """Return the configuration of a resumed run: only epochs and devices may change.

    `changes` are dotted keys and their values as YAML.

    Raises:
        RequestError: another key, or a wrong value.
    """
    allowed = ("trainer.epochs", "trainer.devices")
    for key in changes:
        if key not in allowed:
            raise RequestError(
                f"{key}: only {' and '.join(allowed)} may change when a run is resumed."
            )
    values = {key: read_value(key, text) for key, text in changes.items()}
    return parse(config.with_values(values).document, {})


def _has(document: Mapping[str, Any], key: str) -> bool:
    section, _, name = key.rpartition(".")
    node = lookup(document, section) if section else document
    return isinstance(node, Mapping) and name in node


def read_value(key: str, text: str) -> Any:
    """Parse a text as YAML; raises `RequestError`."""
    import yaml

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
        rule = read_rule(path, mapping)
        if "." in key and rule.choices is not None:
            if not _has(document, key):  # the setting didn't exist when the run was made
                continue
            if (value := lookup(document, path)) not in rule.choices:
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
        if lookup(document, path) not in autos:
            check_rule(path, lookup(document, path), rule, document)
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
