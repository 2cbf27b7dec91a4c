"""Ridge regression of many windows at once."""

from __future__ import annotations

from collections.abc import Iterator
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
    """Fit a linear map with intercept by ridge regression: inputs (M, S), targets (M, K).

    The strength is the one with the smallest squared error on `held_out`, other inputs and targets.
    Without `held_out` it is 0: least squares, with the smallest weights if there are several
    solutions.
    """
    means, moments, products = _moments(inputs, targets)
    sizes, axes = np.linalg.eigh(moments)
    turned = axes.T @ products
    # An eigenvalue below is only rounding; windows of one number have none.
    floor = max(sizes.max(initial=0.0) * len(sizes) * np.finfo(np.float64).eps, 0.0)

    def solution(strength: float) -> LinearMap:
        stronger = sizes + strength * (sizes.mean() if len(sizes) else 0.0)
        inverse = np.divide(1.0, stronger, out=np.zeros_like(sizes), where=sizes > floor)
        kernel = axes @ (inverse[:, None] * turned)
        return LinearMap(kernel, means[1] - means[0] @ kernel)

    def error(linear_map: LinearMap) -> float:
        return float(np.mean((held_targets - linear_map(held_inputs)) ** 2))

    if held_out is None or not len(held_out[0]):
        return solution(_STRENGTHS[0])
    held_inputs, held_targets = held_out
    return min(map(solution, _STRENGTHS), key=error)


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
