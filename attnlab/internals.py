"""Private interfaces of TensorFlow and Keras, each with what it buys, and their import.

Seen in TensorFlow 2.20 and 2.21, and in Keras 3.12 to 3.15. Times are CPU times on 2 cores. All
imports are inside of functions, so that this module can be imported before TensorFlow.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError

if TYPE_CHECKING:
    import keras

# Keras adds the arguments of a layer's call to the message of an error without this attribute.
RequestError._keras_call_info_injected = True  # type: ignore[attr-defined]
# Packages that Keras imports if installed, for scikit-learn wrappers and image galleries.
_NOT_NEEDED = ("sklearn", "matplotlib.pyplot")
_OPTIONS = "--xla_backend_extra_options"
_shapes_only = False  # whether the code that runs is in `shapes_only`


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
    no_settings = os.path.expanduser("~/.cache/attnlab/keras")
    os.environ |= {"KERAS_BACKEND": "tensorflow", "KERAS_HOME": no_settings}
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
    # Half a million permanent objects, which the garbage collector need not scan each time.
    gc.freeze()


def vectorize_short_loops() -> None:
    """Make XLA use vector instructions on a CPU even for states of 16 units.

    LLVM unrolls such short loops before it looks for loops to vectorize. XLA reads the flag at its
    first compilation. A user's own setting of the flag, or a file of flags, is not changed. An
    epoch of `task=fib attention=bahdanau` takes 12 ms instead of 16 ms.
    """
    flags = os.environ.get("XLA_FLAGS", "").strip()
    if not flags or (flags.startswith("-") and _OPTIONS not in flags):
        ours = f"{_OPTIONS}=xla_cpu_disable_loop_unrolling"
        os.environ["XLA_FLAGS"] = f"{flags} {ours}".strip()


def forget_gradients() -> None:
    """Free graphs that are no longer needed.

    TensorFlow never frees a `tf.custom_gradient`, and with it the graph. Gradients are looked up
    only while a function is traced, and all functions so far have been traced. A process of many
    runs needs 7 MB less for each program of a small recurrent model.
    """
    from tensorflow.python.framework import ops

    registry = getattr(getattr(ops, "gradient_registry", None), "_registry", {})
    for name in [name for name in registry if name.startswith("CustomGradient-")]:
        del registry[name]


def functional_class(kind: type) -> type:
    """Return a class of optimizers that work on values: the formula of an epoch's loop.

    These are Keras's backend-independent methods. `stateless_apply` refuses TensorFlow, whose own
    methods are for `tf.distribute`. Without them no epoch is one program: the book's Fibonacci
    network trains 250 times as fast as with `keras.Model.fit`.
    """
    from keras.src.optimizers.base_optimizer import BaseOptimizer

    names = ["_var_key", "assign", "assign_add", "assign_sub"]
    names += ["_apply_weight_decay", "_backend_update_step"]
    return type(kind.__name__, (kind,), {name: getattr(BaseOptimizer, name) for name in names})


def index_of(optimizer: Any, variable: Any) -> int:
    """Return the index of a variable, of Keras or TensorFlow, among those of an optimizer."""
    return optimizer._get_variable_index(variable)


def adam_moments(optimizer: Any, variable: Any) -> tuple[keras.Variable, keras.Variable]:
    """Return the variables with Adam's means of a variable's gradients and of their squares.

    One kernel that changes both updates ten million weights in 8 ms, Keras's dozen in 24 ms.
    """
    index = index_of(optimizer, variable)
    return optimizer._momentums[index], optimizer._velocities[index]


@contextmanager
def shapes_only() -> Iterator[None]:
    """Create variables with a shape but no value in the body, which take no memory.

    So a model is checked before the data are read, which can take minutes. Keras would initialise
    the variables, 440 MB for BERT's base model, when it next builds a model by shapes.
    """
    import keras
    from keras.src.backend.common import global_state

    global _shapes_only
    name = "uninitialized_variables"
    waiting, before = list(global_state.get_global_attribute(name, [])), _shapes_only
    _shapes_only = True
    try:
        with keras.StatelessScope(initialize_variables=False):
            yield
    finally:
        _shapes_only = before
        global_state.set_global_attribute(name, waiting)


def is_shapes_only() -> bool:
    """Return whether variables get no values at present, as in `shapes_only`."""
    return _shapes_only


def keras_mask(tensor: Any) -> Any:
    """Return the mask (B, T) that Keras has attached to a tensor; None if there is none.

    `compute_mask` gets the argument named `mask` instead, so its own argument can't be used.
    """
    return getattr(tensor, "_keras_mask", None)


def all_layers(model: keras.layers.Layer) -> list[keras.layers.Layer]:
    """Return a model and all layers below it; `Model.layers` has only the layers of a model."""
    return model._flatten_layers()
