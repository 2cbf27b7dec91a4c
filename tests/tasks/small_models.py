"""Settings of small models, and checks for every model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from mechanisms import mechanisms_for

from attnlab.config.options import NOT_SETTINGS, option_content

SMALL = {"units": 6, "embedding": 5, "heads": 3, "window": 2, "layers": 2, "feed_forward": 5}
SMALL |= {"cell": "simple"}


def settings(group: str, name: str, **others) -> dict:
    """Settings of an option's YAML, with the sizes of `SMALL` or those in `others`.

    A value `auto` is the one that the setting's rule has for it, if it has one.
    """
    content = option_content(group, name)
    rules = content.get("rules", {})
    values = {
        key: rules.get(key, {}).get("auto", value) if value == "auto" else value
        for key, value in content.items()
        if key not in ("name", *NOT_SETTINGS)
    }
    small = {**SMALL, **others}
    return {key: value if value is None else small.get(key, value) for key, value in values.items()}


def combinations(models: Sequence[str]) -> list[tuple[str, str]]:
    """Each model with each mechanism that its rules allow."""
    contents = {name: option_content("attention", name) for name in mechanisms_for("sunspots")}
    rules = {name: content["rules"] for name, content in contents.items()}
    return [
        (model, attention)
        for model in models
        for attention, by_setting in rules.items()
        if model in by_setting.get("model.name", {}).get("choices", models)
    ]


def assert_saves_and_loads(model: keras.Model, inputs: Any, folder: Path) -> None:
    """Check that weights can be saved and loaded; the model doesn't change."""
    expected = np.asarray(model(inputs))
    model.save_weights(folder / "w.weights.h5")
    model.set_weights([weight * 0 + 0.1 for weight in model.get_weights()])
    assert not np.array_equal(model(inputs), expected)
    model.load_weights(folder / "w.weights.h5")
    np.testing.assert_array_equal(model(inputs), expected)


def assert_drops_in_training_alone(model: keras.Model, inputs: Any) -> None:
    """Check that dropout changes the model's output only in training."""
    assert not np.array_equal(model(inputs, training=True), model(inputs))
    np.testing.assert_array_equal(model(inputs), model(inputs))


def assert_every_weight_learns(
    model: keras.Model, loss: Callable[[], Any], cancelling: str = "key_bias"
) -> None:
    """Check that all weights have a gradient, except biases that cancel in a softmax."""
    with tf.GradientTape() as tape:
        value = loss()
    assert np.all(np.isfinite(value))
    weights = model.trainable_weights
    gradients = tape.gradient(value, [weight.value for weight in weights])
    for weight, gradient in zip(weights, gradients, strict=True):
        assert gradient is not None, weight.path
        size = np.abs(tf.convert_to_tensor(gradient))
        assert np.all(np.isfinite(size)), weight.path
        assert size.max() > 0 or weight.path.endswith(cancelling), weight.path
