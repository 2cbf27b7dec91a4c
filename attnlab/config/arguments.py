"""Hydra's part of a command line: flags with their values, and overrides.

They are checked here, because Hydra's messages about wrong ones are long. Imports nothing heavy.
"""

from __future__ import annotations

import re
from collections import deque
from pathlib import Path

from attnlab.errors import RequestError

# Hydra's flags, and whether they take a value.
FLAGS = {
    **dict.fromkeys(["--hydra-help", "--resolve", "--run", "-r", "--multirun", "-m"], False),
    **dict.fromkeys(["--shell-completion", "-sc", "--version", "--help", "-h"], False),
    **dict.fromkeys(["--cfg", "-c", "--package", "-p", "--config-path", "-cp"], True),
    **dict.fromkeys(["--config-name", "-cn", "--config-dir", "-cd"], True),
    **{"--experimental-rerun": True, "--info": False, "-i": False},
}
_INFO = {"--info", "-i"}  # the value is optional
_INFO_VALUES = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
# Flags with a fixed set of values.
_VALUES = {
    **dict.fromkeys(["--cfg", "-c"], ("job", "hydra", "all")),
    **dict.fromkeys(_INFO, _INFO_VALUES),
}
_CONFIG_PATH = {"--config-path", "-cp"}
CONFIG_DIR = {"--config-dir", "-cd"}
# How much a run or a sweep prints: see `attnlab.records.logs`.
VERBOSITY = {"-q": -1, "--quiet": -1, "-v": 1, "--verbose": 1}


def without_config_dirs(arguments: list[str]) -> list[str]:
    """Add the folder of each `--config-dir` to the folders of options; returns the other words.

    The flag may be anywhere before a `--`, so that every command accepts it.

    Raises:
        RequestError: its value isn't a folder of options.
    """
    from attnlab.config.options import add_folder

    others: list[str] = []
    words = deque(arguments)
    while words:
        word = words.popleft()
        flag, joined, value = word.partition("=")
        if word == "--":
            return [*others, word, *words]
        if flag not in CONFIG_DIR:
            others.append(word)
            continue
        value = value if joined else words.popleft() if words else ""
        if not value:
            raise RequestError(f"{flag}: expected a value after it, got none.")
        _check_config_dir(flag, Path(value).expanduser())
        add_folder(value)
    return others


def _check_config_dir(flag: str, folder: Path) -> None:
    if not folder.is_dir():
        raise RequestError(f"{flag}: expected a folder, got {folder}.")
    from attnlab.config.sections import OPTION_GROUPS

    groups = (*OPTION_GROUPS, "data", "experiment", "search", "study")
    name = folder.resolve().name
    if name in groups and not any((folder / group).is_dir() for group in groups):
        raise RequestError(
            f"{flag}: expected the folder that contains {name}/NAME.yaml, got the folder {name} "
            f"itself. Type: {flag} {folder.resolve().parent}"
        )


def parted(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Split words into checked flags with their values, and overrides."""
    flags: list[str] = []
    overrides: list[str] = []
    words = deque(without_config_dirs(arguments))
    while words:
        word = words.popleft()
        flag, joined, value = word.partition("=")
        if not word.startswith("-"):
            overrides.append(word)
            continue
        if flag not in FLAGS:
            raise RequestError(_unknown_flag(flag))
        if not joined:
            value = _next_value(flag, words)
        if FLAGS[flag] and not value:
            raise RequestError(f"{flag}: expected a value after it, got none.")
        if flag in _VALUES and value not in _VALUES[flag]:
            raise RequestError(f"{flag}: expected one of {', '.join(_VALUES[flag])}, got {value}.")
        if flag in _CONFIG_PATH:
            flags += ["--config-path", *_config_location(value)]
        else:
            flags += [flag, value] if value else [flag]
    return flags, overrides


def _next_value(flag: str, words: deque[str]) -> str:
    """Remove and return the word after a flag if it is the flag's value; else return ""."""
    if flag in _INFO:
        is_value = bool(words) and "=" not in words[0] and not words[0].startswith(("-", "~"))
        return words.popleft() if is_value else _INFO_VALUES[0]
    return words.popleft() if FLAGS[flag] and words else ""


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


def _unknown_flag(flag: str) -> str:
    from attnlab.config.rules import did_you_mean

    known = [known for known in (*FLAGS, *VERBOSITY) if known.startswith("--")]
    hint = did_you_mean(flag, known)
    return f"{flag}: there is no such option.{hint or ' attnlab --hydra-help lists them all.'}"


def _config_location(given: str) -> list[str]:
    """Return Hydra's arguments for a saved configuration."""
    from attnlab.config.options import read_yaml

    path = Path(given).expanduser().absolute()
    file = path / "config.yaml" if path.is_dir() else path
    if not file.is_file():
        raise RequestError(f"--config-path: expected a folder or a YAML file, got {given}.")
    saved = read_yaml(file)
    if not isinstance(saved.get("task"), dict):
        raise RequestError(
            f"--config-path: expected the settings of a run, got {file}, which has no task."
        )
    for key in ("hydra", "defaults"):  # with them Hydra would load other files, or run code
        if key in saved:
            raise RequestError(
                f"--config-path: expected the settings of a run, got {file} with the key {key}, "
                "which no run saves."
            )
    return [str(file.parent), "--config-name", file.stem]
