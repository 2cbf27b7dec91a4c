"""Draw the next token from logits: temperature, top-k, top-p, min-p, repetition penalty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnlab.errors import RequestError


@dataclass(frozen=True)
class Sampler:
    """Draws one token per row, by the steps below in this order, which is that of transformers.

    Each step takes logits x and returns others; -inf excludes a token.

    Attributes:
        repetition: r > 0; tokens that occurred before, in the prompt too, get x / r if x > 0, else
            x * r (Keskar et al. 2019, arXiv 1909.05858). 1 changes nothing.
        temperature: x / temperature; 0 chooses the most probable token, the first one of equals.
        top_k: the k largest x stay, with all that equal the k-th; None: all stay.
        top_p: the fewest most probable tokens stay that have at least this mass together (Holtzman
            et al. 2019, arXiv 1904.09751); None: all stay.
        min_p: tokens with at least `min_p` times the largest probability stay (Nguyen et al. 2024,
            arXiv 2407.01082); None: all stay.

    Raises:
        RequestError: a value is out of its range.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition: float = 1.0

    def __post_init__(self) -> None:
        _check("temperature", self.temperature, "0 or more", self.temperature >= 0)
        _check("repetition", self.repetition, "more than 0", self.repetition > 0)
        if self.top_k is not None:
            _check("top-k", self.top_k, "1 or more", self.top_k >= 1)
        if self.top_p is not None:
            _check("top-p", self.top_p, "more than 0 and at most 1", 0 < self.top_p <= 1)
        if self.min_p is not None:
            _check("min-p", self.min_p, "a number from 0 to 1", 0 <= self.min_p <= 1)

    def draw(
        self, logits: np.ndarray, seen: np.ndarray, draws: Sequence[np.random.Generator]
    ) -> np.ndarray:
        """Draw a token per row; a row's generator gives one number per call.

        Args:
            logits: (N, V).
            seen: (N, V) bool, the tokens that occurred before.
            draws: N generators.

        Returns:
            (N,) int64 tokens.
        """
        uniform = np.array([draw.random() for draw in draws])
        logits = self.adjusted(logits, seen)
        if self.temperature == 0:
            return logits.argmax(axis=1)
        reached = probabilities(logits).cumsum(axis=1)
        # The first token whose cumulative probability exceeds the number; never an excluded one.
        return (reached <= uniform[:, None] * reached[:, -1:]).sum(axis=1)

    def adjusted(self, logits: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Return the logits after all steps, (N, V) float64; at temperature 0 only the first."""
        logits = penalized(np.asarray(logits, np.float64), seen, self.repetition)
        if self.temperature == 0:
            return logits
        logits = logits / self.temperature
        if self.top_k is not None:
            logits = top_k(logits, self.top_k)
        if self.top_p is not None:
            logits = top_p(logits, self.top_p)
        return logits if self.min_p is None else min_p(logits, self.min_p)


def penalized(logits: np.ndarray, seen: np.ndarray, penalty: float) -> np.ndarray:
    """Make tokens that occurred before less probable, or more, if the penalty is below 1."""
    return np.where(seen, np.where(logits > 0, logits / penalty, logits * penalty), logits)


def top_k(logits: np.ndarray, count: int) -> np.ndarray:
    """Exclude all but the largest logits, and those that equal the last of them."""
    count = min(count, logits.shape[1])
    least = np.partition(logits, -count, axis=1)[:, -count, None]
    return np.where(logits >= least, logits, -np.inf)


def top_p(logits: np.ndarray, mass: float) -> np.ndarray:
    """Exclude all but the fewest most probable tokens with at least this mass."""
    if mass == 1:
        return logits
    order = (-logits).argsort(axis=1, kind="stable")
    ordered = np.take_along_axis(probabilities(logits), order, axis=1)
    before = ordered.cumsum(axis=1) - ordered  # the mass of more probable tokens
    keep = np.zeros(logits.shape, bool)
    np.put_along_axis(keep, order, before < mass, axis=1)
    return np.where(keep, logits, -np.inf)


def min_p(logits: np.ndarray, share: float) -> np.ndarray:
    """Exclude tokens with less than this share of the largest probability."""
    found = probabilities(logits)
    return np.where(found >= share * found.max(axis=1, keepdims=True), logits, -np.inf)


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Return the softmax over the last axis."""
    exponents = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponents / exponents.sum(axis=-1, keepdims=True)


def _check(option: str, value: float, expected: str, is_right: bool) -> None:
    if not (is_right and math.isfinite(value)):
        raise RequestError(f"--{option}: expected {expected}, got {value}.")
