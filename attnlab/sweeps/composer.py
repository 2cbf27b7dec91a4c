"""Configurations composed quickly: for a grid's points, and for the runs of one process.

Hydra needs a tenth of a second for a configuration, most of it for the choice of files, and
OmegaConf 30 ms to resolve one; a grid may have thousands. So a choice of files is composed once,
and what is common to configurations that differ only in plain values is resolved once.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

from hydra import initialize_config_dir
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override, OverrideType
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from attnlab.config import composing as config
from attnlab.config.options import conf_folder, own_folders
from attnlab.config.rules import lookup
from attnlab.config.sections import RunConfig
from attnlab.errors import RequestError
from attnlab.records.environment import TYPED
from attnlab.sweeps.grid import parse
from attnlab.sweeps.internals import apply_overrides

_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_WORD = re.compile(r"\w+")
# Parts of keys on which the rules of a configuration depend.
_DECIDING = ("name", "rules", "_target_")
# An option, or a value of a setting; what Hydra's own settings may enter is composed by itself.
_PLAIN = re.compile(r"(?!hydra|sweep|search|experiment)\w+(\.(?!_target_)\w+)*=.*", re.DOTALL)


class Composer:
    """Composes and checks configurations quickly: a choice of groups is composed once.

    What only changes values is applied to a copy, or, to check it, to what `Variants` share.
    """

    def __init__(self, loader: ConfigLoader, master: DictConfig):
        self._loader = loader
        self._config_name = master.hydra.job.config_name
        self._hydra = [str(override) for override in master.hydra.overrides.hydra]
        self._bases: dict[tuple[str, ...], DictConfig] = {}
        self._variants: dict[tuple[tuple[str, ...], ...], Variants] = {}
        self._parsed: dict[str, Override] = {}
        self._whole: dict[str, Override] = {}  # by its key, one whose value is a whole number

    def compose(self, overrides: Sequence[str]) -> DictConfig:
        """Return the configuration that overrides make, as Hydra composes it, without `hydra`.

        Raises `RequestError` where an override fits no key or value.
        """
        groups, values = self._parted(overrides)
        with self._explained(overrides):
            composed = copy.deepcopy(self._base(groups))
            apply_overrides(values, composed)
        return composed

    def check(self, overrides: Sequence[str]) -> RunConfig:
        """Return the configuration of `compose`, checked; raises `RequestError` for a bad value."""
        groups, values = self._parted(overrides)
        if not is_plain(values):
            return config.from_hydra(self.compose(overrides))
        keys = tuple(override.key_or_group for override in values)
        with self._explained(overrides):
            if (groups, keys) not in self._variants:
                self._variants[groups, keys] = Variants(self._base(groups), keys)
            return self._variants[groups, keys].check(values)

    def _parted(self, overrides: Sequence[str]) -> tuple[tuple[str, ...], list[Override]]:
        """Return the words that choose options, and the overrides that change values."""
        found = {word: self._read(word) for word in overrides}
        groups = tuple(word for word in overrides if not _is_value(found[word]))
        return groups, [found[word] for word in overrides if _is_value(found[word])]

    def _read(self, word: str) -> Override:
        """Return the override in a word; of whole numbers Hydra reads only the first per key."""
        if word not in self._parsed:
            key, _, value = word.partition("=")
            is_whole = _WHOLE.fullmatch(value) is not None
            if is_whole and key in self._whole:
                found = replace(self._whole[key], _value=int(value), input_line=word)
            else:
                (found,) = parse([word], self._loader)
            if is_whole:
                self._whole[key] = found
            self._parsed[word] = found
        return self._parsed[word]

    def _base(self, groups: tuple[str, ...]) -> DictConfig:
        if groups not in self._bases:
            words = [*self._hydra, *groups]
            loaded = self._loader.load_configuration(self._config_name, words, RunMode.RUN)
            with open_dict(loaded):
                del loaded["hydra"]
            self._bases[groups] = loaded
        return self._bases[groups]

    @contextmanager
    def _explained(self, overrides: Sequence[str]) -> Iterator[None]:
        try:
            yield
        except RequestError:
            raise
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            raise RequestError(config.explain(error, overrides)) from error


def _is_value(override: Override) -> bool:
    """Whether an override changes a value only, and chooses no file of a group."""
    key: Any = override.key_or_group
    plain = "/" not in key and override.package is None
    return plain and ("." in key or key == "seed")


class Variants:
    """Configurations with the same options, made by values of the same keys; see `is_plain`.

    Args:
        base: the composed configuration that they change; it stays as it is.
        keys: those that every one of them gives a value.
    """

    def __init__(self, base: DictConfig, keys: Sequence[str]) -> None:
        self._live = copy.deepcopy(base)
        references = dict(_references(OmegaConf.to_container(base, resolve=False)))
        self._references = _that_may_change(references, keys)
        self._first: config.Resolved | None = None
        self._applied: dict[str, Override] = {}
        self._values: dict[str, Any] = {}  # of keys and references, as they are applied

    def check(self, overrides: Sequence[Override]) -> RunConfig:
        """Return the checked configuration of these values.

        Raises:
            RequestError: a value breaks a rule.
            HydraException, OmegaConfBaseException: a key or a value does not fit.
        """
        self._apply(overrides)
        if self._first is None:
            self._first = config.resolved(self._live)
        document = {
            k: dict(v) if isinstance(v, dict) else v for k, v in self._first.document.items()
        }
        for key, value in self._values.items():
            _put(document, key, value)
        return config.checked(self._first._replace(document=document))

    def _apply(self, overrides: Sequence[Override]) -> None:
        """Set the keys whose values differ from the current ones."""
        before, self._applied = self._applied, {}  # until all is applied
        new = [each for each in overrides if before.get(each.key_or_group) is not each]
        apply_overrides(new, self._live)
        for key in (*(each.key_or_group for each in new), *self._references):
            self._values[key] = self._value(key)
        self._applied = {each.key_or_group: each for each in overrides}

    def _value(self, key: str) -> Any:
        try:
            found = OmegaConf.select(self._live, key, throw_on_missing=True)
        except OmegaConfBaseException as error:
            raise RequestError(config.explain(error)) from error
        return OmegaConf.to_container(found, resolve=True) if OmegaConf.is_config(found) else found


def is_plain(overrides: Sequence[Override]) -> bool:
    """Whether `Variants` can apply these overrides, again and again with other values.

    They give single values, which refer to no others, to keys that no rule depends on; none of the
    keys is inside another.
    """
    keys = [f"{override.key_or_group}." for override in overrides]
    return all(map(_is_plain, overrides)) and not any(
        one is not other and other.startswith(one) for one in keys for other in keys
    )


def _is_plain(override: Override) -> bool:
    return (
        override.type in (OverrideType.CHANGE, OverrideType.FORCE_ADD)
        and not isinstance(override.value(), (dict, list))
        and "${" not in str(override.value())
        and not any(part in _DECIDING for part in override.key_or_group.split("."))
    )


def _references(node: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the values that refer to others, by their paths."""
    for key, value in node.items():
        if isinstance(value, dict):
            yield from _references(value, f"{path}{key}.")
        elif "${" in str(value):
            yield f"{path}{key}", str(value)


def _that_may_change(references: Mapping[str, str], keys: Sequence[str]) -> set[str]:
    """Return the paths of references that may change with some keys: those with such a word."""
    found = {path for path, text in references.items() if text.count("${") > 1}
    while True:
        words = {word for key in (*keys, *found) for word in key.split(".")}
        more = {path for path, text in references.items() if words & {*_WORD.findall(text)}}
        if more <= found:
            return found
        found |= more


def _put(document: dict[str, Any], key: str, value: Any) -> None:
    """Set the value at a path of a document, if it has the path; only its sections change."""
    section, _, last = key.rpartition(".")
    if not section:
        document[last] = value
        return
    top, _, rest = section.partition(".")
    if not isinstance(lookup(document, section), Mapping):
        return
    node = document[top]
    for part in rest.split(".") if rest else ():
        node[part] = dict(node[part])
        node = node[part]
    node[last] = value


def configuration(words: Sequence[str]) -> RunConfig | None:
    """Return the configuration of `attnlab WORDS`; None: Hydra must compose it, or refuse it."""
    if not all(map(_PLAIN.fullmatch, words)):
        return None
    folders = [conf_folder(), *own_folders()]
    files = [path for folder in folders for path in sorted(folder.glob("**/*.yaml"))]
    stamp = tuple((str(path), path.stat().st_mtime_ns) for path in files)
    # Files may name any variable; the command as it was typed is another for each run.
    environment = frozenset({**os.environ, TYPED: ""}.items())
    with suppress(RequestError):
        return _composer(tuple(map(str, folders)), stamp, environment).check(words)
    return None


@lru_cache(maxsize=1)
def _composer(
    folders: tuple[str, ...],
    stamp: tuple[tuple[str, int], ...],
    environment: frozenset[tuple[str, str]],
) -> Composer:
    """Compose by the files in folders, as they are at a stamp, and by the variables as they are."""
    config.register_schema()
    urls = ",".join(f"'file://{folder}'" for folder in folders[1:])
    words = [*config.HYDRA_SETTINGS, f"hydra.searchpath=[{urls}]"]
    known = {"job": {"config_name": "config"}, "overrides": {"hydra": words}}
    with initialize_config_dir(folders[0], version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
    return Composer(loader, OmegaConf.create({"hydra": known}))
