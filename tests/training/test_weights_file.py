"""Files of weights equal those of Keras, byte by byte."""

import errno

import keras
import numpy as np
import pytest

from attnlab.training.weights_file import WeightsFiles


class Doubled(keras.layers.Dense):
    """A layer that saves something other than its variables."""

    def save_own_variables(self, store):
        store["0"], store["1"] = 2.0 * self.kernel.numpy(), self.bias.numpy()

    def load_own_variables(self, store):
        self.kernel.assign(np.asarray(store["0"]) / 2.0)
        self.bias.assign(store["1"])


class Counted(keras.Model):
    """A model that counts how often Keras saves it."""

    saves = 0

    def save_weights(self, *arguments):
        self.saves += 1
        super().save_weights(*arguments)


def make_model(dense=keras.layers.Dense, cls=Counted):
    inputs = keras.Input((3,))
    hidden = keras.layers.Dropout(0.5)(keras.layers.LayerNormalization()(dense(5)(inputs)))
    return cls(inputs, keras.layers.Dense(5, use_bias=False)(hidden))


def values_of(model):
    return [np.array(variable) for variable in model.variables]


@pytest.mark.parametrize(("dense", "by_keras"), [(keras.layers.Dense, 2), (Doubled, 5)])
def test_each_file_is_that_of_keras(tmp_path, dense, by_keras):
    model, other = make_model(dense), make_model(dense)
    files = WeightsFiles(model)
    for number in range(4):
        model.set_weights([np.full(w.shape, number / 7) for w in model.get_weights()])
        content = files.next(values_of(model), tmp_path / "scratch.weights.h5")
        (tmp_path / "ours.weights.h5").write_bytes(content)
        other.load_weights(tmp_path / "ours.weights.h5")
        for weight, expected in zip(other.get_weights(), model.get_weights(), strict=True):
            np.testing.assert_array_equal(weight, expected)
    assert model.saves == by_keras and len(list(tmp_path.iterdir())) == 1
    model.save_weights(tmp_path / "keras.weights.h5")
    ours, expected = (tmp_path / f"{name}.weights.h5" for name in ("ours", "keras"))
    assert ours.read_bytes() == expected.read_bytes()


class TooLarge(Counted):
    """A model for which no disk has room, by its number of parameters."""

    def count_params(self):
        return 10**16


def test_a_full_disk_is_an_os_error(tmp_path):
    model = make_model(cls=TooLarge)
    with pytest.raises(OSError) as caught:
        WeightsFiles(model).next(values_of(model), tmp_path / "scratch.weights.h5")
    assert caught.value.errno == errno.ENOSPC and model.saves == 0
