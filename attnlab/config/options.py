"""The options of each group: YAML files, found by name, which name the option's class.

An option is `<folder>/<group>/<name>.yaml` in the shipped `conf` or in a folder of the user
(`--config-dir`, `$ATTNLAB_CONFIG_DIR`). Only these files name classes. A run folder can't, because
it may come from somebody else.
"""

from __future__ import annotations

import importlib
import itertools
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError
from attnlab.process import variable

CONFIG_DIR = "ATTNLAB_CONFIG_DIR"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the first is faster


@cache
def conf_folder() -> Path:
    """Return the folder of the shipped YAML files: in the package, or next to it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "conf", package.parent / "conf"):
        if (folder / "config.yaml").is_file():
            return folder
    raise RequestError(f"{package}: its configuration folder is missing: install attnlab again.")


def add_folder(folder: str) -> None:
    """Add a folder of options, for this process and for those that it starts."""
    known = (variable(CONFIG_DIR) or "").split(os.pathsep)
    path = str(Path(folder).expanduser().absolute())
    os.environ[CONFIG_DIR] = os.pathsep.join(dict.fromkeys([path, *filter(None, known)]))


def own_folders() -> list[Path]:
    """Return the user's folders of YAML files."""
    texts = (variable(CONFIG_DIR) or "").split(os.pathsep)
    return [Path(text).expanduser().absolute() for text in texts if text.strip()]


def how_found() -> str:
    """Explain where the user's own options are searched, and name a folder that is missing."""
    missing = [str(folder) for folder in own_folders() if not folder.is_dir()]
    but = f", but {missing[0]} is not a folder" if missing else ""
    return f"Options of your own are found by --config-dir FOLDER or ${CONFIG_DIR}{but}."


def in_prose(attention: str) -> str:
    """Return a mechanism's name for sentences: `no attention` for the option `none`."""
    return "no attention" if attention == "none" else attention


def options(group: str) -> list[str]:
    """Return the names of a group's options."""
    folders = [conf_folder(), *own_folders()]
    return sorted({path.stem for folder in folders for path in (folder / group).glob("*.yaml")})


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
    own = content.get(group.partition("/")[0], content)
    rules = own.get("rules", {}) if isinstance(own, dict) else own
    if not (isinstance(rules, dict) and all(isinstance(rule, dict) for rule in rules.values())):
        raise RequestError(f"{path}: expected a rule for each setting, {{type: int}}, got {rules}.")
    return content if whole else own


def option_description(group: str, name: str) -> list[str]:
    """Return the comment at the start of an option's file, in lines."""
    path = _option_file(group, name)
    lines = path.read_text("utf-8").splitlines() if path else []
    comments = itertools.takewhile(lambda line: line.startswith("#"), lines)
    return [line.lstrip("# ") for line in comments if not line.startswith("# @")]


def _option_file(group: str, name: Any) -> Path | None:
    if not isinstance(name, str) or not name or Path(name).name != name:
        return None
    for folder in (conf_folder(), *own_folders()):
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
    if not isinstance(name, str):
        raise RequestError(f"{group}: expected the name of one of its options, got {name}.")
    content = option_content(group, name)
    if content is None:
        hint = did_you_mean(str(name), options(group))
        raise RequestError(
            f"{group}={name}: there is no such option here.{hint} Valid: "
            f"{', '.join(options(group))}. {how_found()}"
        )
    path = str(content.get("_target_"))
    module, _, attribute = path.rpartition(".")
    # The module may be next to its YAML; modules on Python's own path have priority.
    places = [str(place) for folder in own_folders() for place in (folder / group, folder)]
    sys.path += [place for place in places if place not in sys.path]
    try:
        return getattr(importlib.import_module(module), attribute)
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
