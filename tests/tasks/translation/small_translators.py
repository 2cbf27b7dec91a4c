"""Small translators with any mechanism of conf/attention, and no weight at its initial value."""

from __future__ import annotations

import keras
import numpy as np
from mechanisms import mechanisms_for

from attnlab.config.options import NOT_SETTINGS, option_class, option_content
from attnlab.tasks.translation.models.build import build_translator

QUERYING = [name for name in mechanisms_for("translate") if name not in ("none", "pooling")]


def own_settings(content: dict) -> dict:
    return {key: content[key] for key in content if key not in ("name", *NOT_SETTINGS)}


def mechanism(name: str, **changes):
    """A mechanism by its YAML, with a window and heads that suit small models."""
    mechanism_settings = own_settings(option_content("attention", name))
    # multi_head's window would refuse to be the attention to a source.
    small = {key: 2 for key in ("window", "heads") if mechanism_settings.get(key)}
    return option_class("attention", name)(**{**mechanism_settings, **small, **changes})


def small_translator(
    model: str, attention: str, settings: dict, *, by: float, choices: dict | None = None, **sizes
):
    """A translator with weights changed `by` random steps, so that an unused weight is noticed."""
    keras.utils.set_random_seed(3)
    make = lambda: mechanism(attention, **(choices or {}))  # noqa: E731
    made = build_translator(model, settings, make, **sizes)
    draw = np.random.default_rng(5)
    for weight in made.trainable_variables:
        weight.assign(weight + by * draw.normal(size=weight.shape))
    return made
