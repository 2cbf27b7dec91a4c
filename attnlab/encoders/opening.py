"""Open and apply a pretrained encoder: a run of this project, or a preset of keras-hub.

All encoders read rows (B, S) of ids of this project's tokenizers: START, a text, END, optionally a
second text and END, then PAD. A preset's encoder converts them to the preset's ids.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from attnlab.config.options import option_content
from attnlab.encoders.runs import RunSource, is_run
from attnlab.errors import RequestError
from attnlab.records.files import write_json
from attnlab.text.cleaning import normalized
from attnlab.text.tokenizers import END, PAD, START, UNKNOWN, pad_rows

if TYPE_CHECKING:
    from attnlab.encoders.presets import PresetSource

# A source has `path`, `attention` (name and settings), `tokenizer`, and `max_length`, the most
# tokens of a row; `make` creates the layer, `fill` assigns its pretrained weights.
Source: TypeAlias = "RunSource | PresetSource"

# The values of `optimizer.learning_rate=auto`. At ten times its rate a preset forgets its language;
# Devlin et al. 2019 (appendix A.3) tried 2e-5 to 5e-5.
_RATE_OF_OUTPUT, _RATE_OF_RUNS, _RATE_OF_PRESETS = 0.005, 0.0005, 0.00005
_FILE = "encoder.json"
_TOGETHER = 64  # texts per batch


def open_source(path: str | None, seed: int | None = None) -> Source:
    """Open the encoder at a path.

    Args:
        path: the folder of a run of `task=masked_words`, or of a sweep of such runs, from which the
            run with the seed is chosen; or an argument of
            `keras_hub.models.Backbone.from_preset`, a folder or a handle.
        seed: the seed of the run that needs the encoder; None: any run of a sweep.

    Raises:
        RequestError: there is no encoder, or a file is damaged.
    """
    if not path:
        raise RequestError(
            "model.path: expected a run of task=masked_words, or a preset of keras-hub, got null."
        )
    return RunSource.open(path, seed) if is_run(path) else _preset_source()(path)


def _preset_source() -> type[PresetSource]:
    from attnlab.training.tensorflow_internals import import_tensorflow

    import_tensorflow()
    from attnlab.encoders.presets import PresetSource

    return PresetSource


def save_source(folder: Path, source: Source) -> None:
    """Write an encoder and its tokenizer, without the weights."""
    write_json(folder / _FILE, source.save(folder))


def saved_source(folder: Path) -> Source | None:
    """Read what `save_source` wrote; None if it wrote nothing.

    Raises:
        RequestError: a file is damaged, or from a version of this project whose presets had a
            tokenizer of another kind.
    """
    path = folder / _FILE
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_bytes())
        sources = {"run": lambda: RunSource, "preset": _preset_source}
        return sources[content["kind"]]().read(folder, content)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise RequestError(
            f"{path}: can't be read as an encoder, repeat the run: {error!r}."
        ) from error


def require_known(rows: Iterable[Sequence[int]], source: Source) -> None:
    """Refuse an encoder whose vocabulary lacks more than half of the words of texts.

    Args:
        rows: texts, tokenized by the encoder's tokenizer.
        source: the encoder.

    Raises:
        RequestError: more than half of the tokens are unknown.
    """
    tokens = [token for row in rows for token in row]
    unknown = tokens.count(UNKNOWN)
    if 2 * unknown > len(tokens):
        raise RequestError(
            "model.path: expected an encoder that knows the words of the texts, got "
            f"{source.path}, which doesn't know {unknown / len(tokens):.0%} of them."
        )


def mean_vectors(source: Source, encoder: Any, texts: Sequence[str]) -> np.ndarray:
    """Return a vector of each text, (N, W): the mean of the encoder's vectors of its tokens.

    START and END are left out. Texts longer than the encoder's rows are cut at the end.
    """
    tokens = source.tokenizer.encode([normalized(text) for text in texts])
    framed = [[START, *(row or [UNKNOWN])[: source.max_length - 2], END] for row in tokens]
    vectors = []
    for start in range(0, len(framed), _TOGETHER):
        rows = pad_rows(framed[start : start + _TOGETHER])
        encoded = np.asarray(encoder(rows, training=False).vectors, np.float64)
        words = ~np.isin(rows, (PAD, START, END))[..., None]
        vectors.append((encoded * words).sum(axis=1) / words.sum(axis=1))
    return np.concatenate(vectors)


def vectors_by(source: Source) -> Callable[[Sequence[str]], np.ndarray]:
    """Return the function that computes vectors of texts with a pretrained encoder.

    Raises:
        RequestError: its weights can't be read.
    """
    encoder = source.make()
    encoder.build((None, source.max_length))
    source.fill(encoder)
    return lambda texts: mean_vectors(source, encoder, texts)


@lru_cache
def _attention(path: str, seed: int | None) -> Mapping[str, Any]:
    """Return the attention of the encoder at a path."""
    return open_source(path, seed).attention


def with_encoder_settings(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a configuration with the settings that follow from its encoder, if it has one.

    With `model=pretrained`, `attention` becomes the encoder's own, and
    `optimizer.learning_rate=auto` a number. If the encoder can't be opened, this function reports
    nothing: a new run will, and a finished run doesn't need it.

    Raises:
        RequestError: the configuration has another mechanism, other settings of it, or another
            `task.encoder`.
    """
    model, attention = document.get("model", {}), document.get("attention", {})
    if model.get("name") != "pretrained":
        return document
    path = str(model.get("path"))
    if document.get("optimizer", {}).get("learning_rate") == "auto":
        rate = _RATE_OF_RUNS if is_run(path) else _RATE_OF_PRESETS
        rate = _RATE_OF_OUTPUT if model.get("frozen") else rate
        document = {**document, "optimizer": {**document["optimizer"], "learning_rate": rate}}
    if not model.get("path"):
        return document
    if document["task"].get("encoder") != path:
        raise RequestError(f"task.encoder: expected {path}, equal to model.path.")
    try:
        expected = _attention(path, document.get("seed"))
    except RequestError:
        return document
    defaults = {**(option_content("attention", expected["name"]) or {}), "name": expected["name"]}
    for key, value in attention.items():
        if key in expected and value not in (expected[key], defaults.get(key)):
            raise RequestError(
                f"attention.{key}: expected {expected[key]}, which the encoder at {path} has, got "
                f"{value}."
            )
    return {**document, "attention": {**attention, **expected}}
