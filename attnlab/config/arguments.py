"""The words of a command line: flags, and Hydra's overrides. Imports nothing heavy."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import NamedTuple, NoReturn

from attnlab.errors import RequestError

# How much a run or a sweep prints: see `attnlab.records.logs`.
VERBOSITY = {"-q": -1, "--quiet": -1, "-v": 1, "--verbose": 1}
FLAGS = (
    *("--multirun", "-m", "--cfg", "-c", "--config-path", "-cp", "--config-dir"),
    *("--help", "--version", *VERBOSITY),
)


class Arguments(NamedTuple):
    """What the words of a run or a sweep request."""

    overrides: list[str]
    place: tuple[str, str] | None  # folder and name of a saved configuration
    multirun: bool
    shows: bool  # print the configuration instead of training


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise RequestError(f"{message}. Valid options: {', '.join(FLAGS)}.")


def without_config_dirs(arguments: list[str]) -> list[str]:
    """Add the folder of each `--config-dir` to the folders of options; returns the other words.

    The flag may be anywhere before a `--`, so that every command accepts it.

    Raises:
        RequestError: its value isn't a folder.
    """
    from attnlab.config.options import add_folder

    end = arguments.index("--") if "--" in arguments else len(arguments)
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config-dir", action="append", default=[])
    parsed, others = parser.parse_known_args(arguments[:end])
    for folder in parsed.config_dir:
        if not Path(folder).expanduser().is_dir():
            raise RequestError(f"--config-dir: expected a folder, got {folder}.")
        add_folder(folder)
    return [*others, *arguments[end:]]


def read_arguments(arguments: list[str]) -> Arguments:
    """Split the words of a run or a sweep into flags and overrides; raises `RequestError`."""
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--multirun", "-m", action="store_true")
    parser.add_argument("--cfg", "-c", choices=["job"])
    parser.add_argument("--config-path", "-cp")
    parser.add_argument("overrides", nargs="*")
    parsed = parser.parse_intermixed_args(without_config_dirs(arguments))
    place = None if parsed.config_path is None else _saved_configuration(parsed.config_path)
    return Arguments(parsed.overrides, place, parsed.multirun, shows=parsed.cfg is not None)


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
