"""The import of TensorFlow and Keras, without notices, spare parts and a user's defaults."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from attnlab.errors import RequestError
from attnlab.process.variables import variable

_BACKEND, _HOME = "KERAS_BACKEND", "KERAS_HOME"
# What Keras imports if it is there, for scikit-learn wrappers and picture galleries.
_NOT_NEEDED = ("sklearn", "matplotlib.pyplot")


def import_tensorflow() -> None:
    """Import TensorFlow and Keras, and find the devices, without notices on the terminal.

    They come from C++ before any logging can be set up, so the file descriptor is turned away.
    What Keras can do without takes a quarter of the time, and is hidden meanwhile.

    Raises `RequestError` if this process computes with another backend of Keras already.
    """
    if "tensorflow" not in sys.modules:
        _import_quietly()
    with _own_defaults():
        import keras
    if keras.config.backend() != "tensorflow":
        raise RequestError(
            f"{_BACKEND}: expected tensorflow, since attnlab computes with it, got "
            f"{keras.config.backend()}: set it before this process imports keras."
        )


@contextmanager
def _own_defaults() -> Iterator[None]:
    """Have Keras, which is imported in the body, use TensorFlow and its own defaults.

    The user's `keras.json` is for other programs: its floatx would change every result.
    """
    if "keras" in sys.modules:
        yield
        return
    home = variable(_HOME)
    os.environ |= {_BACKEND: "tensorflow", _HOME: os.devnull}
    try:
        yield
    finally:
        del os.environ[_HOME]
        if home:
            os.environ[_HOME] = home
    from attnlab.training.keras_internals import set_home

    set_home(home or os.path.expanduser("~/.keras"))


def _import_quietly() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stderr.flush()
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    hidden = [name for name in _NOT_NEEDED if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: can't be imported
    try:
        with _own_defaults():  # TensorFlow may import Keras
            import tensorflow as tf

            tf.config.list_physical_devices()
            import keras  # noqa: F401
    finally:
        for name in hidden:
            del sys.modules[name]
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)
    # Half a million objects that stay: the garbage collector need not look at them each time.
    gc.freeze()
