"""Multi-head attention of Vaswani et al. (2017), and what later models added to it."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import keras
from keras import ops

from attnlab.attention.base import ProjectedMemory
from attnlab.attention.functional import (
    LOWEST,
    Tensor,
    dtype_of,
    require_choice,
    rms_normalize,
    scaled_dot_score,
    sink_softmax,
    widen,
)
from attnlab.attention.heads import HeadsAttention
from attnlab.errors import RequestError


@keras.saving.register_keras_serializable(package="attnlab")
class MultiHeadAttention(HeadsAttention):
    """Attend with several heads at once, each to another projection of the same vectors.

    `head_i = softmax(Q_i K_i' / sqrt(d_k)) V_i` with `Q_i = query W_Q_i + b_Q_i` and the like,
    `d_k = d_v = units / heads`; `context = [head_1; ...; head_H] W_O + b_O`, `units` wide.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.2. Difference: biases, which the
    paper doesn't print and the usual implementations have (1,050,624 parameters at 512 units and
    8 heads).

    The options after `biases` are those of later models, in the order in which they act. S are the
    scores.

    Args:
        heads: number of heads H.
        units: width of all heads together and of the context; None takes the width of the query.
        book: the book's layer (listing 16.6): the projections are d_k wide *together*, split
            over the heads, while the scores are still divided by `sqrt(d_k)` (131,776).
        biases: whether the four projections have biases b.
        kv_heads: number G of heads of keys and values, a divisor of H (Ainslie et al. 2023, arXiv
            2305.13245); query head h reads head floor(h G / H). G = 1 is multi-query attention.
        query_key_norm: whether each head's query and key x becomes `g x / sqrt(mean(x^2) + 1e-6)`
            before rotary positions, one g (d_k) for all queries and one for all keys (Qwen3).
        softcap: c > 0; S become `c tanh(S / c)`, before any position bias and the mask (Gemma 2,
            arXiv 2408.00118). None: no limit.
        talking_heads: whether one H x H matrix mixes the scores of the heads before any position
            bias and the mask, and another one the weights (Shazeer et al. 2020, arXiv 2003.02436).
            Both start as the identity. Weights then have any sign.
        window: W, in steps of one sequence. With `causal`, a query sees the last W positions, its
            own among them: `p - s < W`. Otherwise `|p - s| <= W`. Causal sequences longer than 2 W
            are computed in blocks: time and memory grow with T W. None: the whole memory.
        top_k: only the k largest admitted scores of a query get weights, and those equal to the
            k-th (Zhao et al. 2019, arXiv 1912.11637). None: all.
        sink: whether the weights are `exp(S) / (exp(a) + sum exp(S))` with one learned a for each
            head, from N(0, 0.02), in place of the normalizer (GPT-OSS, arXiv 2508.10925).
        gate: each head's context times `sigmoid(query W_g)` before W_O (Qiu et al. 2025, arXiv
            2505.06708): a number per head ("headwise"), one per element ("elementwise"), or "none".
        **kwargs: those of `Attention`.

    Raises:
        RequestError: `heads` doesn't divide `units` (with `book`, units / heads); an unknown gate.
    """

    rotary: ClassVar[bool] = True

    def __init__(
        self,
        *,
        heads: int = 4,
        units: int | None = None,
        book: bool = False,
        biases: bool = True,
        kv_heads: int | None = None,
        query_key_norm: bool = False,
        softcap: float | None = None,
        talking_heads: bool = False,
        window: int | None = None,
        top_k: int | None = None,
        sink: bool = False,
        gate: str = "none",
        **kwargs: Any,
    ):
        super().__init__(heads=heads, units=units, **kwargs)
        self.book, self.biases, self.kv_heads = book, biases, kv_heads
        self.query_key_norm, self.softcap = query_key_norm, softcap
        self.talking_heads, self.window = talking_heads, window
        self.top_k, self.sink = top_k, sink
        self.gate = require_choice("gate", gate, ("none", "headwise", "elementwise"))

    @property
    def weights_are(self) -> Literal["shares", "positive", "signed"]:
        """Signed with `talking_heads`; else see `Attention`."""
        return "signed" if self.talking_heads else super().weights_are

    @property
    def one_sequence(self) -> str | None:
        """Why query and memory must be one sequence: a window counts its steps."""
        if self.window is None:
            return super().one_sequence
        return f"attention.window={self.window} counts the steps of one sequence"

    def head_size_of(self, units: int) -> int:
        """Return the width of a head's queries, keys and values: d_k, in the book d_k / heads."""
        size = super().head_size_of(units)
        if self.book and size % self.heads:
            raise RequestError(
                f"book=true: heads = {self.heads} must divide units / heads = {size}"
            )
        return size // self.heads if self.book else size

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        """Create the projections and the options' weights."""
        super().build(query_shape, memory_shape)
        heads, size = self.heads, self.head_size
        if self.query_key_norm:
            for name in ("query_scale", "key_scale"):
                setattr(self, name, self.add_weight(name=name, shape=(size,), initializer="ones"))
        if self.talking_heads:
            for name in ("score_mixing", "weight_mixing"):
                weight = self.add_weight(name=name, shape=(heads, heads), initializer="identity")
                setattr(self, name, weight)
        if self.sink:
            normal = keras.initializers.RandomNormal(0.0, 0.02)
            self.sink_score = self.add_weight(
                name="sink_score", shape=(heads, 1, 1), initializer=normal
            )
        if self.gate != "none":
            gates = heads if self.gate == "headwise" else heads * size
            self.gate_kernel = self.add_kernel("gate_kernel", (query_shape[-1], gates))

    def activate(self, name: str, tensor: Tensor) -> Tensor:
        """Normalise queries and keys, if `query_key_norm` says so."""
        if not self.query_key_norm or name == "values":
            return tensor
        scale = self.query_scale if name == "query" else self.key_scale
        return ops.cast(rms_normalize(tensor), dtype_of(tensor)) * self.as_compute(scale)

    def reach(
        self, query_length: Any, memory_length: Any, start_index: Any, causal: bool
    ) -> Tensor | None:
        """Return which positions are in the window, (1, T, S) bool; see `Attention`."""
        lengths = query_length, memory_length, start_index
        if self.window is None:
            return super().reach(*lengths, causal)
        return sliding_mask(*lengths, self.window, causal)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return each head's scores, (B, H, T, S)."""
        grouped = by_group(query, self.key_heads) if self.kv_heads else query
        scores = scaled_dot_score(grouped, keys, self.head_size * (self.heads if self.book else 1))
        scores = by_head(scores, self.heads) if self.kv_heads else scores
        if self.softcap is not None:
            scores = self.softcap * ops.tanh(widen(scores) / self.softcap)
        return mix_heads(scores, self.score_mixing) if self.talking_heads else scores

    def normalize(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Turn scores (B, H, T, S) into weights, in float32 or wider; masked weights are 0."""
        if self.top_k is not None:
            mask = mask_best(scores, mask, self.top_k)
        if self.sink:
            weights = sink_softmax(scores, mask, self.sink_score)
        else:
            weights = super().normalize(scores, mask)
        return mix_heads(weights, self.weight_mixing) if self.talking_heads else weights

    def read(self, weights: Tensor, values: Tensor, query: Tensor) -> Tensor:
        """Sum each head's values, gate and join the heads, project them: (B, T, units)."""
        return self.join(self.apply_gates(self.sum_values(weights, values), query))

    def sum_values(self, weights: Tensor, values: Tensor) -> Tensor:
        """Sum each head's values by their weights: (B, H, T, V)."""
        if not self.kv_heads:
            return ops.matmul(weights, values)
        grouped = by_group(weights, self.key_heads)
        return by_head(ops.matmul(grouped, values), self.heads)

    def apply_gates(self, contexts: Tensor, query: Tensor) -> Tensor:
        """Multiply the heads' contexts (B, H, T, V) by the gates of the query."""
        if self.gate == "none":
            return contexts
        return contexts * ops.sigmoid(self.split(query, self.gate_kernel))

    def direct_context(
        self, query: Tensor, memory: ProjectedMemory, memory_mask: Tensor, causal: bool
    ) -> Tensor | None:
        """Return the context of a causal sequence longer than two windows, block by block."""
        steps, window = query.shape[1], self.window
        if window is None or not causal or steps is None or steps <= 2 * window:
            return None
        batch = ops.shape(query)[0]
        real = ops.ones((batch, steps), "bool") if memory_mask is None else memory_mask
        queries = self.prepare_query(query)
        q, k, v, mask = split_blocks(queries, memory.keys, memory.values, real, window)
        weights = self.normalize(self.score(q, k), mask)
        contexts = self.sum_values(self.as_compute(weights), v)
        contexts = join_blocks(contexts, batch, steps)
        context = self.join(self.apply_gates(contexts, query))
        if memory_mask is None:
            return context
        looks = ops.any(mask, axis=-1, keepdims=True)
        looks = join_blocks(looks, batch, steps)[:, 0]
        return ops.where(looks, context, ops.zeros((), context.dtype))


# --- the options as pure functions; G is the number of key heads -------------------------------


def by_group(tensor: Tensor, groups: int) -> Tensor:
    """Put heads that share keys into one row of steps: (B, H, T, K) to (B, G, T H / G, K).

    Head h belongs to group floor(h G / H).
    """
    batch, heads, steps, width = ops.shape(tensor)
    return ops.reshape(tensor, (batch, groups, heads // groups * steps, width))


def by_head(tensor: Tensor, heads: int) -> Tensor:
    """Undo `by_group`: (B, G, T H / G, S) to (B, H, T, S)."""
    batch, groups, rows, width = ops.shape(tensor)
    return ops.reshape(tensor, (batch, heads, rows // (heads // groups), width))


def mix_heads(scores: Tensor, mixing: Tensor) -> Tensor:
    """Return `sum_g mixing_gh scores_g` for each head h: (B, H, T, S), in float32 or wider."""
    scores = widen(scores)
    return ops.einsum("bgts,gh->bhts", scores, ops.cast(mixing, dtype_of(scores)))


def mask_best(scores: Tensor, mask: Tensor, number: int) -> Tensor:
    """Return a mask (B, H, T, S) of the admitted scores among a row's `number` largest, and ties.

    Rows with fewer admitted scores keep all.
    """
    scores = ops.stop_gradient(widen(scores))
    if mask is not None:
        scores = ops.where(mask, scores, ops.cast(LOWEST, dtype_of(scores)))
    steps = scores.shape[-1]
    number = ops.minimum(number, ops.shape(scores)[-1]) if steps is None else min(number, steps)
    among = scores >= ops.top_k(scores, number)[0][..., -1:]
    return among if mask is None else ops.logical_and(mask, among)


def sliding_mask(
    query_length: Any, memory_length: Any, start_index: Any, window: int, causal: bool
) -> Tensor:
    """Let a query at position p see the memory within a window: (1, T, S) bool.

    Causal: the last `window` positions, p's own among them, `0 <= p - s < window`; else
    `|p - s| <= window`.
    """
    rows = ops.arange(query_length, dtype="int32") + ops.cast(start_index, "int32")
    distance = rows[:, None] - ops.arange(memory_length, dtype="int32")
    if causal:
        return ops.logical_and(distance >= 0, distance < window)[None]
    return (ops.abs(distance) <= window)[None]


def split_blocks(
    queries: Tensor, keys: Tensor, values: Tensor, memory_mask: Tensor, window: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Split a causal sequence of T steps into blocks of W, whose windows need two blocks of keys.

    Queries have H heads, keys and values G; `memory_mask` is (B, T), True = attend. Returns queries
    (B N, H, W, K), keys and values (B N, G, 2 W, V), and their mask (B N, 1, W, 2 W).
    """
    behind = -queries.shape[2] % window
    real = ops.pad(memory_mask, ((0, 0), (window, behind)))
    real = ops.reshape(real, (ops.shape(real)[0], -1, window))  # (B, N + 1, W)
    real = ops.concatenate([real[:, :-1], real[:, 1:]], axis=-1)
    real = ops.reshape(real, (-1, 1, 1, 2 * window))
    distance = ops.arange(window)[:, None] + window - ops.arange(2 * window)
    near = ops.logical_and(distance >= 0, distance < window)
    return (
        _blocks(ops.pad(queries, ((0, 0), (0, 0), (0, behind), (0, 0))), window),
        _pairs(keys, window, behind),
        _pairs(values, window, behind),
        ops.logical_and(real, near),
    )


def join_blocks(blocks: Tensor, batch: Any, steps: int) -> Tensor:
    """Put blocks (B N, H, W, V) together again: (B, H, T, V)."""
    _, heads, window, width = ops.shape(blocks)
    blocks = ops.reshape(blocks, (batch, -1, heads, window, width))
    joined = ops.reshape(ops.transpose(blocks, (0, 2, 1, 3, 4)), (batch, heads, -1, width))
    return joined[:, :, :steps]


def _blocks(sequence, window):
    """Split (B, G, N W, K) into (B N, G, W, K)."""
    batch, heads, _, width = ops.shape(sequence)
    blocks = ops.reshape(sequence, (batch, heads, -1, window, width))
    return ops.reshape(ops.transpose(blocks, (0, 2, 1, 3, 4)), (-1, heads, window, width))


def _pairs(sequence, window, behind):
    """Return each block of (B, G, T, K) after the block before it: (B N, G, 2 W, K)."""
    before = ops.pad(sequence, ((0, 0), (0, 0), (window, behind), (0, 0)))
    parts = [_blocks(before[:, :, :-window], window), _blocks(before[:, :, window:], window)]
    return ops.concatenate(parts, axis=2)
