"""Compare a mechanism over its own past with the same in PyTorch, gradients included."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from attnlab.attention.contract import normal

B, T, W, H = 2, 7, 12, 3  # three heads of four


def with_random_weights(layer, width: int = W):
    """Build a layer for vectors of a width, with random weights."""
    layer.build((B, T, width), (B, T, width))
    for number, weight in enumerate(layer.weights):
        weight.assign(normal(*weight.shape, seed=20 + number) / 2)
    return layer


def own_past(layer, vectors, **settings):
    """Return the causal context of vectors (B, T, W) and gradients of its squares, by name."""
    vectors = tf.convert_to_tensor(vectors)
    with tf.GradientTape() as tape:
        tape.watch(vectors)
        context = layer(vectors, vectors, causal=True, **settings).context
        loss = tf.reduce_sum(context**2)
    named = {"vectors": vectors, **{each.name: each.value for each in layer.trainable_weights}}
    return context, tape.gradient(loss, named)


def assert_is_torchs(layer, reference, most: float = 1e-5, steps: int = T) -> None:
    """Compare a layer with `reference(vectors, **weights)` of PyTorch tensors.

    Differences are at most `most` times the largest number.
    """
    torch = pytest.importorskip("torch")
    vectors = normal(B, steps, W, seed=3)
    context, gradients = own_past(with_random_weights(layer), vectors)
    given = {"vectors": vectors, **{each.name: np.array(each) for each in layer.weights}}
    given = {name: torch.tensor(each, requires_grad=True) for name, each in given.items()}
    expected = reference(**given)
    (expected**2).sum().backward()
    found = {"context": context, **gradients}
    wanted = {"context": expected.detach(), **{name: each.grad for name, each in given.items()}}
    for name, value in wanted.items():
        near = most * max(1, value.abs().max())
        np.testing.assert_allclose(found[name], value, rtol=0, atol=near, err_msg=name)


def by_head(tensor, kernel):
    """Project PyTorch's vectors and split them: (B, T, W) to (B, H, T, K)."""
    return (tensor @ kernel).unflatten(-1, (H, -1)).transpose(1, 2)


def joined(contexts, kernel):
    """Join the heads (B, H, T, V) and project them: (B, T, units)."""
    return contexts.transpose(1, 2).flatten(2) @ kernel


def fla_naive(name: str):
    """Load `fla.ops.NAME.naive` by its path; all of `fla.ops` loads Triton, which needs a GPU."""
    pytest.importorskip("torch")
    pytest.importorskip("einops")
    package = importlib.util.find_spec("fla")
    if package is None:
        pytest.skip("could not import 'fla': pip install --no-deps fla-core einops")
    path = Path(package.submodule_search_locations[0], "ops", name, "naive.py")
    spec = importlib.util.spec_from_file_location(f"naive_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
