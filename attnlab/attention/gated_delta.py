"""Gated DeltaNet: the delta rule with a memory that decays, Yang et al. (2024)."""

from __future__ import annotations

from typing import ClassVar

import keras
import numpy as np
from keras import ops

from attnlab.attention.base import ProjectedMemory
from attnlab.attention.delta import DeltaAttention
from attnlab.attention.functional import Tensor, widen

LEAST, MOST = 0.001, 0.1  # of softplus(c) at the start


@keras.saving.register_keras_serializable(package="attnlab")
class GatedDeltaAttention(DeltaAttention):
    """Attend as `DeltaAttention` does, through a memory that fades at each step.

    `M_t = e^(g_t) (I - b_t k_t k_t') M_(t-1) + b_t k_t v_t'` with `g = -e^A softplus(x W_a + c)`,
    A and c a number per head. At the start e^A is uniform in (0, 16) and softplus(c) log-uniform
    in (0.001, 0.1), as in Mamba 2.

    Source: Yang et al. 2024 (arXiv 2412.06464), sections 3.1 and 3.4. Difference: no output gate,
    so that it differs from `DeltaAttention` by the decay alone; the paper's convolutions are
    `model.short_convolution`; no SiLU of values, as there. Masks other than those of past and
    padding give wrong results.
    """

    extra_columns: ClassVar[int] = 2

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        """Create the projections, strengths, norm and decay."""
        super().build(query_shape, memory_shape)
        self.decay_kernel = self.add_kernel("decay_kernel", (memory_shape[-1], self.heads))
        shape = (self.heads,)
        self.decay_rate = self.add_weight(name="decay_rate", shape=shape, initializer=_log_rates)
        self.decay_bias = self.add_weight(name="decay_bias", shape=shape, initializer=_biases)

    def project_memory(self, memory: Tensor) -> ProjectedMemory:
        """Return keys with strengths and log decays (B, H, S, K + 2), and values."""
        keys, values = super().project_memory(memory)
        gates = widen(self.split(memory, self.decay_kernel))
        rates, biases = (
            ops.cast(each, gates.dtype)[:, None, None]
            for each in (self.decay_rate, self.decay_bias)
        )
        decay = -ops.exp(rates) * ops.softplus(gates + biases)
        return ProjectedMemory(ops.concatenate([keys, decay], axis=-1), values)

    def unpacked(self, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return keys, their strengths and log decays (B, H, S)."""
        *others, _ = super().unpacked(keys)
        return *others, widen(keys[..., -1])


def _log_rates(shape, dtype=None):
    return ops.log(keras.initializers.RandomUniform(1e-3, 16.0)(shape, dtype))


def _biases(shape, dtype=None):
    """Return c of log-uniform softplus(c): the inverse of softplus is x + log(1 - e^-x)."""
    wanted = ops.exp(keras.initializers.RandomUniform(*np.log([LEAST, MOST]))(shape, dtype))
    return wanted + ops.log(-ops.expm1(-wanted))
