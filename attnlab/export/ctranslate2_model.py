"""CTranslate2: the weights of a Transformer in its specification, which it runs itself.

Keys and values of several query heads (`kv_heads`) are repeated for each head, which changes no
result. An untrained output for tokens that a model never writes is -1e9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.attention.multi_head import MultiHeadAttention
from attnlab.errors import RequestError
from attnlab.export.formats import Code
from attnlab.layers.sinusoids import sinusoidal
from attnlab.layers.sublayers import RMSNormalization
from attnlab.tasks.exported import Arrays, Exported, Stack, Transformer, padded
from attnlab.text.tokenizers import END, START, UNKNOWN

FOLDER = "model"
_NEVER = -1e9
_ACTIVATIONS = {"relu": 0, "silu": 2, "gelu": 3, "tanh": 5}  # CTranslate2's numbers
# Options of multi-head attention without a counterpart, and the values that change nothing.
_PLAIN = {
    **{"book": False, "window": None, "sink": False, "gate": "none", "query_key_norm": False},
    **{"softcap": None, "talking_heads": False, "top_k": None, "normalizer": "softmax"},
    "short_convolution": 0,
}


def check(exported: Exported, quantize: str | None) -> None:
    """Raise `RequestError` if the specification has no counterpart of the model."""
    form = exported.transformer
    if form is None:
        raise RequestError(
            "--format ctranslate2: expected a translator or a language model with "
            "model=transformer, got another model: use --format saved_model."
        )
    if reason := next(_reasons(form), None):
        raise RequestError(f"--format ctranslate2: {reason} in CTranslate2: use another format.")


def _reasons(form: Transformer) -> Iterator[str]:
    """Yield what CTranslate2 doesn't have, in words."""
    if form.refused:
        yield form.refused
    heads = set()
    for attention in _attentions(form):
        if type(attention) is not MultiHeadAttention:
            yield f"attention={type(attention).__name__} has no counterpart"
            continue
        heads.add(attention.heads)
        for name, plain in _PLAIN.items():
            if (value := getattr(attention, name)) != plain:
                yield f"attention.{name}={value} has no counterpart"
    if len(heads) > 1:
        yield "heads of different numbers in self-attention and cross-attention have no counterpart"
    kind = form.decoder.position.kind
    if kind == "t5" or (kind == "alibi" and form.encoder):
        yield f"model.positions={kind} has no counterpart"


def _attentions(form: Transformer) -> Iterator[Any]:
    for layer in form.encoder.layers if form.encoder else ():
        yield layer.attention
    for layer in form.decoder.layers:
        if form.encoder:
            yield from (layer.self_attention, layer.cross_attention)
        else:
            yield layer.attention


def write(exported: Exported, folder: Path, quantize: str | None) -> None:
    """Write the folder `model`."""
    assert exported.transformer is not None  # checked before
    save(exported.transformer, folder / FOLDER, quantize)


def save(form: Transformer, folder: Path, quantize: str | None = None) -> None:
    """Write the weights of a Transformer in CTranslate2's format."""
    spec = specification(form)
    spec.validate()
    spec.optimize(quantization=quantize)
    folder.mkdir(exist_ok=True)
    spec.save(str(folder))


def specification(form: Transformer) -> Any:
    """Return CTranslate2's specification with all weights."""
    from ctranslate2 import specs

    first = form.decoder.layers[0]
    common: dict[str, Any] = {
        "num_heads": next(_attentions(form)).heads,
        "pre_norm": first.norm == "pre",
        "activation": _ACTIVATIONS[_activation(first)],
        "ffn_glu": first.feed_forward.gate is not None,
        "rms_norm": isinstance(first.norms[0], RMSNormalization),
    }
    if form.decoder.position.kind == "rope":
        common |= {"rotary_dim": 0, "rotary_interleave": False}
    count = len(form.decoder.layers)
    if form.encoder:
        encoder = specs.transformer_spec.TransformerEncoderSpec(len(form.encoder.layers), **common)
        decoder = specs.transformer_spec.TransformerDecoderSpec(count, **common)
        spec: Any = specs.TransformerSpec(encoder, decoder)
        spec.register_source_vocabulary(_words(form.encoder))
        spec.register_target_vocabulary(_words(form.decoder))
        _set_stack(spec.encoder, spec.encoder.embeddings[0], form.encoder, form)
    else:
        alibi = form.decoder.position.kind == "alibi"
        spec = specs.TransformerDecoderModelSpec.from_config(count, **common, alibi=alibi)
        spec.register_vocabulary(_words(form.decoder))
    words = _words(form.decoder)
    places = (min(token, len(words) - 1) for token in (UNKNOWN, START, END))
    unknown, start, end = (words[place] for place in places)
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = unknown, start, end
    if form.encoder:
        spec.config.decoder_start_token = start
    spec.config.layer_norm_epsilon = first.norms[0].epsilon
    _set_stack(spec.decoder, spec.decoder.embeddings, form.decoder, form)
    _set_output(spec.decoder.projection, form)
    return spec


def _activation(layer: Any) -> str:
    return str(layer.feed_forward.expand.activation.__name__)


def _words(stack: Stack) -> list[str]:
    return [text for text, _ in stack.tokens]


def _set_stack(spec: Any, embeddings: Any, stack: Stack, form: Transformer) -> None:
    table = np.asarray(stack.embedding.embeddings)
    embeddings.weight = table[np.maximum(_rows(stack), 0)]
    spec.scale_embeddings = form.scaled
    if hasattr(spec, "position_encodings"):
        spec.position_encodings.encodings = _positions(stack, table.shape[1], form.longest)
    if stack.norm is not None:
        _set_norm(spec.layer_norm, stack.norm)
    for own, layer in zip(spec.layer, stack.layers, strict=True):
        _set_layer(own, layer)


def _positions(stack: Stack, width: int, longest: int) -> np.ndarray:
    if stack.position.kind == "learned":
        return np.asarray(stack.position.table)
    codes = sinusoidal(longest, width).astype(np.float32)
    return codes if stack.position.kind == "sinusoidal" else np.zeros_like(codes)


def _set_output(spec: Any, form: Transformer) -> None:
    """Set the output matrix; a token that is never written gets the logit -1e9."""
    kernel = (
        np.asarray(form.decoder.embedding.embeddings)
        if form.output is None
        else np.asarray(form.output.kernel).T
    )
    bias = np.zeros(len(kernel), np.float32)
    if form.output is not None and form.output.bias is not None:
        bias = np.asarray(form.output.bias)
    rows, written = _rows(form.decoder), _written(form)
    spec.weight = np.where(written[:, None], kernel[rows], 0.0).astype(np.float32)
    spec.bias = np.where(written, bias[rows], _NEVER).astype(np.float32)


def _rows(stack: Stack) -> np.ndarray:
    return np.array([row for _, row in stack.tokens])


def _written(form: Transformer) -> np.ndarray:
    """Return whether each token may be written: of two ids of a word the first, bool (N,)."""
    rows = _rows(form.decoder)
    first = np.isin(np.arange(len(rows)), np.unique(rows, return_index=True)[1])
    return first & (rows >= 0) & ~np.isin(rows, form.never)


def _set_layer(spec: Any, layer: Any) -> None:
    """Set a layer of either stack."""
    cross = getattr(layer, "cross_attention", None)
    attentions = [(spec.self_attention, layer.self_attention if cross else layer.attention)]
    attentions += [(spec.attention, cross)] if cross else []
    for norm, (own, attention) in zip(layer.norms, attentions, strict=False):
        _set_norm(own.layer_norm, norm)
        groups: Sequence[Sequence[str]] = (("query", "key", "value"),)
        if own is not spec.self_attention:
            groups = ("query",), ("key", "value")
        for linear, names in zip(own.linear, (*groups, ("output",)), strict=True):
            _set_linear(linear, *zip(*(_projection(attention, n) for n in names), strict=True))
    _set_norm(spec.ffn.layer_norm, layer.norms[-1])
    inner = layer.feed_forward
    parts = {"linear_0": inner.expand, "linear_1": inner.contract, "linear_0_noact": inner.gate}
    for name, dense in parts.items():
        if dense is not None:
            bias = None if dense.bias is None else np.asarray(dense.bias)
            _set_linear(getattr(spec.ffn, name), [np.asarray(dense.kernel)], [bias])


def _projection(attention: Any, name: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Return kernel and bias of a projection, of keys and values once per query head."""
    kernel, bias = (getattr(attention, f"{name}_{part}") for part in ("kernel", "bias"))
    kernel, bias = np.asarray(kernel), None if bias is None else np.asarray(bias)
    times = attention.heads // attention.key_heads
    if name in ("key", "value") and times > 1:
        kernel = _per_head(kernel, attention.key_heads, times)
        bias = None if bias is None else _per_head(bias[None], attention.key_heads, times)[0]
    return kernel, bias


def _per_head(matrix: np.ndarray, heads: int, times: int) -> np.ndarray:
    parts = matrix.reshape(len(matrix), heads, -1)
    return np.repeat(parts, times, axis=1).reshape(len(matrix), -1)


def _set_linear(
    spec: Any, kernels: Sequence[np.ndarray], biases: Sequence[np.ndarray | None]
) -> None:
    spec.weight = np.concatenate([kernel.T for kernel in kernels])
    known = [bias for bias in biases if bias is not None]
    if known:
        spec.bias = np.concatenate(known)


def _set_norm(spec: Any, norm: Any) -> None:
    spec.gamma = np.asarray(norm.gamma)
    if hasattr(spec, "beta"):
        beta = getattr(norm, "beta", None)
        spec.beta = np.zeros_like(spec.gamma) if beta is None else np.asarray(beta)


def notes(exported: Exported, quantize: str | None) -> list[str]:
    """Return the form of inputs and outputs, the search of the example, and the weights' type."""
    form = exported.transformer
    assert form is not None  # checked before
    read = "Input of `ctranslate2.{}`: texts of the tokens of tokenizer.json"
    if form.encoder:
        found = [
            f"{read.format('Translator')}, END included. Output: texts of the tokens of "
            "target_tokenizer.json.",
            _search(form.beam),
        ]
        most = f"A translation has at most {form.longest - 1} tokens."
    else:
        found = [f"{read.format('Generator')}. Output: texts and numbers of its tokens."]
        most = f"Prompt and continuation have at most {form.longest} tokens together."
    if form.decoder.position.kind not in ("rope", "alibi"):
        found.append(most)
    if quantize:
        found.append(
            f"Weights of matrices are {quantize}, others are float32. The metrics are those of the "
            "run's own weights."
        )
    return found


def _search(beam: int) -> str:
    if beam == 1:
        return "example.py and the check translate greedily, as for the metrics."
    return (
        "example.py and the check translate greedily; the metrics are those of beam search with "
        f"{beam} beams."
    )


def outputs(exported: Exported, folder: Path) -> Arrays:
    """Return the outputs of the written model for the test items, one after the other."""
    import ctranslate2

    form = exported.transformer
    assert form is not None  # checked before
    place = str(folder / FOLDER)
    stack = form.encoder or form.decoder
    words, rows = _words(stack), np.asarray(exported.items["tokens"])
    numbers = {word: number for number, word in enumerate(_words(form.decoder))}
    written, shares = [], []
    if form.encoder:
        translator = ctranslate2.Translator(place, intra_threads=2)
        for row, limit in zip(rows, form.limits, strict=True):
            read = [words[token] for token in row if token]
            (found,) = translator.translate_batch(
                [read],
                beam_size=1,
                min_decoding_length=0,
                max_decoding_length=limit - 1,
                max_input_length=0,
            )
            written.append([numbers[word] for word in found.hypotheses[0]])
        return {"tokens": padded(written)}
    generator = ctranslate2.Generator(place, intra_threads=2)
    kept = np.flatnonzero(_written(form))
    kept = kept[np.argsort(_rows(form.decoder)[kept])]
    for row, limit in zip(rows, form.limits, strict=True):
        read = [words[token] for token in row]
        (found,) = generator.generate_batch(
            [read], max_length=limit, end_token=[], include_prompt_in_result=False
        )
        written.append(found.sequences_ids[0])
        logits = np.asarray(generator.forward_batch([read], return_log_probs=True))[0, -1]
        shares.append(np.exp(logits[kept]))
    return {"tokens": padded(written), "probabilities": np.array(shares)}


def code(exported: Exported) -> Code:
    """Return the lines of an example."""
    assert exported.transformer is not None  # checked before
    name, call, settings, tokens = "Generator", "generate_batch", _GENERATE, _GENERATED
    if exported.transformer.encoder:
        name, call, tokens = "Translator", "translate_batch", _TRANSLATED
        counts = np.count_nonzero(exported.items["tokens"], axis=1)
        more, most = max(exported.transformer.limits - counts) - 1, exported.transformer.longest - 1
        limit = f'min(inputs["tokens"].size + {more}, {most})'
        settings = "beam_size=1, max_input_length=0,\n    min_decoding_length=0, "
        settings += f"max_decoding_length={limit}"
    lines = (
        f'model = ctranslate2.{name}(str(here / "{FOLDER}"))',
        f"found = model.{call}([tokenizer.encode(text).tokens], {settings})",
        tokens,
    )
    return Code(("import ctranslate2",), lines)


_GENERATE = 'max_length=inputs["count"].item(), end_token=[],\n    include_prompt_in_result=False'
_TRANSLATED = 'outputs = {"tokens": [[*map(target.token_to_id, found[0].hypotheses[0])]]}'
_GENERATED = 'outputs = {"tokens": [found[0].sequences_ids[0]]}'
