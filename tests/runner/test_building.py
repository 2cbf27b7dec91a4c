"""TensorFlow is imported quickly, and later imports still work."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from attnlab.runner.building import import_tensorflow
import_tensorflow()
assert not {"sklearn", "matplotlib.pyplot"} & set(sys.modules)
import keras, matplotlib.pyplot, sklearn
print(keras.layers.Dense(2)(keras.ops.ones((1, 3))).shape)
"""


@pytest.mark.slow
def test_optional_imports_of_keras_are_delayed():
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (found.stdout, found.stderr) == ("(1, 2)\n", "")
