"""Which compiler trains a model: XLA or TensorFlow's graph executor.

XLA fuses a step's many small operations. Its matrix products on a CPU are slower than TensorFlow's
own, more so with vectors of 256 bits than with 512. So on a CPU small models train faster with XLA
and large ones as a graph. The choice depends on the model and the processor alone, never on a
measurement during the run: equal runs on one machine have equal bits.
"""

from __future__ import annotations

import functools
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

_CPUINFO = Path("/proc/cpuinfo")


class Largest(NamedTuple):
    """The largest size that trains faster with XLA than as a graph, by the CPU's vectors."""

    avx512: float
    narrower: float  # AVX2, and processors that don't say


class Border(Enum):
    """Where the graph becomes the faster one, by kind of model; sizes are units unless noted.

    Measured on 2 cores as (time as a graph) / (time with XLA), `scripts/bench_*.py jit`.
    """

    # AVX-512: 2.2 at 32 units, 1.0 at 128, 0.8 at 256.
    RECURRENT_ENCODER = Largest(128, 128)
    # AVX2: 1.4 at 128 units, 1.5 at 256, 1.2 at 512.
    RECURRENT_FORECASTER = Largest(float("inf"), 512)
    # AVX-512: 1.1 to 1.7 at 256. AVX2: 1.0 at 128, which doesn't pay for compiling.
    RECURRENT_TRANSLATOR = Largest(256, 64)
    # AVX-512: 1.25 at 128, 1.03 at 256. AVX2: 1.1 at 128 and 256, if all batches have one shape.
    TRANSFORMER_TRANSLATOR = Largest(128, 0)
    VISION_TRANSFORMER = Largest(4e9, 4e9)  # operations of a step


def is_faster_with_xla(size: float, border: Border) -> bool:
    """Return whether a model of this size trains faster with XLA than as a graph on this CPU."""
    largest = border.value.avx512 if has_avx512() else border.value.narrower
    return size <= largest


def trains_with_xla(asked: bool | str, faster: bool) -> bool:
    """Return whether XLA compiles a run's training steps.

    Args:
        asked: the setting `trainer.jit`: true, false or `auto`.
        faster: whether XLA is the faster one on a CPU; on a GPU it always is.
    """
    return bool(asked) if asked != "auto" else faster or has_gpu()


def has_gpu() -> bool:
    """Return whether TensorFlow sees a GPU."""
    return bool(tf.config.list_physical_devices("GPU"))


@functools.cache
def has_avx512() -> bool:
    """Return whether the processor has vectors of 512 bits; False if it doesn't say."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any("avx512f" in line.split() for line in lines if line.startswith("flags"))
