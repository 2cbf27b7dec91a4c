"""Attention by the delta rule: DeltaNet and, with a memory that decays, Gated DeltaNet.

At each step the memory M decays, a key's old value is taken out, and a new one is put in:
`M_t = e^(g_t) (I - b_t k_t k_t') M_(t-1) + b_t k_t v_t'`, read as `c_t = M_t' q_t`. b is the
strength of the step; g, at most 0, is the logarithm of its decay, None for none. With
`G = cumsum(g)` and `D_ts = e^(G_t - G_s)` for s <= t, the weights of all steps are
`(Q K' * D) (I + A)^-1 diag(b)` where `A = strictlower(diag(b) (K K' * D))`.

The functions get q (B, H, T, K), k (B, H, S, K), v (B, H, S, V), beta and g (B, H, S), all in
float32 or wider. A step with zeros in beta and g changes nothing. `delta_steps` is the
specification of the other two. In chunks of C steps, N of them, axes are (B, H, N, C, ...).

Sources: Yang et al. 2024 (arXiv 2406.06484), section 3; with a decay Yang et al. 2024 (arXiv
2412.06464), section 3.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from attnlab.attention.base import ProjectedMemory
from attnlab.attention.functional import Tensor, causal_mask, rms_normalize, widen
from attnlab.attention.state import (
    StateAttention,
    chunk_size,
    join_chunks,
    mask_vectors,
    split_chunks,
)


def delta_steps(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, beta: np.ndarray, g: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return what `delta_contexts` does, as the recurrence is printed: its specification."""
    memory_BHKV = np.zeros((*k.shape[:2], k.shape[-1], v.shape[-1]))
    contexts_BHTV = np.zeros_like(v)
    for t in range(k.shape[2]):
        k_t, beta_t = k[:, :, t, :, None], beta[:, :, t, None, None]
        if g is not None:
            memory_BHKV = np.exp(g[:, :, t, None, None]) * memory_BHKV
        old_v = np.sum(k_t * memory_BHKV, axis=2, keepdims=True)
        memory_BHKV = memory_BHKV + beta_t * k_t * (v[:, :, t, None] - old_v)
        contexts_BHTV[:, :, t] = np.sum(q[:, :, t, :, None] * memory_BHKV, axis=2)
    return contexts_BHTV, memory_BHKV


def delta_weights(
    q: Tensor, k: Tensor, beta: Tensor, g: Tensor | None, mask: Tensor, start_index: Any = 0
) -> Tensor:
    """Return the weights (B, H, T, S), of any sign.

    `mask` is None or bool, broadcastable to (B, H, T, S); `start_index` is the position of the
    first query.
    """
    g_between = None
    products_BHTS = ops.matmul(q, ops.swapaxes(k, -1, -2))
    if g is not None:
        g_sums = ops.cumsum(g, axis=-1)
        steps = start_index + ops.arange(ops.shape(q)[-2])
        steps = ops.minimum(steps, ops.shape(k)[-2] - 1)
        since = ops.take(g_sums, steps, axis=-1)[..., None] - g_sums[..., None, :]
        products_BHTS = products_BHTS * ops.exp(ops.minimum(since, 0.0))
        g_between = g_sums[..., None] - g_sums[..., None, :]
    if mask is not None:
        products_BHTS = ops.where(mask, products_BHTS, ops.zeros((), products_BHTS.dtype))
    upper = ops.swapaxes(_one_plus_a(k, beta, g_between), -1, -2)
    solved = ops.solve_triangular(upper, ops.swapaxes(products_BHTS, -1, -2), lower=False)
    return ops.swapaxes(solved, -1, -2) * beta[..., None, :]


def delta_contexts(
    q: Tensor, k: Tensor, v: Tensor, beta: Tensor, g: Tensor | None, memory_BHKV: Tensor = None
) -> tuple[Tensor, Tensor]:
    """Return contexts (B, H, T, V), and the memory M (B, H, K, V) after the last step.

    Chunks are independent except for the memory M: `M_next = F M + N`, with F and N of the chunk.
    """
    steps, size = ops.shape(q)[2], chunk_size(q)
    beta = split_chunks(beta[..., None], size)
    q, k, v = (split_chunks(x, size) for x in (q, k, v))
    g_between, k_decayed, k_to_end, q_decayed = None, k, k, q
    identity = ops.eye(k.shape[-1], dtype=k.dtype)
    if g is not None:
        g_sums = ops.cumsum(split_chunks(g[..., None], size), axis=-2)
        total, decay = g_sums[..., -1:, :], ops.exp(g_sums)
        g_between = g_sums - ops.swapaxes(g_sums, -1, -2)
        k_decayed, q_decayed = k * decay, q * decay
        k_to_end = k * ops.exp(total - g_sums)
        identity = identity * ops.exp(total)
    beta_v_k = ops.concatenate([beta * v, beta * k_decayed], axis=-1)
    u_w = ops.solve_triangular(_one_plus_a(k, beta[..., 0], g_between), beta_v_k, lower=True)
    u, w = u_w[..., : v.shape[-1]], u_w[..., v.shape[-1] :]
    k_to_end = ops.swapaxes(k_to_end, -1, -2)
    f, n = identity - ops.matmul(k_to_end, w), ops.matmul(k_to_end, u)
    starts, memory_BHKV = _scan_memories(f, n, memory_BHKV)
    inside = _lower(ops.matmul(q, ops.swapaxes(k, -1, -2)), g_between, diagonal=True)
    contexts = ops.matmul(q_decayed - ops.matmul(inside, w), starts) + ops.matmul(inside, u)
    return join_chunks(contexts, steps), memory_BHKV


def _one_plus_a(k, beta, g_between):
    """Return `I + A`, (..., S, S)."""
    products = ops.matmul(beta[..., None] * k, ops.swapaxes(k, -1, -2))
    identity = ops.eye(ops.shape(k)[-2], dtype=k.dtype)
    return _lower(products, g_between, diagonal=False) + identity


def _lower(products, g_between, diagonal):
    """Return the lower triangle of products (..., S, S), decayed by e^g_between."""
    size, zero = ops.shape(products)[-1], ops.zeros((), products.dtype)
    lower = causal_mask(size, size, 0 if diagonal else -1)
    if g_between is not None:
        products = products * ops.exp(ops.where(lower, g_between, zero))
    return ops.where(lower, products, zero)


def _scan_memories(f, n, memory_BHKV):
    """Return M before each chunk (B, H, N, K, V), and M after the last one (B, H, K, V)."""
    if memory_BHKV is None:
        memory_BHKV = ops.zeros_like(n[:, :, 0])
    if f.shape[2] == 1:
        return memory_BHKV[:, :, None], ops.matmul(f[:, :, 0], memory_BHKV) + n[:, :, 0]
    chunks = [ops.transpose(x, (2, 0, 1, 3, 4)) for x in (f, n)]
    ends = tf.scan(lambda m, chunk: tf.matmul(chunk[0], m) + chunk[1], chunks, memory_BHKV)
    starts = ops.concatenate([memory_BHKV[None], ends[:-1]], axis=0)
    return ops.transpose(starts, (1, 2, 0, 3, 4)), ends[-1]


@keras.saving.register_keras_serializable(package="attnlab")
class DeltaAttention(StateAttention):
    """Attend through a memory matrix that each step corrects where its key points.

    `M_t = M_(t-1) + b_t k_t (v_t - M_(t-1)' k_t)'`, `c_t = M_t' q_t`, for each head, with
    `q = l2(SiLU(x W_Q))`, `k = l2(SiLU(x W_K))`, `v = x W_V` and `b = sigmoid(x W_b)`; then
    `context = [RMSNorm(c_1); ...; RMSNorm(c_H)] W_O`, one scale for all heads. The weights, as
    signed numbers, are those of `delta_weights`.

    Source: Yang et al. 2024 (arXiv 2406.06484), sections 2.2 and 3. Difference: the paper's
    convolutions of queries, keys and values are `model.short_convolution`. flash-linear-attention
    applies SiLU to values, too, and divides queries by `sqrt(d)`, which the norm undoes, except for
    its epsilon of 1e-5.

    It knows only the masks of its past and of padding; other masks give wrong results.
    """

    causal_only: ClassVar[bool] = True
    extra_columns: ClassVar[int] = 1

    @property
    def weights_are(self) -> Literal["signed"]:
        """Signed: a step may take back what an earlier one has added."""
        return "signed"

    @property
    def state_sizes(self) -> tuple[int, int]:
        """K and V of the memory matrix."""
        return self.key_width, self.head_size

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        """Create the projections, those of the strengths, and the norm's scale."""
        super().build(query_shape, memory_shape)
        self.strength_kernel = self.add_kernel("strength_kernel", (memory_shape[-1], self.heads))
        self.norm_scale = self.add_weight(
            name="norm_scale", shape=(self.head_size,), initializer="ones"
        )

    def project_memory(self, memory: Tensor) -> ProjectedMemory:
        """Return keys with the strengths as last column (B, H, S, K + 1), and values."""
        keys, values = super().project_memory(memory)
        strength = ops.sigmoid(self.split(memory, self.strength_kernel))
        return ProjectedMemory(ops.concatenate([keys, strength], axis=-1), values)

    def activate(self, name: str, tensor: Tensor) -> Tensor:
        """Return queries and keys after SiLU with a length of 1, in float32 or wider."""
        if name == "values":
            return tensor
        # x sigmoid(x), which graphs fuse to something that rounds differently.
        half = widen(tensor) / 2
        tensor = half + half * ops.tanh(half)
        return tensor * ops.rsqrt(ops.sum(ops.square(tensor), axis=-1, keepdims=True) + 1e-6)

    def unpack(self, keys: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return keys (B, H, S, K), their strengths and log decays (B, H, S), None for none."""
        keys = widen(keys)
        return keys[..., : self.key_width], keys[..., self.key_width], None

    def weigh(self, queries: Tensor, keys: Tensor, mask: Tensor, start_index: Any) -> Tensor:
        """Return `(Q K') (I + strictlower(diag(b) K K'))^-1 diag(b)`."""
        if mask is not None:  # a step that no query may see has no strength
            keys = mask_vectors(keys, ops.any(mask, axis=-2))
        return delta_weights(queries, *self.unpack(keys), mask, start_index)

    def through(
        self,
        queries: Tensor,
        memory: ProjectedMemory,
        memory_mask: Tensor = None,
        state: Tensor = None,
    ) -> tuple[Tensor, Tensor]:
        """Return contexts (B, H, T, V) and the next memory matrix."""
        keys = mask_vectors(memory.keys, None if memory_mask is None else memory_mask[:, None])
        k, beta, g = self.unpack(keys)
        return delta_contexts(queries, k, widen(memory.values), beta, g, state)

    def join(self, contexts: Tensor) -> Tensor:
        """Normalise each head's context, join and project them."""
        return super().join(rms_normalize(contexts, self.norm_scale, 1e-5))


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
            ops.cast(weight, gates.dtype)[:, None, None]
            for weight in (self.decay_rate, self.decay_bias)
        )
        decay = -ops.exp(rates) * ops.softplus(gates + biases)
        return ProjectedMemory(ops.concatenate([keys, decay], axis=-1), values)

    def unpack(self, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return keys, their strengths and log decays (B, H, S)."""
        k, beta, _ = super().unpack(keys)
        return k, beta, widen(keys[..., -1])


def _log_rates(shape, dtype=None):
    return ops.log(keras.initializers.RandomUniform(1e-3, 16.0)(shape, dtype))


def _biases(shape, dtype=None):
    """Return c of log-uniform softplus(c): the inverse of softplus is x + log(1 - e^-x)."""
    softplus = ops.exp(keras.initializers.RandomUniform(*np.log([0.001, 0.1]))(shape, dtype))
    return softplus + ops.log(-ops.expm1(-softplus))
