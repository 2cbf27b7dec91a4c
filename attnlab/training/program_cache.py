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
compiled = 0  # number of programs that this process has compiled
# Program and user by everything that enters the trace; the most recently used is last.
_cache: OrderedDict[str, tuple[Any, weakref.ref | None]] = OrderedDict()


def shared_program(
    config: RunConfig, model: keras.Model, compile: Callable[[], Cached], *shapes: Any
) -> Cached:
    """Return a program for all runs of equal shapes and equal non-trainable weights.

    These weights are constants of the program; it stores no other values. See `cached_program`.
    """
    key = _key(config, model, (*shapes, _constants(model)))
    known = bool(_cache)
    program, _ = _cache.pop(key, (None, None))
    if known and (program is None or _bytes(model) > _SMALL):
        gc.collect()
    if program is None:
        program = _counted(compile())
    return _keep(key, program, None)


def cached_program(
    user: object,
    config: RunConfig,
    model: keras.Model,
    compile: Callable[[keras.Model, keras.Optimizer], Cached],
    *shapes: Any,
) -> Cached:
    """Return a program for the start of a run, from the cache or new.

    Args:
        user: the program is reserved for this object as long as it is alive.
        config: the run's configuration.
        model: with its initial weights; the program has this model, or an equal one.
        compile: makes a program of an untrained model and an optimizer.
        *shapes: the shapes of the data that enter the trace, JSON-ready.
    """
    constants = {k: v for k, v in config.optimizer.settings.items() if k != "learning_rate"}
    key = _key(config, model, (constants, config.model.settings.get("dropout"), *shapes))
    program, owner = _cache.get(key, (None, None))
    is_free = program is not None and owner() is None
    if _cache and not (is_free and _bytes(model) <= _SMALL):
        gc.collect()  # graphs and errors of the last run refer to each other
    program, owner = _cache.pop(key, (None, None))
    if program is None or owner() is not None or _layout(program.model) != _layout(model):
        settings = config.optimizer
        program = _counted(
            compile(
                model, make_optimizer(settings.name, settings.settings, config.trainer.precision)
            )
        )
    else:
        _start_anew(program, model, config.optimizer.settings["learning_rate"])
    return _keep(key, program, weakref.ref(user))


def _counted(program: Cached) -> Cached:
    global compiled
    compiled += 1
    return program


def _keep(key: str, program: Cached, owner: weakref.ref | None) -> Cached:
    _cache[key] = program, owner
    while len(_cache) > 1 and (len(_cache) > _MOST or _all_bytes() > _MOST_BYTES):
        _cache.popitem(last=False)
    return program


def _key(config: RunConfig, model: keras.Model, shapes: tuple) -> str:
    """Return everything that enters a trace, as text."""
    return json.dumps([config.program, _layout(model), shapes], default=str)


def _layout(model: keras.Model) -> list:
    """Return the shape and type of each variable; vocabulary sizes may differ by seed."""
    return [[list(variable.shape), variable.dtype] for variable in model.variables]


def _constants(model: keras.Model) -> str:
    """Return the SHA-256 of a model's non-trainable weights."""
    digest = hashlib.sha256()
    for weight in model.non_trainable_weights:
        digest.update(ops.convert_to_numpy(weight))
    return digest.hexdigest()


def _start_anew(program: Cacheable, model: keras.Model, learning_rate: float) -> None:
    """Assign the weights of an equal model to a program, and reset its optimizer."""
    for variable, initial in zip(program.model.variables, model.variables, strict=True):
        variable.assign(initial)
    for variable in program.optimizer.variables:
        variable.assign(ops.zeros_like(variable))
    if isinstance(program.optimizer, keras.optimizers.LossScaleOptimizer):
        program.optimizer.dynamic_scale.assign(program.optimizer.initial_scale)
    program.optimizer.learning_rate = learning_rate


def _all_bytes() -> int:
    """Return the bytes of weights and optimizer states of all cached programs."""
    programs = [program for program, _ in _cache.values()]
    return sum(_bytes(program.model) + _bytes(program.optimizer) for program in programs)


def _bytes(part: keras.Model | keras.Optimizer) -> int:
    """Return the bytes of the variables."""
    values = [variable.value for variable in part.variables]
    return sum(value.dtype.size * value.shape.num_elements() for value in values)
