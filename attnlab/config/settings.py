"""All settings with their meaning, valid values and defaults."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from attnlab.config import glossary
from attnlab.config.options import option_content, option_description, options, section_rules
from attnlab.config.rules import read_rule, similar_key
from attnlab.config.sections import OPTION_GROUPS, SECTIONS, SearchConfig, SweepConfig
from attnlab.errors import RequestError

GROUPS = (*OPTION_GROUPS, "data")
_LISTED = (*GROUPS, "experiment", "search")  # a word that lists options
_FILES = {"model": "model/settings"}
# OmegaConf's spelling of the value of another setting, the first one with a default.
_DEFAULTED = re.compile(r"\$\{oc\.select:([\w.]+),(\w+)\}")
_REFERENCE = re.compile(r"\$\{([\w.]+)\}")


class Setting(NamedTuple):
    """One setting of one option, or of every run."""

    key: str  # for example `attention.window`
    option: str  # its option, such as `attention=luong_local`; empty if every run has it
    meaning: str  # in a line
    expected: str  # the valid values, in words
    default: str  # and the defaults of tasks


def settings() -> list[Setting]:
    """Return all settings: those of every run, then those of each option."""
    tasks = {name: option_content("task", name, whole=True) or {} for name in options("task")}
    seed = read_rule("seed", section_rules("seed"))
    found = [Setting("seed", "", seed.help or "", seed.expected(), "0")]
    for section, cls in {**SECTIONS, "sweep": SweepConfig, "search": SearchConfig}.items():
        for name, mapping in section_rules(section).items():
            rule = read_rule(f"{section}.{name}", mapping)
            default = _defaults(section, name, getattr(cls, name), tasks)
            words = rule.help or "", rule.expected(), default
            found.append(Setting(f"{section}.{name}", "", *words))
    for group in GROUPS:
        for name in options(_FILES.get(group, group)):
            content = option_content(_FILES.get(group, group), name) or {}
            kind, _, architecture = name.rpartition("_")
            option = f"{group}={name}" if group != "model" else f"model={architecture} ({kind})"
            for key in (key for key in content if key in content.get("rules", {})):
                rule = read_rule(f"{group}.{key}", content["rules"][key])
                default = _defaults(group, key, content[key], tasks if group != "task" else {})
                words = rule.help or "", rule.expected(), default
                found.append(Setting(f"{group}.{key}", option, *words))
    return found


def _defaults(section: str, name: str, default: Any, tasks: Mapping[str, Any]) -> str:
    """Return a default, and the defaults of tasks: `30; 40 with task=series,sunspots`."""
    by_value: dict[str, list[str]] = {}
    for task, content in tasks.items():
        value = content.get(section, {}).get(name, default)
        if value != default:
            by_value.setdefault(_text(value), []).append(task)
    others = (f"{value} with task={','.join(names)}" for value, names in by_value.items())
    return "; ".join([_text(default), *others])


def _text(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    return _REFERENCE.sub(r"\1", _DEFAULTED.sub(r"\1, else \2", value))


def explained(word: str) -> list[str]:
    """Explain a setting, an option or a group of them, a metric or a column, in lines of text.

    A setting is named by its key or the key's last part, an option such as `task=language`.

    Raises:
        RequestError: there is no such setting or term.
    """
    if not word:
        raise RequestError("KEY: expected a setting such as trainer.epochs, got an empty word.")
    group, _, chosen = word.partition("=")
    names = [name for name in options(group) if chosen in ("", name)] if group in _LISTED else []
    lines = []
    for name in names:
        description = (f"    {text}" for text in option_description(group, name))
        lines += [f"{group}={name}", *description]
    all_settings = settings() if word not in _LISTED else []
    for setting in all_settings:
        section, _, name = setting.key.partition(".")
        if word in (setting.key, name, setting.option.partition(" ")[0] or section):
            option = f"  ({setting.option})" if setting.option else ""
            values = f"{setting.expected}; default {setting.default}"
            lines += [f"{setting.key}{option}", f"    {setting.meaning}", f"    {values}"]
    if meaning := glossary.explained(word) if word not in _LISTED else []:
        lines += [f"{word}, in results", *meaning]
    if not lines:
        keys = dict.fromkeys(setting.key for setting in all_settings)
        hint = similar_key(word, [*keys, *GROUPS, *glossary.terms()])
        raise RequestError(
            f"{word}: there is no such setting, metric or column.{hint} attnlab explain lists all "
            "settings."
        )
    return lines


def markdown() -> str:
    """Return all settings as tables, one section per option: the site's page of settings."""
    lines = ["# Settings", "", "`attnlab explain KEY` says the same of one of them."]
    title = None
    for setting in settings():
        own = setting.option or "every run"
        if own != title:
            title = own
            lines += [
                "",
                f"## {own}",
                "",
                "| key | meaning | value | default |",
                "|---|---|---|---|",
            ]
        cells = (f"`{setting.key}`", setting.meaning, setting.expected, f"`{setting.default}`")
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"
