"""The import of TensorFlow and Keras, and what TensorFlow doesn't promise to keep.

Seen in TensorFlow 2.20 and 2.21.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from attnlab.errors import RequestError
from attnlab.process import variable

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


_OPTIONS = "--xla_backend_extra_options"


def vectorize_short_loops() -> None:
    """Let XLA use vectors for the 16 units of a state, too, on a CPU.

    LLVM unrolls loops over so few values before it looks for loops to vectorize, and so finds none.
    XLA reads this when it first compiles. What a user has told XLA of that stays, and so does a
    file of flags.
    """
    flags = (variable("XLA_FLAGS") or "").strip()
    if not flags or (flags.startswith("-") and _OPTIONS not in flags):
        ours = f"{_OPTIONS}=xla_cpu_disable_loop_unrolling"
        os.environ["XLA_FLAGS"] = f"{flags} {ours}".strip()


def vectorize_draws() -> None:
    """Let `tf.vectorized_map` do what `Dropout` does one run after another, without a warning."""
    with suppress(ImportError, AttributeError, AssertionError):  # TensorFlow may do so by then
        from tensorflow.python.ops.parallel_for import pfor

        for name in ("StatelessRandomGetKeyCounter", "StatelessRandomUniformFullIntV2", "Bitcast"):
            pfor.RegisterPFor(name)(partial(pfor._fallback_converter, warn=False))


def forget_gradients() -> None:
    """Let go of graphs that are not needed any more.

    TensorFlow keeps every `tf.custom_gradient` of a graph for good, and with it the graph; it is
    looked up while a function is traced, and all functions so far have been.
    """
    known = custom_gradients()
    for name in [name for name in known if name.startswith("CustomGradient-")]:
        del known[name]


def custom_gradients() -> dict[str, Any]:
    """Gradients by name; an empty copy where TensorFlow keeps them elsewhere."""
    from tensorflow.python.framework import ops

    return getattr(getattr(ops, "gradient_registry", None), "_registry", {})
