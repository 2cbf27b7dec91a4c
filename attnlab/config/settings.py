"""All settings with their meaning, valid values and defaults."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from attnlab.config import glossary
from attnlab.config.options import option_content, option_description, options
from attnlab.config.rules import read_rule, similar_key
from attnlab.config.sections import OPTION_GROUPS, SECTIONS, SEED_RULE, SearchConfig, SweepConfig
from attnlab.errors import RequestError

GROUPS = (*OPTION_GROUPS, "data")
_PRESETS = ("experiment", "search")
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
    found = [Setting("seed", "", SEED_RULE.help or "", SEED_RULE.expected(), "0")]
    for section, cls in {**SECTIONS, "sweep": SweepConfig, "search": SearchConfig}.items():
        for field in dataclasses.fields(cls):
            key, rule = f"{section}.{field.name}", field.metadata["rule"]
            default = _defaults(section, field.name, field.default)
            found.append(Setting(key, "", rule.help, rule.expected(), default))
    for group in GROUPS:
        for name in options(_FILES.get(group, group)):
            found += _of_option(group, name)
    return found


def _of_option(group: str, name: str) -> Iterator[Setting]:
    content = option_content(_FILES.get(group, group), name) or {}
    kind, _, architecture = name.rpartition("_")
    option = f"{group}={name}" if group != "model" else f"model={architecture} ({kind})"
    for key, value in content.items():
        if key in content.get("rules", {}) and key != "name":
            rule = read_rule(f"{group}.{key}", content["rules"][key])
            default = _defaults(group, key, value)
            yield Setting(f"{group}.{key}", option, rule.help or "", rule.expected(), default)


def _defaults(section: str, name: str, default: Any) -> str:
    """Return a default, and the defaults of tasks: `30; 40 with task=series,sunspots`."""
    found: dict[str, list[str]] = {}
    for task in options("task") if section != "task" else ():
        own: Mapping[str, Any] = option_content("task", task, whole=True) or {}
        value = own.get(section, {}).get(name, default)
        if value != default:
            found.setdefault(_text(value), []).append(task)
    others = (f"{value} with task={','.join(tasks)}" for value, tasks in found.items())
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
    if word in (*GROUPS, *_PRESETS):
        return [line for name in options(word) for line in _described(word, name)]
    group, _, chosen = word.partition("=")
    option = _described(group, chosen) if chosen and chosen in options(group) else []
    known = settings()
    found = [each for each in known if word in _names(each)]
    meaning = glossary.explained(word)
    if not (found or meaning or option):
        keys = list(dict.fromkeys(setting.key for setting in known))
        hint = similar_key(word, [*keys, *GROUPS, *glossary.terms()])
        raise RequestError(
            f"{word}: there is no such setting, metric or column.{hint} attnlab explain lists all "
            "settings."
        )
    lines = option + [line for setting in found for line in _lines(setting)]
    return lines + ([f"{word}, in results", *meaning] if meaning else [])


def _described(group: str, name: str) -> list[str]:
    """Return an option and its description in lines."""
    return [f"{group}={name}", *(f"    {text}" for text in option_description(group, name))]


def _names(setting: Setting) -> tuple[str, ...]:
    """Return what `explained` knows a setting by."""
    section, _, name = setting.key.partition(".")
    option = setting.option.partition(" ")[0]
    return setting.key, name, option or section


def _lines(setting: Setting) -> list[str]:
    option = f"  ({setting.option})" if setting.option else ""
    return [
        f"{setting.key}{option}",
        f"    {setting.meaning}",
        f"    {setting.expected}; default {setting.default}",
    ]


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
