"""Multi-head attention of Vaswani et al. (2017), and what later models added to it."""

from __future__ import annotations

from typing import ClassVar, Literal

import keras
from keras import ops

from attnlab.attention import head_options
from attnlab.attention.base import ProjectedMemory
from attnlab.attention.functional import scaled_dot_score
from attnlab.attention.heads import HeadsAttention
from attnlab.attention.normalizers import sink_softmax
from attnlab.attention.requirements import require_choice
from attnlab.errors import RequestError

GATES = ("none", "headwise", "elementwise")
OWN = (
    *("book", "biases", "kv_heads", "window", "sink", "gate"),
    *("query_key_norm", "softcap", "talking_heads", "top_k"),
)


@keras.saving.register_keras_serializable(package="attnlab")
class MultiHeadAttention(HeadsAttention):
    """Attend with several heads at once, each to another projection of the same vectors.

    `head_i = softmax(Q_i K_i' / sqrt(d_k)) V_i` with `Q_i = query W_Q_i + b_Q_i` and the like,
    `d_k = d_v = units / heads`; `context = [head_1; ...; head_H] W_O + b_O`, `units` wide.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.2. Difference: biases, which the
    paper doesn't print and the usual implementations have (1,050,624 parameters at 512 units and
    8 heads). With `book=True` the seed book's layer (listing 16.6): the projections are d_k wide
    *together*, split over the heads, while the scores are still divided by `sqrt(d_k)` (131,776).

    The options are those of later models, in the order in which they act:

    - `kv_heads` (Ainslie et al. 2023, arXiv 2305.13245): G heads of keys and values; query head h
      reads head floor(h G / H). G = 1 is multi-query attention. 2 d_k (H - G) (width + 1)
      parameters less. x-transformers has h mod G instead.
    - `query_key_norm` (Qwen3): each head's query and key x becomes `g x / sqrt(mean(x^2) + 1e-6)`
      before rotary positions, one g (d_k) for all queries and one for all keys. Henry et al. 2020
      (arXiv 2010.04245) use a cosine and one learned number instead.
    - `softcap` (Gemma 2, arXiv 2408.00118): scores S become `c tanh(S / c)`, before any position
      bias and the mask.
    - `talking_heads` (Shazeer et al. 2020, arXiv 2003.02436): one H x H matrix mixes the scores of
      the heads before any position bias and the mask, another one the weights. Both start as the
      identity; the paper draws them. Weights then have any sign.
    - `window`: with `causal`, a query sees the last W positions, its own among them (`p - s < W`,
      as in Hugging Face; flash-attn and x-transformers see W + 1). Otherwise `|p - s| <= W`.
      Causal sequences longer than 2 W are computed in blocks: time and memory grow with T W.
    - `top_k` (Zhao et al. 2019, arXiv 1912.11637): only the k largest admitted scores of a query
      get weights, and those equal to the k-th.
    - `sink` (GPT-OSS, arXiv 2508.10925): `exp(S) / (exp(a) + sum exp(S))` with one learned a for
      each head, from N(0, 0.02).
    - `gate` (Qiu et al. 2025, arXiv 2505.06708): each head's context times `sigmoid(query W_g)`
      before W_O: a number per head ("headwise"), or one per element ("elementwise").

    Args:
        heads: number of heads H.
        units: width of all heads together and of the context; None takes the width of the query.
        book: whether to project as narrowly as the book.
        biases: whether the four projections have biases b.
        kv_heads: number G of heads of keys and values; it divides H. None: H.
        window: W, in steps; None: the whole memory. Query and memory must be one sequence.
        sink: whether a weight can go to a learned sink; only with softmax.
        gate: "none", "headwise" or "elementwise".
        query_key_norm: whether to normalise queries and keys.
        softcap: c, the largest score; None: no limit.
        talking_heads: whether heads are mixed.
        top_k: k; None: all.

    Raises:
        RequestError: `heads` doesn't divide `units` (with `book`, units / heads); an option is out
            of range, or doesn't fit another one.
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
        window: int | None = None,
        sink: bool = False,
        gate: str = "none",
        query_key_norm: bool = False,
        softcap: float | None = None,
        talking_heads: bool = False,
        top_k: int | None = None,
        **kwargs,
    ):
        super().__init__(heads=heads, units=units, **kwargs)
        self.book, self.biases = bool(book), bool(biases)
        self.kv_heads, self.window, self.top_k, self.softcap = kv_heads, window, top_k, softcap
        self.gate = require_choice("gate", gate, GATES)
        self.sink, self.query_key_norm = bool(sink), bool(query_key_norm)
        self.talking_heads = bool(talking_heads)
        self._check_options()
        if units is not None:
            self._sizes(units)

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

    @property
    def key_heads(self) -> int:
        """G, the number of heads of keys and values."""
        return self.kv_heads or self.heads

    def build(self, query_shape, memory_shape):
        """Create the projections, with biases if there are any, and the options' weights."""
        units = self.units or query_shape[-1]
        self.head_size, inner = self._sizes(units)
        size = inner // self.heads
        shared = self.key_heads * size
        for name, width, projected in (
            ("query", query_shape[-1], inner),
            ("key", memory_shape[-1], shared),
            ("value", memory_shape[-1], shared),
        ):
            setattr(self, f"{name}_kernel", self.add_kernel(f"{name}_kernel", (width, projected)))
            setattr(self, f"{name}_bias", self.add_bias(f"{name}_bias", projected))
        self.output_kernel = self.add_kernel("output_kernel", (inner, units))
        self.output_bias = self.add_bias("output_bias", units)
        of_keys = (self.key_heads, size)
        self.add_short_convolutions(query=(self.heads, size), keys=of_keys, values=of_keys)
        self._build_options(query_shape[-1], size)

    def _build_options(self, width: int, size: int) -> None:
        """Create the options' weights, for queries of a width and heads of a size."""
        heads = self.heads
        if self.query_key_norm:
            self.query_scale = self.add_weight(
                name="query_scale", shape=(size,), initializer="ones"
            )
            self.key_scale = self.add_weight(name="key_scale", shape=(size,), initializer="ones")
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
            self.gate_kernel = self.add_kernel("gate_kernel", (width, gates))

    def project_memory(self, memory) -> ProjectedMemory:
        """Return keys and values, each (B, G, S, K)."""
        return ProjectedMemory(
            self.split(memory, self.key_kernel, self.key_bias, self.key_heads),
            self.split(memory, self.value_kernel, self.value_bias, self.key_heads),
        )

    def project_query(self, query):
        """Return each head's query, (B, H, T, K)."""
        return self.split(query, self.query_kernel, self.query_bias)

    def activate(self, name, tensor):
        """Normalise queries and keys, if `query_key_norm` says so."""
        if not self.query_key_norm or name == "values":
            return tensor
        scale = self.query_scale if name == "query" else self.key_scale
        return head_options.unit_rms(tensor, self.as_compute(scale))

    def reach(self, query_length, memory_length, start_index, causal):
        """Return which positions are in the window, (1, T, S) bool; see `Attention`."""
        if self.window is None:
            return super().reach(query_length, memory_length, start_index, causal)
        return head_options.sliding_mask(
            query_length, memory_length, start_index, self.window, causal
        )

    def score(self, query, keys):
        """Return each head's scores, (B, H, T, S)."""
        grouped = head_options.by_group(query, self.key_heads) if self.kv_heads else query
        scores = scaled_dot_score(grouped, keys, self.head_size)
        scores = head_options.by_head(scores, self.heads) if self.kv_heads else scores
        if self.softcap is not None:
            scores = head_options.capped(scores, self.softcap)
        return head_options.mixed(scores, self.score_mixing) if self.talking_heads else scores

    def normalize(self, scores, mask):
        """Turn scores (B, H, T, S) into weights, in float32 or wider; masked weights are 0."""
        if self.top_k is not None:
            mask = head_options.best(scores, mask, self.top_k)
        if self.sink:
            weights = sink_softmax(scores, mask, self.sink_score)
        else:
            weights = super().normalize(scores, mask)
        return head_options.mixed(weights, self.weight_mixing) if self.talking_heads else weights

    def read(self, weights, values, query):
        """Sum each head's values, gate and join the heads, project them: (B, T, units)."""
        return self.join(self.gated(self.summed(weights, values), query))

    def summed(self, weights, values):
        """Sum each head's values by their weights: (B, H, T, V)."""
        if not self.kv_heads:
            return ops.matmul(weights, values)
        grouped = head_options.by_group(weights, self.key_heads)
        return head_options.by_head(ops.matmul(grouped, values), self.heads)

    def gated(self, contexts, query):
        """Multiply the heads' contexts (B, H, T, V) by the gates of the query."""
        if self.gate == "none":
            return contexts
        return contexts * ops.sigmoid(self.split(query, self.gate_kernel))

    def direct_context(self, query, memory, memory_mask, causal, start_index):
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

    def join(self, contexts):
        """Join the heads' contexts (B, H, T, V) and project them: (B, T, units)."""
        return self.affine(self.side_by_side(contexts), self.output_kernel, self.output_bias)

    def add_bias(self, name, width):
        """Create a bias of zeros; None without biases."""
        if not self.biases:
            return None
        return self.add_weight(name=name, shape=(width,), initializer="zeros")

    def _sizes(self, units: int) -> tuple[int, int]:
        """Return d_k, and the width of all heads' queries together."""
        inner = units // self.heads if self.book else units
        if units % self.heads or inner % self.heads:
            total = f"units / heads = {units} / {self.heads}" if self.book else f"units = {units}"
            raise RequestError(f"heads = {self.heads} must divide {total}")
        return units // self.heads, inner

    def _check_options(self) -> None:
        for name in ("kv_heads", "window", "top_k"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise RequestError(f"{name} must be at least 1, got {value!r}")
        if self.softcap is not None and self.softcap <= 0:
            raise RequestError(f"softcap must be above 0, got {self.softcap!r}")
        if self.heads % self.key_heads:
            raise RequestError(f"kv_heads = {self.kv_heads} must divide heads = {self.heads}")
        if self.book and self.kv_heads:
            raise RequestError("book=true has keys for every head: kv_heads must be null")
        if self.sink and self.normalizer != "softmax":
            raise RequestError(f"sink=true needs normalizer=softmax, got {self.normalizer}")
