"""Nested documents as flat text: what runs are compared by, and what MLflow shows of them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any


def flatten(document: Mapping[str, Any], left_out: Collection[str] = ()) -> dict[str, str]:
    """The leaves of a document by dotted key, whole, as text in YAML's spelling (`null`, `true`).

    An empty mapping or list counts as a leaf. Sections of `left_out` are left out, and so are keys
    that start with `_`, and `rules`, which say what other values would have been allowed.
    """
    wanted = {key: value for key, value in document.items() if key not in left_out}
    return {key: _text(value) for key, value in _leaves(wanted, "")}


def _leaves(document: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if str(key).startswith("_") or key == "rules":
            continue
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool | list | tuple | Mapping):
        return json.dumps(value, default=str)
    return str(value)
