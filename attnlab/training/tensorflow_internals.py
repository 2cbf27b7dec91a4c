"""What TensorFlow doesn't promise to keep as it is; seen in 2.20 and 2.21."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import Any

from attnlab.process.variables import variable

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
