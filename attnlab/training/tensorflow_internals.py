"""The import of TensorFlow and Keras, and what TensorFlow doesn't promise to keep.

Seen in TensorFlow 2.20 and 2.21.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from functools import partial

from attnlab.errors import RequestError

# Packages that Keras imports if installed, for scikit-learn wrappers and image galleries.
_NOT_NEEDED = ("sklearn", "matplotlib.pyplot")


def import_tensorflow() -> None:
    """Import TensorFlow and Keras, and find the devices, without notices on the terminal.

    C++ code prints the notices before logging can be configured, so file descriptor 2 is
    redirected. Optional imports of Keras, a quarter of the time, are blocked meanwhile. The user's
    `keras.json` is ignored, because for example its floatx would change every result.

    Raises `RequestError` if this process already uses another backend of Keras.
    """
    if "keras" not in sys.modules:
        _import_quietly()
    import keras

    if keras.config.backend() != "tensorflow":
        raise RequestError(
            "KERAS_BACKEND: expected tensorflow, since attnlab computes with it, got "
            f"{keras.config.backend()}: set it before this process imports keras."
        )


def _import_quietly() -> None:
    home = os.environ.get("KERAS_HOME")
    os.environ |= {"KERAS_BACKEND": "tensorflow", "KERAS_HOME": os.devnull}
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stderr.flush()
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    hidden = [name for name in _NOT_NEEDED if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: can't be imported
    try:
        import keras  # noqa: F401
        import tensorflow as tf

        tf.config.list_physical_devices()
    finally:
        for name in hidden:
            del sys.modules[name]
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)
        del os.environ["KERAS_HOME"]
        if home:
            os.environ["KERAS_HOME"] = home
    from attnlab.training.keras_internals import set_home

    set_home(home or os.path.expanduser("~/.keras"))
    # Half a million permanent objects, which the garbage collector need not scan each time.
    gc.freeze()


_OPTIONS = "--xla_backend_extra_options"


def vectorize_short_loops() -> None:
    """Make XLA use vector instructions on a CPU even for states of 16 units.

    LLVM unrolls such short loops before it looks for loops to vectorize. XLA reads the flag at its
    first compilation. A user's own setting of the flag, or a file of flags, is not changed.
    """
    flags = os.environ.get("XLA_FLAGS", "").strip()
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
    from tensorflow.python.framework import ops

    registry = getattr(getattr(ops, "gradient_registry", None), "_registry", {})
    for name in [name for name in registry if name.startswith("CustomGradient-")]:
        del registry[name]
