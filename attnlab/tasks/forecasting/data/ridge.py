"""Ridge regression of many windows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

Known = tuple[np.ndarray, np.ndarray]  # inputs (N, S) and their targets (N, K)
# Strengths to choose from, relative to the mean square of the centred inputs.
_STRENGTHS = (0.0, *(10.0**power for power in range(-6, 1)))
_CHUNK = 4096  # windows that are in memory as float64 at once


class LinearMap(NamedTuple):
    """x -> x kernel + bias."""

    kernel: np.ndarray  # (S, K)
    bias: np.ndarray  # (K,)

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """Map (N, S) to (N, K)."""
        return inputs @ self.kernel + self.bias


def ridge(inputs: np.ndarray, targets: np.ndarray, held_out: Known | None = None) -> LinearMap:
    """Fit a linear map with intercept by ridge regression.

    The strength is the one with the smallest squared error on `held_out`. Without `held_out` it is
    0: least squares, with the smallest weights if there are several solutions.

    Args:
        inputs: (M, S).
        targets: (M, K).
        held_out: other inputs and targets.
    """
    means, moments, products = _moments(inputs, targets)
    sizes, axes = np.linalg.eigh(moments)
    turned = axes.T @ products

    def solution(strength: float) -> LinearMap:
        kernel = axes @ (_inverse(sizes, strength)[:, None] * turned)
        return LinearMap(kernel, means[1] - means[0] @ kernel)

    if held_out is None or not len(held_out[0]):
        return solution(_STRENGTHS[0])
    return min(map(solution, _STRENGTHS), key=_missed(*held_out))


def _missed(inputs: np.ndarray, targets: np.ndarray) -> Callable[[LinearMap], float]:
    return lambda solution: float(np.mean((targets - solution(inputs)) ** 2))


def _moments(
    inputs: np.ndarray, targets: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
    """Return the means of inputs and targets, and the sums of their centred products."""
    width, steps = inputs.shape[1], targets.shape[1]

    def parts() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for at in range(0, len(inputs), _CHUNK):
            chunk = slice(at, at + _CHUNK)
            yield inputs[chunk].astype(np.float64), targets[chunk].astype(np.float64)

    sums = sum(np.hstack(part).sum(axis=0) for part in parts())
    means = np.split(sums / len(inputs), [width])
    moments, products = np.zeros((width, width)), np.zeros((width, steps))
    for inputs_, targets_ in parts():
        inputs_ -= means[0]
        moments += inputs_.T @ inputs_
        products += inputs_.T @ (targets_ - means[1])
    return (means[0], means[1]), moments, products


def _inverse(sizes: np.ndarray, strength: float) -> np.ndarray:
    """Return 1 / (eigenvalue + strength * mean eigenvalue); 0 if an eigenvalue is only rounding."""
    if not len(sizes):  # windows of one number
        return sizes
    floor = sizes.max() * len(sizes) * np.finfo(np.float64).eps
    significant = sizes > max(floor, 0.0)
    return np.divide(
        1.0, sizes + strength * sizes.mean(), out=np.zeros_like(sizes), where=significant
    )
