"""What turns scores into weights: the setting `attention.normalizer`.

Each function takes scores (..., S) and None or a mask that can be broadcast to their shape, True =
attend. It returns weights of that shape in float32 or wider. Masked weights are exactly 0, and a
row without an admitted position has zero weights and zero gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attnlab.attention.functional import masked_softmax

NORMALIZERS: dict[str, Callable[[Any, Any], Any]] = {"softmax": masked_softmax}
