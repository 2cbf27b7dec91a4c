"""Compiled programs: XLA or a TensorFlow graph, and a cache for the next run of equal shapes.

XLA fuses a step's many small operations. Its matrix products on a CPU are slower than TensorFlow's
own, more so with vectors of 256 bits than with 512. So on a CPU small models train faster with XLA
and large ones as a graph. The choice depends on the model and the processor only, never on a
measurement during the run: equal runs on one machine have equal bits.

Compiling takes seconds, but the runs of a sweep mostly differ in settings that never enter compiled
code: the seed, the learning rate, the number of epochs. So a program is stored with its model and
its optimizer, and a later run assigns its own initial weights to them. Results don't change.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import json
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from attnlab.config.sections import RunConfig
from attnlab.internals import vectorize_short_loops
from attnlab.training.optimizers import make_optimizer

_CPUINFO = Path("/proc/cpuinfo")
# The most programs in the cache, and bytes of weights and optimizer states. XLA's compiled code
# stays in memory until the process ends, so a smaller cache would save little.
_MOST, _MOST_BYTES = 16, 2**29
# Models of at most this many bytes may wait for Python's own garbage collection.
_SMALL = 2**22


# Everything that enters the trace, as JSON -> program and user; the most recently used is last.
_cache: OrderedDict[str, tuple[Any, weakref.ref | None]] = OrderedDict()


def compile_function(
    function: Callable, jit: bool, signature: Sequence[tf.TensorSpec] | None = None
):
    """Compile a method, with XLA or as a TensorFlow graph."""
    if jit:
        vectorize_short_loops()
    # TensorFlow counts traces per code object, and would warn after many runs; `partial` avoids it.
    return tf.function(
        partial(function), input_signature=signature, jit_compile=jit, autograph=False
    )


class XlaLimit(Enum):
    """Sizes up to which XLA is faster than the graph, by kind of model; in units unless noted.

    The first number is for processors with AVX-512, the second for AVX2 and unknown processors.
    Measured on 2 cores as (time as a graph) / (time with XLA).
    """

    # AVX-512: 2.2 at 32 units, 1.0 at 128, 0.8 at 256.
    RECURRENT_ENCODER = 128, 128
    # AVX2: 1.4 at 128 units, 1.5 at 256, 1.2 at 512.
    RECURRENT_FORECASTER = float("inf"), 512
    # AVX-512: 1.1 to 1.7 at 256. AVX2: 1.0 at 128, which doesn't pay for compiling.
    RECURRENT_TRANSLATOR = 256, 64
    # AVX-512: 1.25 at 128, 1.03 at 256. AVX2: 1.1 at 128 and 256, if all batches have one shape.
    TRANSFORMER_TRANSLATOR = 128, 0
    # One stack, in `step_operations`. AVX-512 (Intel): 1.3 at 3e9, 1.1 at 2e10, 1.2 at 3e10, 0.9 at
    # 3e11 for images; for language, in CPU time, 2.1 at 9e7, 1.4 at 1e9, 1.3 at 2e9, 1.1 at 4e9.
    TRANSFORMER_STACK = 4e10, 4e9


def step_operations(model: keras.Model, vectors: int) -> float:
    """Return the operations of a training step: about six per parameter and vector of the batch."""
    return 6.0 * vectors * model.count_params()


def is_faster_with_xla(size: float, limit: XlaLimit) -> bool:
    """Return whether a model of this size trains faster with XLA than as a graph on this CPU."""
    wide, narrow = limit.value
    return size <= (wide if has_avx512() else narrow)


def trains_with_xla(jit: bool | str, faster: bool) -> bool:
    """Return whether XLA compiles a run's training steps.

    Args:
        jit: the setting `trainer.jit`: true, false or `auto`.
        faster: whether XLA is faster on this CPU; on a GPU it always is.
    """
    return bool(jit) if jit != "auto" else faster or has_gpu()


def has_gpu() -> bool:
    """Return whether TensorFlow sees a GPU."""
    return bool(tf.config.list_physical_devices("GPU"))


@functools.cache
def has_avx512() -> bool:
    """Return whether the processor has vectors of 512 bits; False if unknown."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any("avx512f" in line.split() for line in lines if line.startswith("flags"))


def program_from_cache(
    config: RunConfig,
    model: keras.Model,
    compile: Callable[[], Any],
    *shapes: Any,
    user: object | None = None,
) -> Any:
    """Return a program for a run from the cache, or a new one.

    Args:
        config: the run's configuration.
        model: the run's model.
        compile: makes the program. Non-trainable weights of the model may be its constants.
        *shapes: the shapes of the data that enter the trace, JSON-ready.
        user: the program is reserved for this object as long as it is alive; None: a program that
            stores no values of a run may have several users at a time.
    """
    layout = [[list(variable.shape), variable.dtype] for variable in model.variables]
    constants = hashlib.sha256()
    for weight in model.non_trainable_weights if user is None else ():
        constants.update(ops.convert_to_numpy(weight))
    key = json.dumps([config.program, layout, shapes, constants.hexdigest()], default=str)

    def is_free() -> bool:
        program, owner = _cache.get(key, (None, None))
        return program is not None and (owner is None or owner() is None)

    if _cache and not (is_free() and _bytes(model) <= _SMALL):
        gc.collect()  # graphs and errors of the last run refer to each other
    program = _cache[key][0] if is_free() else compile()
    _cache[key] = program, None if user is None else weakref.ref(user)
    _cache.move_to_end(key)
    while len(_cache) > 1:
        parts = [part for other, _ in _cache.values() for part in (other.model, other.optimizer)]
        if len(_cache) <= _MOST and _bytes(*parts) <= _MOST_BYTES:
            break
        _cache.popitem(last=False)
    return program


def stateful_program(
    user: object,
    config: RunConfig,
    model: keras.Model,
    compile: Callable[[keras.Model, keras.Optimizer], Any],
    *shapes: Any,
) -> Any:
    """Return a program for one run at a time, because it stores the run's weights and optimizer.

    It has the given model, or an equal one with its weights; arguments as in `program_from_cache`.
    """
    options = config.optimizer

    def make() -> Any:
        return compile(model, make_optimizer(options.name, options.settings))

    program = program_from_cache(config, model, make, *shapes, user=user)
    if program.model is not model:  # an earlier run's
        for variable, initial in zip(program.model.variables, model.variables, strict=True):
            variable.assign(initial)
        for variable in program.optimizer.variables:
            variable.assign(ops.zeros_like(variable))
        program.optimizer.learning_rate = options.settings["learning_rate"]
    return program


def _bytes(*parts: keras.Model | keras.Optimizer) -> int:
    """Return the bytes of all variables of models and optimizers."""
    values = [variable.value for part in parts for variable in part.variables]
    return sum(value.dtype.size * value.shape.num_elements() for value in values)
