"""What encoders of texts give."""

from __future__ import annotations

from typing import Any, NamedTuple


class Encoding(NamedTuple):
    """What an encoder makes of rows (B, S) of tokens."""

    vectors: Any  # (B, S, W) of the last layer
    weights: Any  # (B, H, S, S) of its self-attention
