"""Private interfaces of TensorFlow and Keras that an upgrade may change, one test each."""

from __future__ import annotations

import os
import subprocess
import sys

import keras
import pytest

from attnlab.internals import shapes_only, vectorize_short_loops
from attnlab.records.environment import environment

# Adds two rows of 16 numbers for each of 64 states.
_SHORT_LOOPS = """
import tensorflow as tf
from attnlab.training.compilation import compile_function

rows = tf.ones((2, 32, 16))
compile_function(lambda rows: rows + 2.0 * rows[:, :, ::-1], True)(rows)
"""


def test_xla_makes_vectors_of_short_loops(tmp_path):
    environment = {**os.environ, "XLA_FLAGS": f"--xla_dump_to={tmp_path}"}
    subprocess.run([sys.executable, "-c", _SHORT_LOOPS], env=environment, check=True)
    modules = [path.read_text() for path in tmp_path.glob("*kernel_module.ir-with-opt.ll")]
    assert any(" x float>" in module for module in modules)


EXTRA = "--xla_backend_extra_options"


@pytest.mark.parametrize("flags", [f"{EXTRA}=xla_of_the_user", "flags.txt", "--xla_dump_to=here"])
def test_flags_of_the_user_stay(monkeypatch, flags):
    monkeypatch.setenv("XLA_FLAGS", flags)
    for _ in range(2):
        vectorize_short_loops()
    added = f" {EXTRA}=xla_cpu_disable_loop_unrolling" if flags == "--xla_dump_to=here" else ""
    assert os.environ["XLA_FLAGS"] == flags + added
    assert environment()["xla_flags"] == flags  # without what this program adds


def test_keras_creates_no_values_for_shapes_only():
    with shapes_only():
        layer = keras.layers.Dense(10**12)
        layer.build((None, 10**12))
    assert layer.kernel.shape == (10**12, 10**12)
    spec = keras.layers.Dense(2).compute_output_spec(keras.KerasTensor((1, 3)))
    assert spec.shape == (1, 2)  # what is waiting would be made here


_IMPORTS = """
import sys
from attnlab.internals import import_tensorflow
import_tensorflow()
assert not {"sklearn", "matplotlib.pyplot"} & set(sys.modules)
import keras, matplotlib.pyplot, sklearn
print(keras.layers.Dense(2)(keras.ops.ones((1, 3))).shape)
"""


@pytest.mark.slow
def test_optional_imports_of_keras_are_delayed():
    done = subprocess.run([sys.executable, "-c", _IMPORTS], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("(1, 2)\n", "")
