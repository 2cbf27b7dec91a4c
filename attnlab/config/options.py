"""The options of each group: YAML files, found by name, which name the option's class.

An option is `<folder>/<group>/<name>.yaml` in the shipped `conf` or in a folder of the user
(`--config-dir`, `$ATTNLAB_CONFIG_DIR`). Only these files name classes. A run folder can't, because
it may come from somebody else.
"""

from __future__ import annotations

import itertools
import os
import pkgutil
import sys
import traceback
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError, plain_text

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


def add_folder(folder: str | Path) -> None:
    """Add a folder of options, for this process and for those that it starts."""
    folders = dict.fromkeys([Path(folder).expanduser().absolute(), *user_folders()])
    os.environ[CONFIG_DIR] = os.pathsep.join(map(str, folders))


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
