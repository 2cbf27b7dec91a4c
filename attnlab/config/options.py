"""The options of each group: YAML files, found by name, that say which class an option is.

An option is `<folder>/<group>/<name>.yaml` in the shipped `conf`, in a folder of the user's
(`--config-dir`, `$ATTNLAB_CONFIG_DIR`), or in one that an installed package names by an entry point
of the group `attnlab.config`. Only these files name classes: what a run folder says of them is not
believed, for a run folder may come from somebody else.
"""

from __future__ import annotations

import importlib
import itertools
import os
import sys
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import yaml

from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError
from attnlab.process import variable

CONFIG_DIR = "ATTNLAB_CONFIG_DIR"
_ENTRY_POINTS = "attnlab.config"


@cache
def conf_folder() -> Path:
    """The folder of the shipped YAML files: in an installed package, next to it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "conf", package.parent / "conf"):
        if (folder / "config.yaml").is_file():
            return folder
    raise RequestError(f"The configuration folder is missing beside {package}: install again.")


def add_folder(folder: str) -> None:
    """Look for options in one more folder, in this process and in those that it starts."""
    known = (variable(CONFIG_DIR) or "").split(os.pathsep)
    path = str(Path(folder).expanduser().absolute())
    os.environ[CONFIG_DIR] = os.pathsep.join(dict.fromkeys([path, *filter(None, known)]))


def own_folders() -> list[Path]:
    """The user's folders of YAML files, and those of installed packages."""
    given = (variable(CONFIG_DIR) or "").split(os.pathsep)
    return [Path(text).expanduser().absolute() for text in given if text.strip()] + _installed()


def how_found() -> str:
    """How an option of the user's own is found, and the folder that is set but isn't there."""
    missing = [str(folder) for folder in own_folders() if not folder.is_dir()]
    but = f", which names {missing[0]}, no folder" if missing else ""
    return f"An option of your own is found by --config-dir FOLDER or ${CONFIG_DIR}{but}."


@cache
def _installed() -> list[Path]:
    """The folder `conf` of each package that an entry point names."""
    found = []
    for point in entry_points(group=_ENTRY_POINTS):
        try:
            package = importlib.import_module(point.value)
        except ImportError as error:
            raise RequestError(
                f"{point.value}: an installed package's {_ENTRY_POINTS} names this, but: {error}."
            ) from error
        found += [Path(place) / "conf" for place in package.__path__]
    return found


def in_prose(attention: str) -> str:
    """Return what a sentence calls a mechanism: `no attention` for the option `none`."""
    return "no attention" if attention == "none" else attention


def options(group: str) -> list[str]:
    """Names of a group's options."""
    folders = [conf_folder(), *own_folders()]
    return sorted({path.stem for folder in folders for path in (folder / group).glob("*.yaml")})


def option_content(group: str, name: Any, whole: bool = False) -> dict[str, Any] | None:
    """What an option's file says of its group, wherever it puts it; None where there is none.

    `whole`: all that the file says, not of its group alone.

    Raises:
        RequestError: the file can't be read, is no YAML, or has something else for rules.
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
    """The lines of comment that an option's file begins with."""
    path = _option_file(group, name)
    lines = path.read_text("utf-8").splitlines() if path else []
    comments = itertools.takewhile(lambda line: line.startswith("#"), lines)
    return [line.lstrip("# ") for line in comments if not line.startswith("# @")]


def _option_file(group: str, name: Any) -> Path | None:
    if not isinstance(name, str) or not name or Path(name).name != name:
        return None
    paths = (folder / group / f"{name}.yaml" for folder in (conf_folder(), *own_folders()))
    return next((path for path in paths if os.path.isfile(path)), None)  # no error of long names


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file, not to be changed; raises `RequestError` where there is none."""
    return _read(path, path.stat().st_mtime_ns)


@cache
def _read(path: Path, changed: int) -> dict[str, Any]:
    """The mapping in a YAML file; not to be changed."""
    try:
        content = yaml.safe_load(path.read_text("utf-8")) or {}
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise RequestError(f"{path}: can't be read: {' '.join(str(error).split())}.") from error
    if not isinstance(content, dict):
        raise RequestError(f"{path}: expected settings, KEY: VALUE, got {content!r}.")
    return content


def option_class(group: str, name: Any) -> type:
    """The class that an option's file names as its `_target_`.

    Raises:
        RequestError: there is no such option here, or its file names no class that there is.
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
    # A module may be next to its YAML; those on Python's own path come first.
    places = [str(place) for folder in own_folders() for place in (folder / group, folder)]
    sys.path += [place for place in places if place not in sys.path]
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise RequestError(
            f"{group}={name}: expected a _target_ in its file that exists, got {path} ({error})."
        ) from error


def follows(attention: Any, key: str, value: Any) -> bool:
    """Whether a setting has its value because the mechanism's file allows no other one.

    `none` has no context to read, so `model.readout` is `state`.
    """
    rule = _rule_of(attention, key)
    return "auto" in rule and rule.get("choices") == [value]


def _rule_of(attention: Any, key: str) -> dict[str, Any]:
    """A mechanism's rule about a setting of another group; empty without one."""
    return (option_content("attention", attention) or {}).get("rules", {}).get(key, {})
