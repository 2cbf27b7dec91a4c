"""Settings of run folders by dotted key, and which of them `--where KEY=VALUE` means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from attnlab.config.rules import nearest
from attnlab.errors import RequestError
from attnlab.records.mlflow.parameters import flatten
from attnlab.records.run_directory import RunDirectory


def read_settings(run: RunDirectory) -> dict[str, str]:
    """The leaves of a run's config.yaml by dotted key, as text; see `parameters.flatten`.

    Raises:
        RequestError: config.yaml is missing or damaged.
    """
    return flatten(run.read_config(), left_out=())


def setting(settings: Mapping[str, str], key: str) -> str | None:
    """The value of a key, of a group such as `attention` the name of its option."""
    return settings.get(key, settings.get(f"{key}.name"))


def read_conditions(given: Iterable[str]) -> dict[str, str]:
    """Read the words of `--where`.

    Args:
        given: `KEY=VALUE` each; a value may be several with commas between, either of which fits.

    Returns:
        Key to value, as `fits` takes them.

    Raises:
        RequestError: One is no `KEY=VALUE`, or two have the same key.
    """
    conditions: dict[str, str] = {}
    for text in given:
        key, _, value = (part.strip() for part in text.partition("="))
        if not key or not value:
            raise RequestError(f"--where: expected KEY=VALUE such as model.cell=gru, got {text!r}.")
        if key in conditions:
            raise RequestError(
                f"--where: expected each key once, got {key} twice; several values go with commas "
                f"between: {key}={conditions[key]},{value}."
            )
        conditions[key] = value
    return conditions


def fits(settings: Mapping[str, str], conditions: Mapping[str, str]) -> bool:
    """Whether settings have, for all keys, the value or one of the values that are asked for."""
    return all(_means(text, setting(settings, key)) for key, text in conditions.items())


def check_keys(option: str, keys: Iterable[str], runs: Iterable[Mapping[str, str]]) -> None:
    """Check that runs have these config keys.

    Args:
        option: What an error calls the place where they were given.
        keys: Dotted keys, or names of groups with options.
        runs: The settings of each.

    Raises:
        RequestError: No run has one of them.
    """
    known = dict.fromkeys(key for settings in runs for key in settings)
    groups = {key.removesuffix(".name") for key in known if key.endswith(".name")}
    for key in keys:
        if key in known or key in groups:
            continue
        inside = next((name for name in known if name.startswith(f"{key}.")), None)
        if inside:
            raise RequestError(f"{option}: expected a single setting such as {inside}, got {key}.")
        near = nearest(key, [*known, *groups])
        hint = f" Did you mean {near}?" if near else " The keys stand in a run's config.yaml."
        raise RequestError(f"{option}: expected a config key that a run has, got {key!r}.{hint}")


def _means(text: str, value: str | None) -> bool:
    """Whether a value is what a text says, or what one of its parts between commas says."""
    return value is not None and any(_same(part, value) for part in [text, *text.split(",")])


def _same(text: str, value: str) -> bool:
    """Whether both are the same number, or the same words but for spaces, quotes and `True`."""
    try:
        return float(text) == float(value)
    except ValueError:
        text, value = (re.sub(r"[\s'\"]", "", each) for each in (text, value))
        return text == value or (value in ("null", "true", "false") and text.lower() == value)
