"""CTranslate2: the weights of a Transformer in its specification, which it runs itself.

An untrained output for tokens that a model never writes is -1e9.
"""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.attention.base import Attention
from attnlab.attention.multi_head import MultiHeadAttention
from attnlab.errors import RequestError
from attnlab.layers.positional_encoding import sinusoidal
from attnlab.layers.sublayers import RMSNormalization
from attnlab.tasks.exported import Arrays, Exported, Stack, Transformer
from attnlab.text.tokenizers import END, PAD, START, UNKNOWN, pad_rows

_NEVER = -1e9
_ACTIVATIONS = {"relu": 0, "silu": 2, "gelu": 3, "tanh": 5}  # CTranslate2's numbers
# Settings of multi-head attention that have a counterpart, or that change no prediction.
_HAVE = {"heads", "units", "biases", "rope", "dropout", "seed", "kwargs"}


def write(exported: Exported, folder: Path) -> Arrays:
    """Write the folder `model`, and return the tokens that the written model gives per test item.

    Raises:
        RequestError: the specification has no counterpart of the model.
    """
    form = exported.transformer
    if form is None:
        raise RequestError(
            "--format ctranslate2: expected a translator with model=transformer, got another "
            "model: use --format saved_model."
        )
    _refuse(form)
    save(form, folder / "model")
    import ctranslate2

    sources = [text for text, _ in form.encoder.tokens]
    numbers = {text: number for number, (text, _) in enumerate(form.decoder.tokens)}
    translator, rows = ctranslate2.Translator(str(folder / "model"), intra_threads=2), []
    for row, limit in zip(exported.items["tokens"], form.limits, strict=True):
        (result,) = translator.translate_batch(
            [[sources[token] for token in row if token != PAD]],
            beam_size=1,
            min_decoding_length=0,
            max_decoding_length=limit - 1,
            max_input_length=0,
        )
        rows.append([numbers[text] for text in result.hypotheses[0]])
    return {"tokens": pad_rows(rows)}


def _refuse(form: Transformer) -> None:
    attentions, reasons = _attentions(form), [form.refused] if form.refused else []
    for attention in attentions:
        if type(attention) is not MultiHeadAttention:
            reasons.append(f"attention={type(attention).__name__} has no counterpart")
            continue
        plain = {**signature(Attention).parameters, **signature(MultiHeadAttention).parameters}
        for name, parameter in plain.items():
            value = getattr(attention, name, None)
            if name not in _HAVE and value != parameter.default:
                reasons.append(f"attention.{name}={value} has no counterpart")
    if len({getattr(attention, "heads", 1) for attention in attentions}) > 1:
        reasons.append("another number of heads in cross-attention has no counterpart")
    if form.decoder.position.kind in ("t5", "alibi"):
        reasons.append(f"model.positions={form.decoder.position.kind} has no counterpart")
    if reasons:
        raise RequestError(
            f"--format ctranslate2: {reasons[0]} in CTranslate2: use another format."
        )


def _attentions(form: Transformer) -> list[Any]:
    return [
        *[layer.attention for layer in form.encoder.layers],
        *[layer.self_attention for layer in form.decoder.layers],
        *[layer.cross_attention for layer in form.decoder.layers],
    ]


def save(form: Transformer, folder: Path) -> None:
    """Write the weights of a Transformer in CTranslate2's format."""
    from ctranslate2 import specs

    first, layers = form.decoder.layers[0], len(form.decoder.layers)
    common: dict[str, Any] = {
        "num_heads": _attentions(form)[0].heads,
        "pre_norm": first.norm == "pre",
        "activation": _ACTIVATIONS[first.feed_forward.expand.activation.__name__],
        "ffn_glu": first.feed_forward.gate is not None,
        "rms_norm": isinstance(first.norms[0], RMSNormalization),
    }
    if form.decoder.position.kind == "rope":
        common |= {"rotary_dim": 0, "rotary_interleave": False}
    encoder = specs.transformer_spec.TransformerEncoderSpec(len(form.encoder.layers), **common)
    decoder = specs.transformer_spec.TransformerDecoderSpec(layers, **common)
    spec: Any = specs.TransformerSpec(encoder, decoder)
    spec.register_source_vocabulary([text for text, _ in form.encoder.tokens])
    texts = [text for text, _ in form.decoder.tokens]
    spec.register_target_vocabulary(texts)
    places = (min(token, len(texts) - 1) for token in (UNKNOWN, START, END))
    spec.config.unk_token, start, spec.config.eos_token = (texts[place] for place in places)
    spec.config.bos_token = spec.config.decoder_start_token = start
    spec.config.layer_norm_epsilon = first.norms[0].epsilon
    _set_stack(spec.encoder, spec.encoder.embeddings[0], form.encoder, form)
    _set_stack(spec.decoder, spec.decoder.embeddings, form.decoder, form)
    _set_output(spec.decoder.projection, form)
    spec.validate()
    spec.optimize()
    folder.mkdir(exist_ok=True)
    spec.save(str(folder))


def _set_stack(spec: Any, embeddings: Any, stack: Stack, form: Transformer) -> None:
    table = np.asarray(stack.embedding.embeddings)
    embeddings.weight = table[np.maximum(_rows(stack), 0)]
    spec.scale_embeddings = True
    if hasattr(spec, "position_encodings"):
        codes = sinusoidal(form.longest, table.shape[1]).astype(np.float32)
        encodings = {"sinusoidal": codes, "learned": getattr(stack.position, "table", None)}
        spec.position_encodings.encodings = np.asarray(
            encodings.get(stack.position.kind, np.zeros_like(codes))
        )
    if stack.norm is not None:
        _set_norm(spec.layer_norm, stack.norm)
    for layer_spec, layer in zip(spec.layer, stack.layers, strict=True):
        _set_layer(layer_spec, layer)


def _set_output(spec: Any, form: Transformer) -> None:
    """Set the output matrix; a token that is never written gets the logit -1e9.

    Of two ids of one word the first is written; a translator writes neither PAD nor START.
    """
    if form.output is None:
        kernel = np.asarray(form.decoder.embedding.embeddings)
    else:
        kernel = np.asarray(form.output.kernel).T
    bias = np.zeros(len(kernel), np.float32)
    if form.output is not None and form.output.bias is not None:
        bias = np.asarray(form.output.bias)
    rows = _rows(form.decoder)
    is_first = np.isin(np.arange(len(rows)), np.unique(rows, return_index=True)[1])
    written = is_first & (rows >= 0) & ~np.isin(rows, (PAD, START))
    spec.weight = np.where(written[:, None], kernel[rows], 0.0).astype(np.float32)
    spec.bias = np.where(written, bias[rows], _NEVER).astype(np.float32)


def _rows(stack: Stack) -> np.ndarray:
    return np.array([row for _, row in stack.tokens])


def _set_layer(spec: Any, layer: Any) -> None:
    """Set a layer of either stack."""
    cross = getattr(layer, "cross_attention", None)
    attention = layer.self_attention if cross else layer.attention
    _set_norm(spec.self_attention.layer_norm, layer.norms[0])
    _set_linear(spec.self_attention.linear[0], attention, "query", "key", "value")
    _set_linear(spec.self_attention.linear[1], attention, "output")
    if cross:
        _set_norm(spec.attention.layer_norm, layer.norms[1])
        _set_linear(spec.attention.linear[0], cross, "query")
        _set_linear(spec.attention.linear[1], cross, "key", "value")
        _set_linear(spec.attention.linear[2], cross, "output")
    _set_norm(spec.ffn.layer_norm, layer.norms[-1])
    inner = layer.feed_forward
    parts = {"linear_0": inner.expand, "linear_1": inner.contract, "linear_0_noact": inner.gate}
    for name, dense in parts.items():
        if dense is not None:
            linear = getattr(spec.ffn, name)
            linear.weight = np.asarray(dense.kernel).T
            if dense.bias is not None:
                linear.bias = np.asarray(dense.bias)


def _set_linear(spec: Any, attention: Any, *names: str) -> None:
    """Set projections of an attention layer."""
    biases = [getattr(attention, f"{name}_bias") for name in names]
    kernels = (getattr(attention, f"{name}_kernel") for name in names)
    spec.weight = np.concatenate([np.asarray(kernel).T for kernel in kernels])
    if biases[0] is not None:
        spec.bias = np.concatenate([np.asarray(bias) for bias in biases])


def _set_norm(spec: Any, norm: Any) -> None:
    spec.gamma = np.asarray(norm.gamma)
    if hasattr(spec, "beta"):
        beta = getattr(norm, "beta", None)
        spec.beta = np.zeros_like(spec.gamma) if beta is None else np.asarray(beta)
