"""Commands as they were meant, for those who type what another library or shell would take.

`command_hint` is called after a command was refused: nothing here slows a right one.
"""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from attnlab.config.arguments import FLAGS, VERBOSITY, is_hydras
from attnlab.config.composing import known_rules
from attnlab.config.options import option_content, options, read_yaml
from attnlab.config.rules import Rule, nearest
from attnlab.config.sections import OPTION_GROUPS

GROUPS = (*OPTION_GROUPS, "data", "experiment", "search")
_SWEEP = {"-m", "--multirun"}
_SPACES = 'settings have no spaces around "=" or after a comma'
_SEVERAL = re.compile(r"(range|choice|interval|glob|sort|shuffle)\(.*\)")
_NUMBER = re.compile(r"-?[\d.]+(e-?\d+)?")
_FROM_TO = re.compile(r"(\d+)(?:\.\.\.?|-|:)(\d+)")  # `0..4`
_DECIMAL_COMMA = re.compile(r"-?(0,\d+|\d+,0\d*)")
_FILES = {".csv", ".tsv", ".txt", ".xlsx", ".xls"}
# Options that are preferred if several have a setting.
_OWNERS = ("sunspots", "sgd", "multi_head")
# Types of a value that has no comma in it.
_NO_TEXT = ("int", "float", "bool")


class _Typed(NamedTuple):
    """One setting of a command, typed as one or more words."""

    text: str  # as it was typed, for the message
    key: str  # empty if only a value was typed
    value: str
    wrong: str = ""  # what is wrong with the spelling


@dataclass
class _Meant:
    """A command with its corrections so far."""

    flags: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    reason: str = ""  # about the first wrong word

    def blame(self, reason: str) -> None:
        """Store a reason, unless there is an earlier one."""
        self.reason = self.reason or reason


class _Unclear(Exception):
    """The intention of a word can't be guessed."""


def command_hint(arguments: Sequence[str]) -> str | None:
    """Explain what is wrong with a command, and return the corrected command.

    Args:
        arguments: those of a run or a sweep, after `attnlab`.

    Returns:
        A sentence and a command to paste; None if the words are right, or can't be guessed.
    """
    words = [*arguments[1:]] if arguments[:1] == ["train"] else [*arguments]
    if any(word.partition("=")[0] in ("--config-path", "-cp") for word in words):
        return None  # its settings are those of a saved run
    try:
        meant = _meant(words)
    except _Unclear:
        return None
    if not meant.reason:
        return None
    command = shlex.join(["attnlab", *meant.flags, *meant.settings])
    return f"{meant.reason}. Type: {command}" if meant.settings else f"{meant.reason}."


def verb_hint(arguments: Sequence[str]) -> str | None:
    """Return a hint if the first word is a command's name in other tools, such as `eval`."""
    verb = _inverted("commands").get(arguments[0].casefold())
    if verb is None:
        return None
    rest = [*arguments[1:]]
    if verb in ("train", "-m"):
        words = rest if verb == "train" else [verb, *rest]
        if hint := command_hint(words):
            return hint
        verb, rest = "", words or ["KEY=VALUE", "..."]
    command = shlex.join(["attnlab", *verb.split(), *rest])
    return f"{arguments[0]}: there is no such command. Type: {command}"


def other_name(word: str) -> str | None:
    """Return the setting or group for another tool's name: `optimizer.learning_rate` for `lr`."""
    return _inverted("keys").get(_plain(word.rpartition(".")[2]))


def _meant(words: list[str]) -> _Meant:
    found = _Meant()
    typed = []
    for each in _joined(deque(words), found.flags):
        typed.append(each)
    groups = [_option(each, found) for each in typed]
    chosen = [word for words in groups for word in words]
    if of := _missing_task(chosen):
        found.blame(f"data: goes with {of}")
        found.settings.append(of)
        chosen.append(of)
    rules = known_rules(chosen)
    for each, own in zip(typed, groups, strict=True):
        found.settings += own or _setting(each, chosen, rules, found)
    for path, reason in _too_much(chosen, rules):
        if f"~{path}" not in found.settings:
            found.blame(reason)
            found.settings.append(f"~{path}")
    several = [word for word in found.settings if _has_several(word, rules)]
    if several and not _SWEEP & {*found.flags}:
        found.blame(f"{several[0]}: several values need -m")
        found.flags.insert(0, "-m")
    return found


def _joined(words: deque[str], flags: list[str]) -> Iterator[_Typed]:
    """Yield the settings of a command, joined if spaces or dashes have split them."""
    last = ""  # the key of the previous setting
    while words:
        word = words.popleft()
        key, equals, value = word.partition("=")
        if key in FLAGS or word in VERBOSITY:
            flags += [word, words.popleft()] if FLAGS.get(key) and not equals and words else [word]
        elif word.startswith("-"):
            yield _dashed(word, words)
        elif word.startswith(("+", "~")) or is_hydras(word):
            yield _Typed(word, word, "")
        elif not equals and words and words[0].startswith("="):
            rest = words.popleft().lstrip("=") or (words.popleft() if words else "")
            yield _Typed(word, key, _whole(rest, words), _SPACES)
        elif equals and key:
            whole, wrong = _whole(value.lstrip("="), words), ""
            if whole != value:
                wrong = 'one "=" is enough' if value[:1] == "=" else _SPACES
            while words and _is_another(key, whole, words[0]):
                whole, wrong = f"{whole},{words.popleft()}", "several values have commas between"
            yield _Typed(word, key, whole, wrong)
        elif "." in last:  # the rest of a text with spaces, such as a file name
            raise _Unclear
        else:
            yield _bare(word, words)
        last = key if equals else ""


def _dashed(word: str, words: deque[str]) -> _Typed:
    flag, equals, value = word.partition("=")
    if not equals:
        value = words.popleft() if words and _is_value(words[0]) else "true"
    name = flag.lstrip("-")
    if name.startswith(("no-", "no_")) and value == "true":
        name, value = name[3:], "false"
    return _Typed(flag, name, _whole(value, words), "settings have no dashes")


def _bare(word: str, words: deque[str]) -> _Typed:
    """Read a word without "=": `attention: bahdanau`, `epochs 5`, or only a value: `sunspots`."""
    key, colon, value = word.partition(":")
    if colon and _is_a_key(key) and (value or words):
        return _Typed(word, key, _whole(value, words), "expected KEY=VALUE")
    if _is_a_key(word) and words and _is_value(words[0]):
        return _Typed(word, word, _whole(words.popleft(), words), "expected KEY=VALUE")
    return _Typed(word, "", word, "expected KEY=VALUE")


def _whole(value: str, words: deque[str]) -> str:
    """Join a value with the words that belong to it: `none, bahdanau` and `none , bahdanau`."""
    while words and _is_value(words[0]):
        if value and not value.endswith(",") and not words[0].startswith(","):
            break
        value += words.popleft()
    return value.rstrip(",")


def _is_value(word: str) -> bool:
    return "=" not in word and (not word.startswith("-") or word[1:2].isdigit())


def _is_another(key: str, value: str, word: str) -> bool:
    """Return whether a word after KEY=VALUE is another value of the key, as in `seed=0 1 2`."""
    if key in GROUPS:
        return word in options(key)
    return bool(_NUMBER.fullmatch(word) and _NUMBER.fullmatch(value.rpartition(",")[2]))


def _is_a_key(word: str) -> bool:
    leaf = _plain(word.rpartition(".")[2])
    here = {key.rpartition(".")[2] for key in _table()["keys"]}
    return leaf in here or leaf in _inverted("keys") or leaf in _advice()


def _plain(word: str) -> str:
    return word.replace("-", "_").replace(" ", "_").casefold()


# Groups and their options


def _option(typed: _Typed, found: _Meant) -> list[str]:
    """Return the words that choose an option; empty for a setting. Raises `_Unclear`."""
    if not typed.key:
        found.blame(f"{typed.text}: {typed.wrong}")
        return _alone(typed.value)
    leaf = _plain(typed.key.rpartition(".")[2])
    group = leaf if leaf in GROUPS else _inverted("keys").get(leaf, "")
    if group not in GROUPS or ("." in typed.key and leaf != group):
        return []
    if group == "data" and not set(_parts(typed.value)) <= {*options(group)}:
        meant = _alone(typed.value, (False,) if leaf == group else (False, True))
        found.blame(f"{typed.text}: {typed.wrong or 'the task decides what the data are'}")
        return meant
    _blame_key(typed, group, found)
    words = _words(group, typed.value, found)
    if words is None:
        raise _Unclear
    return words


def _missing_task(chosen: list[str]) -> str | None:
    """Return the task for a corpus that was chosen without a task."""
    groups = dict(word.split("=", 1) for word in chosen)
    if "data" not in groups or {"task", "experiment"} & groups.keys():
        return None
    content = option_content("data", groups["data"]) or {"rules": {}}
    return f"task={content['rules']['task.name']['choices'][0]}" if content["rules"] else None


def _too_much(chosen: list[str], rules: Mapping[str, Rule]) -> Iterator[tuple[str, str]]:
    """Yield the settings of an experiment that another option doesn't have, each with a reason."""
    words = dict(word.split("=", 1) for word in chosen)
    preset = words.get("experiment", "")
    content = option_content("experiment", preset) or {}
    for group in OPTION_GROUPS:
        option = f"{group}={words.get(group)}"
        for path in (f"{group}.{key}" for key in content.get(group, {})):
            if group in words and path not in rules:
                yield path, f"experiment={preset} sets {path}, which {option} doesn't have"


def _alone(value: str, with_typos: Sequence[bool] = (False, True)) -> list[str]:
    """Return the option or file that a word without a key means; raises `_Unclear`."""
    if Path(value).suffix.lower() in _FILES:
        return ["task=series", f"task.path={value}"]
    for typos in with_typos:
        for group in GROUPS:
            if words := _words(group, value, typos=typos):
                return words
    raise _Unclear


def _words(
    group: str, value: str, found: _Meant | None = None, typos: bool = True
) -> list[str] | None:
    """Return `GROUP=NAME` with corrected names, and settings that other names imply."""
    known, names, extra = options(group), list[str](), list[str]()
    if value[:1] == "[" and found:
        found.blame(f"{group}={value}: several values need -m and no brackets")
    for part in _parts(value.strip("[]")):
        name, _, more = _known_value(group, part, known).partition(" ")
        if name not in known:
            name = (nearest(part, known) if typos else None) or ""
        elif name != part and found:
            found.blame(f"{group}={value}: there is no such option")
        names.append(name)
        extra += [more] if more and more not in extra else []
    return [f"{group}={','.join(names)}", *extra] if all(names) else None


def _known_value(key: str, value: str, known: Sequence[Any]) -> str:
    """Return a value in attnlab's spelling; unchanged if nothing matches."""
    if value in known:
        return value
    plain = _plain(value)
    others = _inverted("values", key)
    here = {_plain(str(each)): str(each) for each in known}
    return here.get(plain) or others.get(value.casefold()) or others.get(plain, value)


# Settings


def _setting(typed: _Typed, chosen: list[str], rules: dict[str, Rule], found: _Meant) -> list[str]:
    """Return the words for a setting with its corrected name; raises `_Unclear`."""
    if not typed.value and typed.key[:1] in "+~h":
        return [typed.text]
    leaf = _plain(typed.key.rpartition(".")[2])
    if typed.key not in rules and leaf in _advice():
        found.blame(
            f"{typed.text.partition('=')[0]}: there is no such setting: "
            f"{_advice()[leaf].replace('{value}', typed.value)}"
        )
        return []
    key, is_typo = _known_key(typed.key, rules)
    owner = [] if key in rules else _owner(key, chosen)
    _blame_key(typed, typed.key if is_typo else key, found)
    rule = rules.get(key) or known_rules([*chosen, *owner]).get(key, Rule())
    return [*owner, f"{key}={_value(key, typed.value, rule, found)}"]


def _value(key: str, value: str, rule: Rule, found: _Meant) -> str:
    """Return a setting's value in attnlab's spelling."""
    if rule.type == "int" and (ends := _FROM_TO.fullmatch(value)):
        found.blame(f"{key}={value}: several values are typed as range(FROM,END)")
        return f"range({ends[1]},{int(ends[2]) + 1})"
    if rule.type == "float" and _DECIMAL_COMMA.fullmatch(value):
        found.blame(f"{key}={value}: numbers have a decimal point")
        return value.replace(",", ".")
    if rule.type in _NO_TEXT and value[:1] == "[" and value[-1:] == "]":
        found.blame(f"{key}={value}: several values need -m and no brackets")
        value = value[1:-1].replace(" ", "")
    if rule.choices is None and key not in _table()["values"]:
        return value
    parts = [_known_value(key, part, rule.choices or ()) for part in _parts(value)]
    if parts != _parts(value):
        found.blame(f"{key}: expected {rule.expected()}, got {value}")
    return ",".join(parts)


def _blame_key(typed: _Typed, key: str, found: _Meant) -> None:
    if typed.wrong:
        found.blame(f"{typed.text}: {typed.wrong}")
    if typed.key != key:
        found.blame(f"{typed.key}: there is no such setting: it is {key} here")


def _known_key(typed: str, rules: dict[str, Rule]) -> tuple[str, bool]:
    """Return a setting's full key, and whether it was misspelled; raises `_Unclear`."""
    key = typed.replace("-", "_").casefold()
    leaf = key.rpartition(".")[2]
    if key in rules:
        return key, False
    if name := _inverted("keys").get(leaf):
        return name, False
    here = [known for known in rules if known.rpartition(".")[2] == leaf]
    table = [known for known in _table()["keys"] if known.rpartition(".")[2] == leaf]
    if len(here) == 1 or table:
        return (table or here)[0], False
    if near := nearest(key, [*rules]):
        return near, True
    raise _Unclear


def _owner(key: str, chosen: list[str]) -> list[str]:
    """Return the word for an option with a setting, if the user chose none of its group."""
    group = key.partition(".")[0]
    if group not in GROUPS or any(word.startswith(f"{group}=") for word in chosen):
        raise _Unclear
    for name in [*_OWNERS, *options(group)]:
        if name in options(group) and key in known_rules([*chosen, f"{group}={name}"]):
            return [f"{group}={name}"]
    raise _Unclear


def _has_several(word: str, rules: dict[str, Rule]) -> bool:
    key, _, value = word.partition("=")
    rule = rules.get(key)
    one_word = rule is not None and (rule.choices is not None or rule.type in _NO_TEXT)
    if key not in GROUPS and not one_word:
        return False
    return len(_parts(value)) > 1 or bool(_SEVERAL.fullmatch(value))


def _parts(value: str) -> list[str]:
    """Split a value at commas, without the spaces around them."""
    if value[:1] in ("[", "{", "'", '"') or _SEVERAL.fullmatch(value):
        return [value]
    return [part.strip() for part in value.split(",")]


# The table


def _table() -> dict[str, Any]:
    return read_yaml(Path(__file__).with_name("synonyms.yaml"))


@cache
def _inverted(section: str, key: str | None = None) -> dict[str, str]:
    """Return attnlab's name by other name."""
    names = _table()[section] if key is None else _table()["values"].get(key, {})
    return {str(other): name for name, others in names.items() for other in others}


@cache
def _advice() -> dict[str, str]:
    """Return what to do by name of something that is not a setting."""
    entries = _table()["no_settings"]
    return {name: entry["advice"] for entry in entries for name in entry["names"]}
