"""The words of a command line, and the YAML files of options that they choose by name.

An option is `<folder>/<group>/<name>.yaml` in the shipped `conf` or in a folder of the user
(`--config-dir`, `$ATTNLAB_CONFIG_DIR`). Its file names the option's class. Only these files name
classes. A run folder can't, because it may come from somebody else.
"""

from __future__ import annotations

import argparse
import itertools
import os
import pkgutil
import re
import sys
import traceback
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import yaml

from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError, plain_text

# How much a run or a sweep prints: see `attnlab.records.logs`.
VERBOSITY = {"-q": -1, "--quiet": -1, "-v": 1, "--verbose": 1}
FLAGS = (
    *("--multirun", "-m", "--cfg", "-c", "--config-path", "-cp", "--config-dir"),
    *("--help", "--version", *VERBOSITY),
)
CONFIG_DIR = "ATTNLAB_CONFIG_DIR"
# What an option's file has besides settings: rules, its class, a task's kind and its model for
# some mechanisms (`model=auto`), and the function that completes a configuration with a model.
NOT_SETTINGS = ("rules", "_target_", "kind", "architectures", "completed_by")
PLAIN = "plain"  # the model settings of kinds without files of their own
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the first is faster


@cache
def conf_folder() -> Path:
    """Return the folder of the shipped YAML files: in the package, or next to it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    folder = package / "conf"
    return folder if folder.is_dir() else package.parent / "conf"


def user_folders() -> list[Path]:
    """Return the user's folders of YAML files."""
    texts = os.environ.get(CONFIG_DIR, "").split(os.pathsep)
    return [Path(text).expanduser().absolute() for text in texts if text.strip()]


def in_prose(attention: str) -> str:
    """Return a mechanism's name for sentences: `no attention` for the option `none`."""
    return "no attention" if attention == "none" else attention


def options(group: str) -> list[str]:
    """Return the names of a group's options."""
    folders = [conf_folder(), *user_folders()]
    return sorted({path.stem for folder in folders for path in (folder / group).glob("*.yaml")})


def no_such_option(group: str, name: str, valid: list[str]) -> str:
    """Return the message for a name that is no option of a group."""
    hint = did_you_mean(name, valid)
    return (
        f"{group}={name}: there is no such option.{hint} Valid: {', '.join(valid)}. Options of "
        f"your own are found by --config-dir FOLDER or ${CONFIG_DIR}."
    )


def section_rules(section: str) -> dict[str, Any]:
    """Return the rules of `seed`, or of a section such as `trainer`, by setting."""
    return read_yaml(conf_folder() / "rules.yaml")[section]


def option_content(group: str, name: Any, whole: bool = False) -> dict[str, Any] | None:
    """Return the part of an option's file about its group; None if there is no such option.

    With `whole` return the entire content.

    Raises:
        RequestError: the file can't be read, isn't YAML, or its rules are invalid.
    """
    path = _option_file(group, name)
    if path is None:
        return None
    content = read_yaml(path)
    settings = content.get(group.partition("/")[0], content)
    rules = settings.get("rules", {}) if isinstance(settings, dict) else settings
    if not (isinstance(rules, dict) and all(isinstance(rule, dict) for rule in rules.values())):
        raise RequestError(f"{path}: expected a rule for each setting, {{type: int}}, got {rules}.")
    return content if whole else settings


def option_settings(group: str, name: str) -> dict[str, Any]:
    """Return the settings of an option with their defaults; {} if there is no such option."""
    content = option_content(group, name) or {}
    return {key: content[key] for key in content if key not in ("name", *NOT_SETTINGS)}


def option_description(group: str, name: str) -> list[str]:
    """Return the comment at the start of an option's file, in lines."""
    path = _option_file(group, name)
    lines = path.read_text("utf-8").splitlines() if path else []
    comments = itertools.takewhile(lambda line: line.startswith("#"), lines)
    return [line.lstrip("# ") for line in comments if not line.startswith("# @")]


def model_settings(task: str, attention: str, model: str) -> str:
    """Return the name of the file in conf/model/settings for a task, a mechanism and a model."""
    content = option_content("task", task) or {}
    kind = content.get("kind")
    if model == "auto":
        model = content.get("architectures", {}).get(attention, "rnn")
    has_files = any(name.startswith(f"{kind}_") for name in options("model/settings"))
    return f"{kind}_{model}" if has_files else PLAIN


def _option_file(group: str, name: Any) -> Path | None:
    if not isinstance(name, str) or not name or Path(name).name != name:
        return None
    for folder in (conf_folder(), *user_folders()):
        path = folder / group / f"{name}.yaml"
        if os.path.isfile(path):  # raises no error for long names
            return path
    return None


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the cached content of a YAML file; callers must not change it.

    Raises:
        RequestError: the file can't be read, or isn't a mapping.
    """
    return _read(path, path.stat().st_mtime_ns)


@cache
def _read(path: Path, changed: int) -> dict[str, Any]:
    try:
        content = yaml.load(path.read_text("utf-8"), Loader=_LOADER) or {}
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise RequestError(f"{path}: can't be read: {' '.join(str(error).split())}.") from error
    if not isinstance(content, dict):
        raise RequestError(f"{path}: expected settings, KEY: VALUE, got {content!r}.")
    return content


def option_class(group: str, name: Any) -> type:
    """Return the class that an option's file names as its `_target_`.

    Raises:
        RequestError: there is no such option, or no such class.
    """
    content = option_content(group, name)
    if content is None:
        raise RequestError(no_such_option(group, str(name), options(group)))
    path = str(content.get("_target_"))
    # The module may be next to its YAML; modules on Python's own path have priority.
    places = [str(place) for folder in user_folders() for place in (folder / group, folder)]
    sys.path += [place for place in places if place not in sys.path]
    try:
        return pkgutil.resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise RequestError(
            f"{group}={name}: the _target_ in its file, {path}, can't be imported ({error})."
        ) from error


def follows(attention: Any, key: str, value: Any) -> bool:
    """Return whether a setting has the only value that the mechanism allows for `auto`.

    For example, `none` has no context to read, so `model.readout` is `state`.
    """
    rule = (option_content("attention", attention) or {}).get("rules", {}).get(key, {})
    return "auto" in rule and rule.get("choices") == [value]


def failure(error: BaseException) -> str:
    """Describe an error in one line, with file and line if it is in the user's own code.

    For example `TypeError: ...` or `mine.py, line 7, in score: TypeError: ...`.
    """
    text = plain_text(error)
    words = f"{type(error).__name__}: {text}" if text else type(error).__name__
    for frame in reversed(traceback.extract_tb(error.__traceback__)):  # the innermost first
        if any(folder in Path(frame.filename).parents for folder in user_folders()):
            return f"{frame.filename}, line {frame.lineno}, in {frame.name}: {words}"
    return words


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
    end = arguments.index("--") if "--" in arguments else len(arguments)
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config-dir", action="append", default=[])
    parsed, others = parser.parse_known_args(arguments[:end])
    for folder in parsed.config_dir:
        if not Path(folder).expanduser().is_dir():
            raise RequestError(f"--config-dir: expected a folder, got {folder}.")
        folders = dict.fromkeys([Path(folder).expanduser().absolute(), *user_folders()])
        os.environ[CONFIG_DIR] = os.pathsep.join(map(str, folders))  # also of child processes
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
