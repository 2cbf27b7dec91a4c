"""Averages of saved weights; see test_weights_file.py for the files."""

import keras
import numpy as np
import pytest

from attnlab.training.weights_file import load_average


def make_model(width=3):
    inputs = keras.Input((2,))
    return keras.Model(inputs, keras.layers.Dropout(0.5)(keras.layers.Dense(width)(inputs)))


def saved(folder, *scales, width=3):
    """Files of weights that are `scale` everywhere."""
    paths = []
    for number, scale in enumerate(scales):
        model = make_model(width)
        model.set_weights([np.full(weight.shape, scale) for weight in model.get_weights()])
        paths.append(folder / f"{number}.weights.h5")
        model.save_weights(paths[-1])
    return paths


def test_every_weight_is_the_mean(tmp_path):
    model = make_model()
    load_average(model, saved(tmp_path, 1.0, 2.0, 6.0))
    for weight in model.get_weights():
        np.testing.assert_array_equal(weight, np.full(weight.shape, 3.0))


def test_one_file_is_loaded_to_the_bit(tmp_path):
    source, model = make_model(), make_model()
    source.save_weights(tmp_path / "one.weights.h5")
    load_average(model, [tmp_path / "one.weights.h5"])
    for one, other in zip(model.get_weights(), source.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_equal_files_average_to_themselves_to_the_bit(tmp_path):
    model = make_model()
    load_average(model, saved(tmp_path, *[0.1] * 7))
    np.testing.assert_array_equal(model.trainable_variables[0], np.float32(0.1))


@pytest.mark.filterwarnings("ignore:Skipping nested container")  # Keras's first guess
def test_errors(tmp_path):
    with pytest.raises(ValueError, match="expected one file of weights at least"):
        load_average(make_model(), [])
    with pytest.raises(ValueError, match="shape"):
        load_average(make_model(), saved(tmp_path, 1.0, width=5))
