"""Differential attention: one map of weights minus another, Ye et al. (2024)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import keras
import numpy as np
from keras import ops

from attnlab.attention.functional import Tensor, rms_normalize, scaled_dot_score, widen
from attnlab.attention.heads import HeadsAttention
from attnlab.errors import RequestError


@keras.saving.register_keras_serializable(package="attnlab")
class DifferentialAttention(HeadsAttention):
    """Attend with the difference of two softmaxes, so that what both see cancels.

    `weights = softmax(Q_1 K_1' / sqrt(d)) - l softmax(Q_2 K_2' / sqrt(d))` for each head, whose
    values are 2 d wide; `head = (1 - l0) RMSNorm(weights V)`, one scale for all heads;
    `context = [head_1; ...; head_H] W_O`. `l = exp(a_1' b_1) - exp(a_2' b_2) + l0` with four
    vectors that all heads share, `l0 = 0.8 - 0.6 exp(-0.3 i)` in layer i of a stack, from 0.
    A row of weights adds up to 1 - l.

    Source: Ye et al. 2024 (arXiv 2410.05258), section 2.1. Difference: nothing. Head h has the
    query and key heads 2 h and 2 h + 1, as in the authors' code; Hugging Face pairs h with h + H.

    Args:
        depth: i, the layer's number in its stack, from 0; a stack of layers sets it.
        **kwargs: `heads` and `units` as for `HeadsAttention`, and those of `Attention`.

    Raises:
        RequestError: 2 `heads` don't divide `units`.
    """

    rotary: ClassVar[bool] = True
    maps: ClassVar[int] = 2

    def __init__(self, *, depth: int = 0, **kwargs: Any):
        super().__init__(**kwargs)
        self.depth = depth

    def head_size_of(self, units: int) -> int:
        """Return the width of a head's values, twice that of its queries and keys."""
        if units % (2 * self.heads):
            raise RequestError(
                f"differential attention: 2 heads = 2 * {self.heads} must divide units = {units}"
            )
        return units // self.heads

    def key_width_of(self, units: int) -> int:
        """Return d, the width of a map's queries and keys."""
        return self.head_size_of(units) // 2

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        """Create the projections, the four vectors of l and the norm's scale."""
        super().build(query_shape, memory_shape)
        for name in ("query_1", "key_1", "query_2", "key_2"):
            shape, normal = (self.key_width,), keras.initializers.RandomNormal(0.0, 0.1)
            weight = self.add_weight(name=f"lambda_{name}", shape=shape, initializer=normal)
            setattr(self, f"lambda_{name}", weight)
        self.norm_scale = self.add_weight(
            name="norm_scale", shape=(self.head_size,), initializer="ones"
        )

    @property
    def weights_are(self) -> Literal["signed"]:
        """Signed: the second map may be larger than the first."""
        return "signed"

    @property
    def start(self) -> float:
        """l0, which grows with the depth from 0.2 to 0.8."""
        return 0.8 - 0.6 * float(np.exp(-0.3 * self.depth))

    @property
    def share(self) -> Tensor:
        """l, by which the second map counts, in float32 or wider."""
        first, second = (
            ops.exp(ops.sum(widen(ops.multiply(query, key))))
            for query, key in (
                (self.lambda_query_1, self.lambda_key_1),
                (self.lambda_query_2, self.lambda_key_2),
            )
        )
        return first - second + self.start

    def align(
        self, query: Tensor, keys: Tensor, mask: Tensor, start_index: Any, bias: Tensor
    ) -> Tensor:
        """Return the difference of each head's two maps, (B, H, T, S)."""
        query = self.prepare_query(query, start_index)
        scores = scaled_dot_score(query, keys)
        if bias is not None:  # both maps of a head have the head's bias
            bias = bias if bias.shape[1] == 1 else ops.repeat(bias, 2, axis=1)
            scores = scores + ops.cast(bias, scores.dtype)
        maps = self.normalize(scores, mask)
        return maps[:, ::2] - ops.cast(self.share, maps.dtype) * maps[:, 1::2]

    def join(self, contexts: Tensor) -> Tensor:
        """Normalise each head's context, join and project them."""
        contexts = (1 - self.start) * rms_normalize(contexts, self.norm_scale, 1e-5)
        return super().join(self.as_compute(contexts))
