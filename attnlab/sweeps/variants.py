"""Configurations that differ in plain values only: what they share is composed and resolved once.

Composing and resolving a configuration takes Hydra and OmegaConf 30 ms; a grid may have thousands.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hydra.core.override_parser.types import Override, OverrideType
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from attnlab.config import composing as config
from attnlab.config.rules import lookup
from attnlab.config.sections import RunConfig
from attnlab.errors import RequestError
from attnlab.sweeps.internals import apply_overrides

_WORD = re.compile(r"\w+")
# Parts of keys on which the rules of a configuration depend.
_DECIDING = ("name", "rules", "_target_")


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
        """The checked configuration that these values make.

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
        """Give the keys their values, as far as they have others."""
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
    """The values that refer to others, by their paths."""
    for key, value in node.items():
        if isinstance(value, dict):
            yield from _references(value, f"{path}{key}.")
        elif "${" in str(value):
            yield f"{path}{key}", str(value)


def _that_may_change(references: Mapping[str, str], keys: Sequence[str]) -> set[str]:
    """The paths of references that may change with some keys: they have a word of one in them."""
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
