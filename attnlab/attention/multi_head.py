"""Multi-head attention of Vaswani et al. (2017), and what later models added to it."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import keras
from keras import ops

from attnlab.attention import head_options
from attnlab.attention.base import ProjectedMemory
from attnlab.attention.functional import (
    Tensor,
    dtype_of,
    require_choice,
    rms_normalized,
    scaled_dot_score,
    sink_softmax,
    widen_scores,
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
        book: the seed book's layer (listing 16.6): the projections are d_k wide *together*, split
            over the heads, while the scores are still divided by `sqrt(d_k)` (131,776).
        biases: whether the four projections have biases b.
        kv_heads: number G of heads of keys and values, a divisor of H (Ainslie et al. 2023, arXiv
            2305.13245); query head h reads head floor(h G / H). G = 1 is multi-query attention.
            2 d_k (H - G) (width + 1) parameters less. x-transformers has h mod G instead. None: H.
        query_key_norm: whether each head's query and key x becomes `g x / sqrt(mean(x^2) + 1e-6)`
            before rotary positions, one g (d_k) for all queries and one for all keys (Qwen3). Henry
            et al. 2020 (arXiv 2010.04245) use a cosine and one learned number instead.
        softcap: c > 0; S become `c tanh(S / c)`, before any position bias and the mask (Gemma 2,
            arXiv 2408.00118). None: no limit.
        talking_heads: whether one H x H matrix mixes the scores of the heads before any position
            bias and the mask, and another one the weights (Shazeer et al. 2020, arXiv 2003.02436).
            Both start as the identity; the paper draws them. Weights then have any sign.
        window: W, in steps of one sequence. With `causal`, a query sees the last W positions, its
            own among them (`p - s < W`, as in Hugging Face; flash-attn and x-transformers see
            W + 1). Otherwise `|p - s| <= W`. Causal sequences longer than 2 W are computed in
            blocks: time and memory grow with T W. None: the whole memory.
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
        return ops.cast(rms_normalized(tensor), dtype_of(tensor)) * self.as_compute(scale)

    def reach(
        self, query_length: Any, memory_length: Any, start_index: Any, causal: bool
    ) -> Tensor | None:
        """Return which positions are in the window, (1, T, S) bool; see `Attention`."""
        lengths = query_length, memory_length, start_index
        if self.window is None:
            return super().reach(*lengths, causal)
        return head_options.sliding_mask(*lengths, self.window, causal)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return each head's scores, (B, H, T, S)."""
        grouped = head_options.by_group(query, self.key_heads) if self.kv_heads else query
        scores = scaled_dot_score(grouped, keys, self.head_size * (self.heads if self.book else 1))
        scores = head_options.by_head(scores, self.heads) if self.kv_heads else scores
        if self.softcap is not None:
            scores = self.softcap * ops.tanh(widen_scores(scores) / self.softcap)
        return head_options.mixed(scores, self.score_mixing) if self.talking_heads else scores

    def normalize(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Turn scores (B, H, T, S) into weights, in float32 or wider; masked weights are 0."""
        if self.top_k is not None:
            mask = head_options.best(scores, mask, self.top_k)
        if self.sink:
            weights = sink_softmax(scores, mask, self.sink_score)
        else:
            weights = super().normalize(scores, mask)
        return head_options.mixed(weights, self.weight_mixing) if self.talking_heads else weights

    def read(self, weights: Tensor, values: Tensor, query: Tensor) -> Tensor:
        """Sum each head's values, gate and join the heads, project them: (B, T, units)."""
        return self.join(self.gated(self.summed(weights, values), query))

    def summed(self, weights: Tensor, values: Tensor) -> Tensor:
        """Sum each head's values by their weights: (B, H, T, V)."""
        if not self.kv_heads:
            return ops.matmul(weights, values)
        grouped = head_options.by_group(weights, self.key_heads)
        return head_options.by_head(ops.matmul(grouped, values), self.heads)

    def gated(self, contexts: Tensor, query: Tensor) -> Tensor:
        """Multiply the heads' contexts (B, H, T, V) by the gates of the query."""
        if self.gate == "none":
            return contexts
        return contexts * ops.sigmoid(self.split(query, self.gate_kernel))

    def direct_context(
        self,
        query: Tensor,
        memory: ProjectedMemory,
        memory_mask: Tensor,
        causal: bool,
        start_index: Any,
    ) -> Tensor | None:
        """Return the context of a causal sequence longer than two windows, block by block."""
        steps, window = query.shape[1], self.window
        whole = causal and isinstance(start_index, int) and start_index == 0
        same = steps is not None and steps == memory.values.shape[-2]
        if window is None or not (whole and same and steps > 2 * window):
            return None
        batch = ops.shape(query)[0]
        real = ops.ones((batch, steps), "bool") if memory_mask is None else memory_mask
        queries = self.prepare_query(query)
        blocks = head_options.in_blocks(queries, memory.keys, memory.values, real, window)
        weights = self.normalize(self.score(blocks.queries, blocks.keys), blocks.mask)
        contexts = self.summed(self.as_compute(weights), blocks.values)
        contexts = head_options.out_of_blocks(contexts, batch, steps)
        context = self.join(self.gated(contexts, query))
        if memory_mask is None:
            return context
        looks = ops.any(blocks.mask, axis=-1, keepdims=True)
        looks = head_options.out_of_blocks(looks, batch, steps)[:, 0]
        return ops.where(looks, context, ops.zeros((), context.dtype))
