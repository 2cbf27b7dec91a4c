"""The import of TensorFlow, without its notices and without what nobody needs of it."""

from __future__ import annotations

import gc
import os
import sys

# What Keras imports if it is there, for scikit-learn wrappers and picture galleries.
_NOT_NEEDED = ("sklearn", "matplotlib.pyplot")


def import_tensorflow() -> None:
    """Import TensorFlow and find its devices without its start-up notices on the terminal.

    They come from C++ before any logging can be set up, so the file descriptor is turned away.
    What Keras can do without takes a quarter of the time, and is hidden meanwhile.
    """
    if "tensorflow" in sys.modules:
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stderr.flush()
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    hidden = [name for name in _NOT_NEEDED if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: can't be imported
    try:
        import tensorflow as tf

        tf.config.list_physical_devices()
    finally:
        for name in hidden:
            del sys.modules[name]
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)
    # Half a million objects that stay: the garbage collector need not look at them each time.
    gc.freeze()
