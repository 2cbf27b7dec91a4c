"""The settings by which a next token is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

from attnlab.errors import RequestError


@dataclass(frozen=True)
class Sampler:
    """How logits x become the next token: by steps in this order, which is that of transformers.

    `sampling.drawn` takes the steps.

    Attributes:
        repetition: r; tokens that occurred before, in the prompt too, get x / r if x > 0, else
            x * r (Keskar et al. 2019, arXiv 1909.05858). 1 changes nothing.
        temperature: x / temperature; 0 chooses the most probable token, the first one of equals.
        top_k: the k largest x stay, with all that equal the k-th; None: all stay.
        top_p: the fewest most probable tokens stay that have at least this mass together (Holtzman
            et al. 2019, arXiv 1904.09751); None: all stay.
        min_p: tokens with at least `min_p` times the largest probability stay (Nguyen et al. 2024,
            arXiv 2407.01082); None: all stay.

    Raises:
        RequestError: a value is out of its range, or has no effect.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition: float = 1.0

    def __post_init__(self) -> None:
        # Smaller or larger numbers would be lost in rounding.
        fits = self.temperature == 0 or self.temperature >= 1e-6
        _check("temperature", self.temperature, "0, or 1e-6 or more", fits)
        _check("repetition", self.repetition, "0.01 to 100", 0.01 <= self.repetition <= 100)
        if self.top_k is not None:
            _check("top-k", self.top_k, "1 or more", self.top_k >= 1)
        if self.top_p is not None:
            _check("top-p", self.top_p, "more than 0 and at most 1", 0 < self.top_p <= 1)
        if self.min_p is not None:
            _check("min-p", self.min_p, "a number from 0 to 1", 0 <= self.min_p <= 1)
        if self.temperature == 0:
            for name in ("top_k", "top_p", "min_p"):
                if getattr(self, name) is not None:
                    option = name.replace("_", "-")
                    raise RequestError(
                        f"--{option}: it has no effect with --temperature 0, which takes the most "
                        "probable token."
                    )


def _check(option: str, value: float, expected: str, is_right: bool) -> None:
    if not (is_right and math.isfinite(value)):
        raise RequestError(f"--{option}: expected {expected}, got {value}.")
