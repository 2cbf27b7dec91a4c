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
# Packages that Keras imports if installed, for scikit-learn wrappers and image galleries.
_NOT_NEEDED = ("sklearn", "matplotlib.pyplot")


def import_tensorflow() -> None:
    """Import TensorFlow and Keras, and find the devices, without notices on the terminal.

    C++ code prints the notices before logging can be configured, so file descriptor 2 is
    redirected. Optional imports of Keras, a quarter of the time, are blocked meanwhile.

    Raises `RequestError` if this process already uses another backend of Keras.
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
    """Make Keras, which the body imports, use TensorFlow and its own defaults.

    The user's `keras.json` is ignored, because for example its floatx would change every result.
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
    # Half a million permanent objects, which the garbage collector need not scan each time.
    gc.freeze()


_OPTIONS = "--xla_backend_extra_options"


def vectorize_short_loops() -> None:
    """Make XLA use vector instructions on a CPU even for states of 16 units.

    LLVM unrolls such short loops before it looks for loops to vectorize. XLA reads the flag at its
    first compilation. A user's own setting of the flag, or a file of flags, is not changed.
    """
    flags = (variable("XLA_FLAGS") or "").strip()
    if not flags or (flags.startswith("-") and _OPTIONS not in flags):
        ours = f"{_OPTIONS}=xla_cpu_disable_loop_unrolling"
        os.environ["XLA_FLAGS"] = f"{flags} {ours}".strip()


def vectorize_draws() -> None:
    """Let `tf.vectorized_map` execute the draws of `Dropout` run by run, without a warning."""
    with suppress(
        ImportError, AttributeError, AssertionError
    ):  # a later TensorFlow may not need this
        from tensorflow.python.ops.parallel_for import pfor

        for name in ("StatelessRandomGetKeyCounter", "StatelessRandomUniformFullIntV2", "Bitcast"):
            pfor.RegisterPFor(name)(partial(pfor._fallback_converter, warn=False))


def forget_gradients() -> None:
    """Free graphs that are no longer needed.

    TensorFlow never frees a `tf.custom_gradient`, and with it the graph. Gradients are looked up
    only while a function is traced, and all functions so far have been traced.
    """
    known = custom_gradients()
    for name in [name for name in known if name.startswith("CustomGradient-")]:
        del known[name]


def custom_gradients() -> dict[str, Any]:
    """Return the gradients by name; an empty mapping if TensorFlow stores them elsewhere."""
    from tensorflow.python.framework import ops

    return getattr(getattr(ops, "gradient_registry", None), "_registry", {})
