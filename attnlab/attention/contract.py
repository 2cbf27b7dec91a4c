"""The contract of mechanisms: checks for the tests and for `attnlab check-mechanism`.

A check gets `make`, which makes the layer with some settings changed; its docstring is the rule.
It raises `AssertionError` with the reason, or the layer's own error.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from attnlab.attention.base import Attention, AttentionOutput
from attnlab.attention.functional import Tensor, causal_mask
from attnlab.errors import RequestError

B, T, S, W = 2, 3, 5, 16  # four heads have to divide the width, the rest is prime
LENGTHS = np.array([[[1, 1, 1, 1, 1]], [[1, 1, 1, 0, 0]]], bool)
Make = Callable[..., Attention]
_OVERFLOW = "scale powers and exponentials down before they overflow"


def normal(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    """Return standard normal numbers, which depend only on shape and seed."""
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


MEMORY = normal(B, S, W, seed=2)


def variants(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return changes of a YAML's settings: all choices in a few rows, then a row per switch."""
    rules = {key: rule for key, rule in content.get("rules", {}).items() if key in content}
    choices = {key: rule["choices"] for key, rule in rules.items() if "choices" in rule}
    count = max(map(len, choices.values()), default=1)
    rows = [{key: names[i % len(names)] for key, names in choices.items()} for i in range(count)]
    switches = [key for key, rule in rules.items() if rule.get("type") == "bool"]
    return rows + [{key: not content[key]} for key in switches]


def settings(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constructor's arguments in a YAML."""
    return {k: v for k, v in content.items() if k not in ("name", "_target_", "rules")}


def build_layer(make: Make, **changes: Any) -> Attention:
    """Return the built layer with random weights."""
    layer = make(**changes)
    layer.build((B, T, W), (B, S, W))
    for number, weight in enumerate(layer.weights):
        if "seed" not in weight.path:
            weight.assign(normal(*weight.shape, seed=50 + number, dtype=weight.dtype) / 2)
    return layer


def weighted_sum(output: AttentionOutput) -> Tensor:
    """Return a loss in which each number of the output has its own factor."""
    factors = [tf.constant(normal(*x.shape, seed=9 + i)) for i, x in enumerate(output)]
    return sum(tf.reduce_sum(x * tf.cast(f, x.dtype)) for x, f in zip(output, factors, strict=True))


def query_of(layer: Attention, dtype: str = "float32") -> np.ndarray:
    """Return queries (B, T, W), or (B, S, W) for a mechanism that looks at its own past only."""
    return normal(B, S if layer.causal_only else T, W, seed=1, dtype=dtype)


def attend(layer: Attention, query: Tensor, memory: Tensor, **settings: Any) -> AttentionOutput:
    """Call the layer, causally if it is defined in no other way."""
    return layer(query, memory, causal=layer.causal_only, **settings)


def results(
    layer: Attention, query: Tensor, memory: Tensor, **settings: Any
) -> dict[str, np.ndarray]:
    """Return context, weights, and the gradients of `weighted_sum`, by name."""
    query = tf.convert_to_tensor(query)
    with tf.GradientTape() as tape:
        tape.watch(query)
        output = attend(layer, query, memory, **settings)
        loss = weighted_sum(output)
    named = {"query": query, **{weight.path: weight.value for weight in layer.trainable_weights}}
    gradients = tape.gradient(loss, named, unconnected_gradients="zero")
    gradients = {f"the gradient of {name}": value for name, value in gradients.items()}
    return {k: np.array(v) for k, v in {**output._asdict(), **gradients}.items()}


def check_outputs(make: Make) -> None:
    """A call returns a context (B, T, V) and valid weights (B, H, T, S)."""
    layer = build_layer(make)
    query = query_of(layer)
    output, steps = attend(layer, query, MEMORY), query.shape[1]
    for name, shape, letters in (
        ("context", (B, steps, layer.context_width(W, W)), "(B, T, context_width(Q, M))"),
        ("weights", (B, layer.heads, steps, S), "(B, H, T, S)"),
    ):
        actual = tuple(getattr(output, name).shape)
        _require(actual == shape, f"{name} must be {letters} = {shape}, got {actual}")
    _finite(output._asdict())
    weights, what = np.array(output.weights), layer.weights_are
    low, most = weights.min(), weights.sum(-1).max()
    _require(low >= 0 or what == "signed", f"{what} must be 0 at least, got {low:.3g}")
    fits = most < 1 + 1e-5 or what != "shares"
    _require(fits, f"a query's shares must add up to 1 at most, got {most:.3g}")


def check_precision(make: Make) -> None:
    """Large values don't overflow, and mixed precision stays close to float32."""
    wide, half = (build_layer(make, dtype=dtype) for dtype in ("float32", "mixed_bfloat16"))
    query, masks = query_of(wide), {"memory_mask": LENGTHS[:, 0]}
    exact, output = (attend(layer, query, MEMORY, **masks) for layer in (wide, half))
    types = {tensor.dtype.name for tensor in output}
    _require(types == {"bfloat16"}, f"in bfloat16 it gives {types}")
    for layer, what, advice in (
        (wide, "of large values", _OVERFLOW),
        (half, "in bfloat16", "compute it in float32, by attnlab.attention.functional.widen"),
    ):
        large = attend(layer, 300 * query, layer.project(300 * MEMORY), **masks)._asdict()
        large = {f"{name} {what}": tf.cast(value, "float32") for name, value in large.items()}
        _finite(large, advice)
    _same(tf.cast(output.context, "float32"), exact.context, 0.15, "in bfloat16")


def check_projection(make: Make) -> None:
    """Memory that `project` has projected gives the same as raw memory."""
    layer = build_layer(make)
    projected = layer.project(MEMORY)
    axes = {(x.shape[0], x.shape[-2]) for x in projected}
    _require(axes == {(B, S)}, f"batch and steps of keys and values are {axes}, expected {(B, S)}")
    query = query_of(layer)
    _same(attend(layer, query, MEMORY), attend(layer, query, projected), 0)


def check_padding(make: Make) -> None:
    """Masked memory has no weight and changes no bit of results or gradients."""
    layer, padded = build_layer(make), MEMORY.copy()
    padded[1, 3:] = -3e4
    query, mask = query_of(layer), LENGTHS[:, 0]
    one, other = (results(layer, query, memory, memory_mask=mask) for memory in (MEMORY, padded))
    _finite(other, _OVERFLOW)
    for name in one:
        _same(one[name], other[name], 0, name)
    _same(one["weights"][1, :, :, 3:], 0, 0, "a masked weight")


def check_fully_masked(make: Make) -> None:
    """A fully masked query: zero weights, zero context, finite gradients."""
    layer, mask = build_layer(make), np.ones((B, S), bool)
    mask[1] = False
    masked = results(layer, query_of(layer), MEMORY, memory_mask=mask)
    _same(masked["weights"][1], 0, 0, "weights")
    _same(masked["context"][1], 0, 0, "context")
    _finite(masked)


def check_zero_states(make: Make) -> None:
    """All results and gradients are finite if query and memory are zero."""
    layer = build_layer(make)
    _finite(results(layer, np.zeros_like(query_of(layer)), np.zeros_like(MEMORY)))


def check_stepwise(make: Make) -> None:
    """Queries one at a time, by `start_index`, give the same as all at once."""
    layer = build_layer(make)
    layer.window = 1  # so that the position of a query matters where there is one
    query, start = query_of(layer), 0 if layer.causal_only else 1
    mask = LENGTHS & np.array(causal_mask(query.shape[1], S, start_index=start))
    together = attend(layer, query, MEMORY, mask=mask, start_index=start)
    projected = layer.project(MEMORY)
    for t in range(query.shape[1]):
        row = {"mask": mask[:, t : t + 1], "start_index": tf.constant(start + t)}
        step = attend(layer, query[:, t : t + 1], projected, **row)
        _same(step.context[:, 0], together.context[:, t], 1e-5, f"the context of query {t}")
        _same(step.weights[:, :, 0], together.weights[:, :, t], 1e-5, f"the weights of query {t}")


def check_own_past(make: Make) -> None:
    """A sequence step by step with a cache gives the same as all at once.

    Then again with a position bias and those of `rope` and a short convolution that it can have.
    """
    layer = build_layer(make)
    if layer.fixed_length is None:
        _check_cache(layer, None)
    if not layer.fixed_length or layer.fixed_length > S or layer.rotary:
        _check_cache(layer, S)
    rope, convolution = {"rope": True}, {"short_convolution": 3}
    for options in ({**rope, **convolution}, rope, convolution):
        try:
            layer = build_layer(make, **options)
            for length in [S] if layer.fixed_length else [None, S]:
                _check_cache(layer, length, _distances if layer.takes_bias else None)
            return
        except RequestError as error:  # not every mechanism or width can have both
            refusals = ("model.positions=rope", "model.short_convolution", "a short convolution")
            _require(any(words in str(error) for words in refusals), str(error))


def check_position_bias(make: Make) -> None:
    """A position bias changes the weights, or the mechanism refuses it."""
    layer = build_layer(make)
    query = query_of(layer)
    plain = attend(layer, query, MEMORY).weights
    try:
        biased = attend(layer, query, MEMORY, position_bias=_distances).weights
    except RequestError:
        return _require(not layer.takes_bias, "takes_bias is true, but a bias is refused")
    difference = np.abs(np.array(biased) - np.array(plain)).max()
    _require(difference > 1e-3, "takes_bias is true, but a bias of 1/2 a step changes no weight")


def _distances(steps, memory_steps, start_index):
    """Return a position bias, (1, 1, T, S): (position of the memory step - query's) / 2."""
    rows = tf.range(steps)[:, None] + start_index
    return tf.cast(tf.range(memory_steps) - rows, "float32")[None, None] / 2


def _check_cache(layer: Attention, length: int | None, bias: Any = None) -> None:
    together, at = layer(MEMORY, MEMORY, causal=True, position_bias=bias).context, 0
    cache = layer.empty_cache(B, length, W)
    for steps in (1, 2, 1, S - 4):
        vectors = MEMORY[:, at : at + steps]
        output, cache = layer.attend_to_past(vectors, cache, start_index=at, position_bias=bias)
        _same(output.context, together[:, at : at + steps], 1e-5, f"the context from {at} on")
        at += steps


def check_direct_context(make: Make) -> None:
    """The context is the same with and without a mask that masks nothing."""
    layer = build_layer(make)
    query, admitted = query_of(layer), np.ones((1, 1, 1), bool)
    _same(attend(layer, query, MEMORY), attend(layer, query, MEMORY, mask=admitted), 1e-5)


def check_compiled(make: Make) -> None:
    """The eager call, a graph of unknown lengths and XLA give the same."""
    layer = build_layer(make)

    def call(query, memory, mask, index):
        settings = {"memory_mask": mask, "start_index": 0 if layer.causal_only else index}
        return tuple(attend(layer, query, layer.project(memory), **settings))

    unknown = [tf.TensorSpec((None, None, W)), tf.TensorSpec((None, None, W))]
    unknown += [tf.TensorSpec((None, None), tf.bool), tf.TensorSpec((), tf.int32)]
    arguments = (query_of(layer), MEMORY, LENGTHS[:, 0], tf.constant(1))
    eager = call(*arguments)
    graph = tf.function(call, input_signature=unknown, autograph=False)  # as training has it
    _same(eager, graph(*arguments), 1e-6, "as a graph")
    xla = tf.function(call, jit_compile=True, autograph=False)
    _same(eager, xla(*arguments), 1e-5, "by XLA")


def check_gradients(make: Make) -> None:
    """Gradients in float64 agree with central differences."""
    layer = build_layer(make, dtype="float64")
    memory = normal(B, S, W, seed=S, dtype="float64")
    inputs = [tf.Variable(query_of(layer, "float64")), tf.Variable(memory)]

    def loss():
        query, memory = (tf.identity(x) for x in inputs)
        return weighted_sum(attend(layer, query, memory, memory_mask=LENGTHS[:, 0]))

    with tf.GradientTape() as tape:
        value = loss()
    tensors = [*inputs, *(w.value for w in layer.trainable_weights)]
    names = ["query", "memory", *(w.path for w in layer.trainable_weights)]
    gradients = tape.gradient(value, tensors, unconnected_gradients="zero")
    for number, (tensor, gradient) in enumerate(zip(tensors, gradients, strict=True)):
        direction = normal(*tensor.shape, seed=70 + number, dtype="float64")
        start, ends = tensor.numpy(), []
        for sign in (1, -1):
            tensor.assign(start + sign * 1e-6 * direction)
            ends.append(float(loss()))
        tensor.assign(start)
        slope = (ends[0] - ends[1]) / 2e-6
        tolerance = 1e-7 + 1e-6 * abs(slope)
        _same(np.sum(gradient * direction), slope, tolerance, f"the gradient of {names[number]}")


def check_saving(make: Make) -> None:
    """A saved Keras model gives the same after loading."""
    layer = make()
    name, values = keras.saving.get_registered_name(type(layer)), query_of(layer)
    _require(">" in name, f"{name} needs @keras.saving.register_keras_serializable()")
    query, memory = keras.Input(values.shape[1:]), keras.Input((S, W))
    model = keras.Model([query, memory], list(attend(layer, query, memory)))
    with tempfile.NamedTemporaryFile(suffix=".keras") as file:
        model.save(file.name)
        loaded = keras.models.load_model(file.name)
        _same(model([values, MEMORY]), loaded([values, MEMORY]), 0)


def check_widths(make: Make) -> None:
    """Unequal widths work, or `require_equal_widths` refuses them."""
    layer, memory = make(), normal(B, S, 11)
    query = query_of(layer)
    try:
        context = attend(layer, query, memory).context
    except Exception as error:
        refused = isinstance(error, ValueError) and "of equal width, got 16 and 11" in str(error)
        _require(refused, f"build() must call it, now there is: {type(error).__name__}")
    else:
        shape = (B, query.shape[1], layer.context_width(W, 11))
        _require(tuple(context.shape) == shape, f"the context has {tuple(context.shape)}")


CHECKS = [check for name, check in list(globals().items()) if name.startswith("check_")]


def _require(condition: Any, reason: str) -> None:
    if not condition:
        raise AssertionError(reason)


def _same(one: Any, other: Any, tolerance: float, what: str = "the result") -> None:
    """Require equal arrays, or pairs of equal arrays, up to a tolerance."""
    pairs = zip(one, other, strict=True) if isinstance(one, list | tuple) else [(one, other)]
    error = max(np.abs(np.asarray(a, "float64") - np.asarray(b)).max() for a, b in pairs)
    _require(error <= tolerance, f"{what} differs by {error:.3g}, expected {tolerance:.3g} at most")


def _finite(arrays: Mapping[str, Any], advice: str = "a norm or a quotient in score()?") -> None:
    wrong = [name for name, value in arrays.items() if not np.all(np.isfinite(value))]
    _require(not wrong, f"not finite: {', '.join(wrong)}; {advice}")
