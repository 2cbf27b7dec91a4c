"""What `auto` means, decided here alone, so that a run's configuration shows it.

What depends on the machine stays `auto` in the configuration: `trainer.jit` and `trainer.together`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attnlab.config.options import option_class, options
from attnlab.config.rules import lookup
from attnlab.errors import RequestError

# The settings of models of a kind that has no files for them.
PLAIN = "plain"


def kind_of_task(task: Any) -> Any:
    """Return the kind of a task; None if there is no such task, which is reported elsewhere."""
    try:
        return option_class("task", task).kind  # type: ignore[attr-defined]
    except RequestError:
        return None


def model_settings(task: str, attention: str, model: str) -> str:
    """Return the file of conf/model/settings that goes with a task, a mechanism and a model.

    A task that doesn't exist has one, too.
    """
    kind = kind_of_task(task)
    if kind is None:
        return PLAIN
    if model == "auto":
        model = kind.models.architectures.get(attention, "rnn")
    files = options("model/settings")
    own = any(name.startswith(f"{kind.name}_") for name in files)
    return f"{kind.name}_{model}" if own else PLAIN


def without_auto(
    document: Mapping[str, Any],
    rules: Mapping[str, Mapping[str, Mapping[str, Any]]],
    kind: Any,
) -> dict[str, Any]:
    """Return a configuration with values in place of `auto`.

    Rules say the values; a rule of the mechanism counts before that of the group which the setting
    belongs to. What follows from a pretrained encoder is what the kind says.
    """
    if kind and kind.models.resolve:
        document = kind.models.resolve(document)
    found = dict(document)
    for group in ("attention", *rules):
        for key, rule in rules.get(group, {}).items():
            section, _, name = (key if "." in key else f"{group}.{key}").rpartition(".")
            if "auto" in rule and lookup(found, f"{section}.{name}") == "auto":
                found[section] = {**found[section], name: rule["auto"]}
    return found
