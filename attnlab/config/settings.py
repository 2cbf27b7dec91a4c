"""What `attnlab --help` and `attnlab explain` print: options, all settings, and the glossary."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from attnlab.config.options import (
    option_content,
    option_description,
    option_settings,
    options,
    section_rules,
)
from attnlab.config.rules import did_you_mean, read_rule
from attnlab.config.sections import GROUPS, OPTION_GROUPS, SECTIONS, SearchConfig, SweepConfig
from attnlab.errors import RequestError


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
    rows: list[Setting] = []

    def add(key: str, option: str, mapping: Mapping[str, Any], default: Any) -> None:
        rule, (section, _, name) = read_rule(key, mapping), key.partition(".")
        by_value: dict[str, list[str]] = {}
        for task, content in tasks.items() if section != "task" else ():
            value = content.get(section, {}).get(name, default) if name else default
            if value != default:
                by_value.setdefault(_text(value), []).append(task)
        others = (f"{value} with task={','.join(names)}" for value, names in by_value.items())
        defaults = "; ".join([_text(default), *others])
        rows.append(Setting(key, option, rule.help or "", rule.expected(), defaults))

    add("seed", "", section_rules("seed"), 0)
    for section, cls in {**SECTIONS, "sweep": SweepConfig, "search": SearchConfig}.items():
        for name, mapping in section_rules(section).items():
            add(f"{section}.{name}", "", mapping, getattr(cls, name))
    for group in (*OPTION_GROUPS, "data"):
        folder = "model/settings" if group == "model" else group
        for name in options(folder):
            rules = (option_content(folder, name) or {}).get("rules", {})
            kind, _, architecture = name.rpartition("_")
            option = f"{group}={name}" if group != "model" else f"model={architecture} ({kind})"
            for key, default in option_settings(folder, name).items():
                add(f"{group}.{key}", option, rules.get(key, {}), default)
    return rows


def _text(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    return re.sub(r"\$\{(?:oc\.select:)?([^}]+)\}", r"\1", value)  # the value of another setting


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


def similar_key(word: str) -> str:
    """Return ` Did you mean KEY?` for a wrong key: by its last part, by an alias, or by spelling.

    Empty if there is no such key.
    """
    keys = [*dict.fromkeys(setting.key for setting in settings()), *GROUPS]
    leaf = word.rpartition(".")[2]
    matches = [key for key in keys if key.rpartition(".")[2] == leaf]
    if not matches and leaf in _ALIASES:
        matches = [_ALIASES[leaf]]
    return f" Did you mean {' or '.join(matches)}?" if matches else did_you_mean(word, keys)


@cache
def _glossary() -> dict[str, list[str]]:
    """Read docs/reference/glossary.md: the paragraphs of each term."""
    package = Path(__file__).resolve().parents[1]
    file = package / "glossary.md"  # of an installed package, else of a checkout
    file = file if file.is_file() else package.parent / "docs/reference/glossary.md"
    paragraphs: dict[str, list[str]] = {}
    _, *pieces = re.split(r"\*\*(.+?)\*\*", file.read_text(encoding="utf-8"))
    for terms, text in zip(pieces[::2], pieces[1::2], strict=True):
        text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", (terms + text).partition("\n\n")[0])
        for term in re.split(r", |; | and ", terms):
            paragraph = " ".join(text.replace("*", "").split())
            paragraphs.setdefault(_plain(term), []).append(paragraph)
    return paragraphs


def _plain(word: str) -> str:
    """Normalise a term: lower case, spaces for `_`, without the split's name and the level."""
    return re.sub(r"^(test|val|train|95 %) ", "", word.lower().replace("_", " ").strip())


def term(word: str) -> list[str]:
    """Return what the glossary says about a metric or a column, a text for each of its meanings."""
    return _glossary().get(_plain(word), [])


def explained(word: str) -> list[str]:
    """Explain a setting, an option or a group of them, a metric or a column, in lines of text.

    A setting is named by its key, an option such as `task=language`. The last part of a key stands
    for all settings that have it, unless the word has another meaning.

    Raises:
        RequestError: there is no such setting or term.
    """
    group, _, option = word.partition("=")
    lines = []
    for name in options(group) if group in GROUPS else ():
        if option in ("", name):
            description = (f"    {text}" for text in option_description(group, name))
            lines += [f"{group}={name}", *description]
    if word in GROUPS:
        return lines
    meanings, rows = term(word), settings()
    owners = [row.option.partition(" ")[0] or row.key.partition(".")[0] for row in rows]
    exact = [row for row, owner in zip(rows, owners, strict=True) if word in (row.key, owner)]
    named = [row for row in rows if word and row.key.partition(".")[2] == word]
    for setting in exact if exact or meanings else named:
        where = f"  ({setting.option})" if setting.option else ""
        values = f"{setting.expected}; default {setting.default}"
        lines += [f"{setting.key}{where}", f"    {setting.meaning}", f"    {values}"]
    if meanings:
        lines += [f"{word}, in results", *(f"    {meaning}" for meaning in meanings)]
    if named and (exact or meanings):
        lines.append(f"settings with this name: {', '.join(dict.fromkeys(s.key for s in named))}")
    if not lines:
        raise RequestError(
            f"{word}: there is no such setting, metric or column.{similar_key(word)} attnlab "
            "explain lists all settings."
        )
    return lines


_OVERVIEW = """\
attnlab: train attention mechanisms, see where they look, compare them fairly.

  attnlab task=fib attention=bahdanau                              one run
  attnlab -m task=sunspots attention=none,bahdanau seed=0,1,2,3,4  a sweep
  attnlab compare                                                  is it luck?
  attnlab task=translate attention=bahdanau                        and after it:
  attnlab translate latest "The old dog sleeps." --attention map.png

{names}

A run is OPTION=NAME and KEY=VALUE, such as attention=luong_local
attention.window=6 trainer.epochs=50; -q prints its folder only, -v details.
attnlab COMMAND --help: a command. attnlab explain: all settings; explain KEY:
one of them; explain attention (task, model, data, experiment): the options."""


def overview(verbs: Mapping[str, str]) -> str:
    """Return the first screen; `verbs` have the purpose of each command, empty if not shown."""
    names: dict[str, list[str]] = {"Train": ["train"], "Look": []}
    for verb, purpose in verbs.items():
        names.setdefault(purpose, []).append(verb)
    names |= {"Tasks": options("task"), "Mechanisms": options("attention")}
    return _OVERVIEW.format(
        names="\n".join(
            textwrap.fill(f"{title:<11} {', '.join(words)}", 80, subsequent_indent=" " * 12)
            for title, words in names.items()
            if title
        )
    )
