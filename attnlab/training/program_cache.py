"""A cache of compiled programs, so that the next run of equal shapes needs no compilation.

Compiling takes seconds, but the runs of a sweep mostly differ in settings that never enter compiled
code: the seed, the learning rate, the number of epochs. So a program is stored with its model and
its optimizer, and a later run assigns its own initial weights to them. Results don't change.
"""

from __future__ import annotations

import gc
import hashlib
import json
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import keras
from keras import ops

from attnlab.config.sections import RunConfig
from attnlab.training.optimizers import make_optimizer

# The most programs in the cache, and bytes of weights and optimizer states. XLA's compiled code
# stays in memory until the process ends, so a smaller cache would save little.
_MOST, _MOST_BYTES = 16, 2**29
# Models of at most this many bytes may wait for Python's own garbage collection.
_SMALL = 2**22


class Cacheable(Protocol):
    """A compiled program with the variables that it was compiled for."""

    model: keras.Model
    optimizer: keras.Optimizer


Cached = TypeVar("Cached", bound=Cacheable)
# Program and user by everything that enters the trace; the most recently used is last.
_cache: OrderedDict[str, tuple[Any, weakref.ref | None]] = OrderedDict()


def shared_program(
    config: RunConfig,
    model: keras.Model,
    compile: Callable[[], Cached],
    *shapes: Any,
    user: object | None = None,
) -> Cached:
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
    while len(_cache) > 1 and (len(_cache) > _MOST or _all_bytes() > _MOST_BYTES):
        _cache.popitem(last=False)
    return program


def cached_program(
    user: object,
    config: RunConfig,
    model: keras.Model,
    compile: Callable[[keras.Model, keras.Optimizer], Cached],
    *shapes: Any,
) -> Cached:
    """Return a program that holds its run's values, for the start of a run; see `shared_program`.

    The program has the given model, or an equal one with its weights.
    """
    options = config.optimizer

    def make() -> Cached:
        return compile(model, make_optimizer(options.name, options.settings))

    program = shared_program(config, model, make, *shapes, user=user)
    if program.model is not model:
        _start_anew(program, model, options.settings["learning_rate"])
    return program


def _start_anew(program: Cacheable, model: keras.Model, learning_rate: float) -> None:
    """Assign the weights of an equal model to a program, and reset its optimizer."""
    for variable, initial in zip(program.model.variables, model.variables, strict=True):
        variable.assign(initial)
    for variable in program.optimizer.variables:
        variable.assign(ops.zeros_like(variable))
    program.optimizer.learning_rate = learning_rate


def _all_bytes() -> int:
    """Return the bytes of weights and optimizer states of all cached programs."""
    programs = [program for program, _ in _cache.values()]
    return sum(_bytes(program.model) + _bytes(program.optimizer) for program in programs)


def _bytes(part: keras.Model | keras.Optimizer) -> int:
    """Return the bytes of the variables."""
    values = [variable.value for variable in part.variables]
    return sum(value.dtype.size * value.shape.num_elements() for value in values)
