"""The words of a command line: flags, and Hydra's overrides. Imports nothing heavy."""

from __future__ import annotations

import re
from collections import deque
from pathlib import Path
from typing import NamedTuple

from attnlab.errors import RequestError

# The flags of a run and a sweep, and their short forms.
_FLAGS = {
    **{"--multirun": "--multirun", "-m": "--multirun", "--cfg": "--cfg", "-c": "--cfg"},
    **{"--config-path": "--config-path", "-cp": "--config-path"},
}
_CONFIG_DIR = ("--config-dir", "-cd")
# How much a run or a sweep prints: see `attnlab.records.logs`.
VERBOSITY = {"-q": -1, "--quiet": -1, "-v": 1, "--verbose": 1}
FLAGS = (*_FLAGS, *_CONFIG_DIR, *VERBOSITY, "--help", "--version")


class Arguments(NamedTuple):
    """What the words of a run or a sweep request."""

    overrides: list[str]
    place: tuple[str, str] | None  # folder and name of a saved configuration
    multirun: bool
    shows: bool  # print the configuration instead of training


def without_config_dirs(arguments: list[str]) -> list[str]:
    """Add the folder of each `--config-dir` to the folders of options; returns the other words.

    The flag may be anywhere before a `--`, so that every command accepts it.

    Raises:
        RequestError: its value isn't a folder of options.
    """
    others: list[str] = []
    words = deque(arguments)
    while words:
        word = words.popleft()
        if word == "--":
            return [*others, word, *words]
        flag = word.partition("=")[0]
        if flag in _CONFIG_DIR:
            _add_config_dir(flag, _value(word, words))
        else:
            others.append(word)
    return others


def _value(word: str, words: deque[str]) -> str:
    """Return the value of a flag: after its `=`, or the next word, which is removed."""
    flag, joined, value = word.partition("=")
    value = value if joined else words.popleft() if words else ""
    if not value:
        raise RequestError(f"{flag}: expected a value after it, got none.")
    return value


def _add_config_dir(flag: str, value: str) -> None:
    from attnlab.config.options import add_folder
    from attnlab.config.sections import GROUPS

    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise RequestError(f"{flag}: expected a folder, got {folder}.")
    name = folder.resolve().name
    if name in (*GROUPS, "study") and not any((folder / group).is_dir() for group in GROUPS):
        raise RequestError(
            f"{flag}: expected the folder that contains {name}/NAME.yaml, got the folder {name} "
            f"itself. Type: {flag} {folder.resolve().parent}"
        )
    add_folder(value)


def read_arguments(arguments: list[str]) -> Arguments:
    """Split the words of a run or a sweep into flags and overrides; raises `RequestError`."""
    overrides: list[str] = []
    place, multirun, shows = None, False, False
    words = deque(without_config_dirs(arguments))
    while words:
        word = words.popleft()
        flag = _FLAGS.get(word.partition("=")[0])
        if not word.startswith("-"):
            overrides.append(word)
        elif flag == "--multirun":
            multirun = True
        elif flag == "--config-path":
            place = _saved_configuration(_value(word, words))
        elif flag == "--cfg":
            if (value := _value(word, words)) != "job":
                raise RequestError(f"{flag}: expected job, got {value}.")
            shows = True
        else:
            from attnlab.config.rules import did_you_mean

            hint = did_you_mean(word, [flag for flag in FLAGS if flag.startswith("--")])
            raise RequestError(f"{word}: there is no such option.{hint} Valid: {', '.join(FLAGS)}.")
    return Arguments(overrides, place, multirun, shows)


def _saved_configuration(value: str) -> tuple[str, str]:
    """Return folder and name of the file that `--config-path` names."""
    from attnlab.config.options import read_yaml

    path = Path(value).expanduser().absolute()
    file = path / "config.yaml" if path.is_dir() else path
    if not file.is_file():
        raise RequestError(f"--config-path: expected a folder or a YAML file, got {value}.")
    saved = read_yaml(file)
    # With the keys `hydra` or `defaults` Hydra would load other files, or run code.
    if not isinstance(saved.get("task"), dict) or {"hydra", "defaults"} & saved.keys():
        raise RequestError(
            f"--config-path: expected a run's config.yaml, which has a task, and neither hydra nor "
            f"defaults, got {file}."
        )
    return str(file.parent), file.stem


def is_hydras(override: str) -> bool:
    """Return whether an override is one of Hydra's own settings."""
    return override.startswith(("hydra.", "hydra/"))


def quoted(text: str) -> str:
    """Quote a text so that Hydra's grammar reads it unchanged."""
    # Backslashes are plain characters, except before a quote.
    return "'" + re.sub(r"(\\*)('|$)", lambda m: m[1] * 2 + (m[2] and "\\'"), text) + "'"


def key_of(override: str) -> str:
    """Return the key of an override, without Hydra's `+`, `++` or `~`."""
    return override.lstrip("+~").partition("=")[0]


def refuse_class(override: str) -> None:
    """Raise `RequestError` if an override names a class by its path."""
    if key_of(override).endswith("._target_"):
        group = key_of(override).partition(".")[0]
        raise RequestError(
            f"{override}: a class can't be set: {group}=NAME chooses it, by the file "
            f"{group}/NAME.yaml, which is shipped or in the folder of --config-dir."
        )
