"""From Hydra's configuration to a checked `RunConfig`, and Hydra's errors as clear sentences.

Apart from `cli` and `sweeps`, only this room uses Hydra and OmegaConf.
"""

from __future__ import annotations

import os
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

import hydra
import yaml
from hydra import initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from attnlab.config.options import (
    NOT_SETTINGS,
    PLAIN,
    conf_folder,
    key_of,
    model_settings,
    no_such_option,
    option_content,
    quoted,
    user_folders,
)
from attnlab.config.rules import lookup
from attnlab.config.sections import (
    GROUPS,
    OPTION_GROUPS,
    SECTIONS,
    RunConfig,
    SearchConfig,
    SweepConfig,
    check_group,
    file_hash,
    parse,
)
from attnlab.errors import RequestError

_QUOTES = "A text with spaces, umlauts or signs needs quotes: 'KEY=\"VALUE\"'."


def register_schema() -> None:
    """Register the keys, the sections' defaults, and the functions of conf/config.yaml with Hydra.

    The keys of groups come from their YAML files; `parse` checks all values by their rules.
    """
    sections = {**SECTIONS, "sweep": SweepConfig, "search": SearchConfig}
    schema = {
        **{group: {} for group in (*OPTION_GROUPS, "data")},
        **{name: asdict(cls()) for name, cls in sections.items()},
    }
    ConfigStore.instance().store(name="schema", node=schema, provider="attnlab")
    OmegaConf.register_new_resolver("model_settings", model_settings, replace=True)
    # Unlike `oc.env`, an empty variable counts as unset.
    resolver = lambda name, default: os.environ.get(name) or default  # noqa: E731
    OmegaConf.register_new_resolver("variable", resolver, replace=True)


def search_path() -> str:
    """Return Hydra's setting for the folders of the user's options."""
    urls = ",".join(quoted(f"file://{path}") for path in user_folders() if path.is_dir())
    return f"hydra.searchpath=[{urls}]"


def compose(
    overrides: Sequence[str], place: tuple[str, str] | None = None, *, with_hydra: bool = False
) -> DictConfig:
    """Return the configuration that overrides make, not yet checked.

    Args:
        overrides: words of a command.
        place: folder and name of a saved configuration; None: conf/config.yaml.
        with_hydra: whether it has Hydra's own configuration, too.

    Raises:
        RequestError: an override fits no key, option or value.
    """
    for override in overrides:
        group, _, name = key_of(override).rpartition(".")
        if name == "_target_":
            raise RequestError(f"{override}: a class can't be set: {group}=NAME chooses it.")
    register_schema()
    folder, name = place or (str(conf_folder()), "config")
    words = [search_path(), *overrides]
    try:
        with initialize_config_dir(folder, version_base="1.3"):
            return hydra.compose(name, words, return_hydra_config=with_hydra)
    except (HydraException, OmegaConfBaseException, ValueError, yaml.YAMLError) as error:
        raise RequestError(explain(error)) from error


def from_hydra(cfg: DictConfig) -> RunConfig:
    """Resolve and check a composed configuration; raises `RequestError` on a wrong value."""
    return from_document(plain(cfg))


def from_document(
    document: dict[str, Any], hash_of: Callable[[str], str | None] = file_hash
) -> RunConfig:
    """Check a composed configuration with resolved references, which this changes.

    A setting `auto` becomes its value: that of the mechanism's rule, else that of the setting's own
    rule. A pretrained model completes the configuration itself. `hash_of` is as in `parse`.

    Raises:
        RequestError: a value is wrong.
    """
    for key in ("experiment", "search", "sweep"):  # of a command, not of a run
        document.pop(key, None)
    if not document.get("data"):  # the task has its own data
        document.pop("data", None)
    groups = [group for group in (*OPTION_GROUPS, "data") if group in document]
    contents = {group: _option_file(group, document) for group in groups}
    rules = {group: content.get("rules", {}) for group, content in contents.items()}
    if document["model"]["name"] == PLAIN:  # the rules of a mechanism don't apply
        rules["attention"] = {k: v for k, v in rules["attention"].items() if k[:6] != "model."}
    _drop_settings_of_the_task(document, rules)
    if path := contents["model"].get("completed_by"):
        document = dict(pkgutil.resolve_name(path)(document))
    for group in ("attention", *rules):
        for key, rule in rules[group].items():
            section, _, name = (key if "." in key else f"{group}.{key}").rpartition(".")
            if "auto" in rule and lookup(document, f"{section}.{name}") == "auto":
                document[section] = {**document[section], name: rule["auto"]}
    return parse(document, rules, hash_of)


def check_option(group: str, name: str) -> None:
    """Check the file of an option as a run does, without the other options of a run.

    Raises:
        RequestError: its name isn't the file's, or a setting has no rule or breaks it.
    """
    document = {group: dict(option_content(group, name) or {})}
    check_group(group, document, {group: _option_file(group, document).get("rules", {})})


def _option_file(group: str, document: dict[str, Any]) -> Mapping[str, Any]:
    """Return the file of a group's option, and remove what isn't a setting from the document.

    Raises:
        RequestError: the name was changed without the other settings of the option.
    """
    option = document.get(group)
    if not isinstance(option, dict):
        return {}
    name = option.get("name")
    composed = {key: option.pop(key) for key in NOT_SETTINGS if key in option}
    folder, file = group, name
    if group == "model":
        task, attention = (document.get(key, {}).get("name") for key in ("task", "attention"))
        folder, file = "model/settings", model_settings(task, attention, str(name))
    content = option_content(folder, file) or {}
    if not content or any(composed[key] != content.get(key) for key in composed):
        raise RequestError(
            f"{group}.name={name}: the name can't be changed without the other settings: "
            f"{group}=NAME chooses an option. In your own file, name must be the file's name."
        )
    return content


def _drop_settings_of_the_task(document: dict[str, Any], rules: Mapping[str, Any]) -> None:
    """Drop what the task sets for its own optimizer and schedule if the chosen ones lack it.

    So `task=language optimizer=sgd` needs no `~optimizer.beta_2`. `schedule=constant` keeps the
    warm-up.
    """
    task = option_content("task", document["task"].get("name"), whole=True) or {}
    for group in ("optimizer", "schedule"):
        settings = document.get(group, {})
        always = {"warmup"} if settings.get("name") == "constant" else {}
        for key, value in task.get(group, {}).items():
            if key not in (*rules.get(group, {}), *always) and settings.get(key) == value:
                del settings[key]


def as_yaml(cfg: DictConfig) -> str:
    """Return a configuration as YAML with the settings alone."""
    document = plain(cfg, needs_all=False)
    for group in document.values():
        for key in NOT_SETTINGS:
            if isinstance(group, dict):
                group.pop(key, None)
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def plain(cfg: DictConfig, *, needs_all: bool = True) -> dict[str, Any]:
    """Return a configuration as nested mappings with resolved references."""
    try:
        document = OmegaConf.to_container(cfg, resolve=True, throw_on_missing=needs_all)
    except OmegaConfBaseException as error:
        raise RequestError(explain(error)) from error
    return cast("dict[str, Any]", document)


def explain(error: Exception) -> str:
    """Return an error of Hydra or OmegaConf as one sentence: the key, expected, given.

    Other errors keep Hydra's own words.
    """
    text = str(error)
    if isinstance(error, MissingConfigException) and error.options:
        group, _, name = (error.missing_cfg_file or "").rpartition("/")
        valid = [*error.options]
        if group == "model/settings":  # a file per kind and model, such as `language_rnn`
            kind, _, name = name.rpartition("_")
            models = (file.removeprefix(f"{kind}_") for file in valid if file.startswith(kind))
            return f"model={name}: tasks of {kind} have {', '.join(models)}."
        return no_such_option(group, name, valid)
    if match := re.search(r"Could not override '([^'@]+)", text):
        return _unknown_key(match[1])
    if isinstance(error, OverrideParseException):
        return f"{error.override}: expected KEY=VALUE. {_QUOTES}"
    if "Ambiguous value for argument" in text:
        return f"{text.splitlines()[0]}: expected one value, several with -m. {_QUOTES}"
    return " ".join(text.split())


def _unknown_key(key: str) -> str:
    from attnlab.config.settings import settings, similar_key

    if key in GROUPS:
        return f"{key}: this task has no choice of {key}."
    owners = [setting.option for setting in settings() if setting.key == key]
    hint = f" It is a setting of {', '.join(owners)}." if owners else similar_key(key)
    return f"{key}: there is no such key.{hint}"
