"""A config as flat parameters, the way MLflow keeps and compares them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

LONGEST_VALUE = 6000
LONGEST_KEY = 250
LEFT_OUT = ("hydra", "paths", "tracking")


def flatten(config: Mapping[str, Any], left_out: Collection[str] = LEFT_OUT) -> dict[str, str]:
    """The leaves of a config under dotted keys, as text in YAML's spelling (`null`, `true`).

    Cut to what MLflow takes; an empty mapping or list counts as a leaf. Left out are keys that
    start with `_`, `rules`, which say what other values would have been allowed, and by default the
    sections that say where a run went and not what it was.
    """
    wanted = {key: value for key, value in config.items() if key not in left_out}
    return {key[:LONGEST_KEY]: _text(value)[:LONGEST_VALUE] for key, value in _leaves(wanted)}


def _leaves(config: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in config.items():
        if str(key).startswith("_") or key == "rules":
            continue
        if isinstance(value, Mapping) and value:
            found += _leaves(value, f"{prefix}{key}.")
        else:
            found.append((f"{prefix}{key}", value))
    return found


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool | list | tuple | Mapping):
        return json.dumps(value, default=str)
    return str(value)
