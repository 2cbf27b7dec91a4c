"""Open a pretrained encoder by its path: a run of this project, or a preset of keras-hub."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from attnlab.config.options import option_content
from attnlab.encoders.hub_preset import preset_attention
from attnlab.encoders.run_source import RunSource, is_of_runs, latest_refused
from attnlab.encoders.source import Source
from attnlab.errors import RequestError
from attnlab.records.files import write_json
from attnlab.text.tokenizers import UNKNOWN, Tokenizer

# The values of `optimizer.learning_rate=auto`. At ten times its rate a preset forgets its language;
# Devlin et al. 2019 (appendix A.3) tried 2e-5 to 5e-5.
_RATE_OF_OUTPUT, _RATE_OF_RUNS, _RATE_OF_PRESETS = 0.005, 0.0005, 0.00005
_FILE = "encoder.json"
_MODEL = "pretrained"


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
    if is_of_runs(Path(path).expanduser()):
        return RunSource.open(path, seed)
    if path == "latest":
        raise RequestError(latest_refused())
    if "/" in path and "://" not in path and not Path(path).expanduser().exists():
        raise RequestError(
            "model.path: expected the folder of a run of task=masked_words or of a preset, got "
            f"{path}, which doesn't exist."
        )
    from attnlab.encoders.hub import HubSource

    return HubSource.open(path)


def save_source(folder: Path, source: Source) -> None:
    """Write the description of an encoder, without its tokenizer and its weights."""
    write_json(folder / _FILE, source.describe())


def saved_source(folder: Path, tokenizer: Tokenizer) -> Source | None:
    """Read what `save_source` wrote; None if it wrote nothing.

    Raises:
        RequestError: the file is damaged.
    """
    path = folder / _FILE
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["kind"] == RunSource.kind:
            return RunSource(content, tokenizer)
        from attnlab.encoders.hub import HubSource

        return HubSource.described(content, tokenizer)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise RequestError(f"{path}: damaged: can't be read as an encoder: {error!r}.") from error


def require_known(rows: Iterable[Sequence[int]], source: Source) -> None:
    """Refuse an encoder whose vocabulary lacks more than half of the words of texts.

    Args:
        rows: texts, tokenized by the encoder's tokenizer.
        source: the encoder.

    Raises:
        RequestError: more than half of the tokens are unknown.
    """
    total = unknown = 0
    for row in rows:
        total += len(row)
        unknown += sum(token == UNKNOWN for token in row)
    if 2 * unknown > total:
        raise RequestError(
            "model.path: expected an encoder that knows the words of the texts, got "
            f"{source.path}, which doesn't know {unknown / total:.0%} of them."
        )


@lru_cache
def _attention(path: str, seed: int | None) -> Mapping[str, Any]:
    """Return the attention of the encoder at a path, from its description, without TensorFlow."""
    if is_of_runs(Path(path).expanduser()):
        return open_source(path, seed).attention
    return preset_attention(path)


def as_the_encoder(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a configuration with the settings that follow from its encoder, if it has one.

    With `model=pretrained`, `attention` becomes the encoder's own, and
    `optimizer.learning_rate=auto` a number. If the encoder can't be opened, this function reports
    nothing: a new run will, and a finished run doesn't need it.

    Raises:
        RequestError: the configuration has another mechanism, other settings of it, or another
            `task.encoder`.
    """
    model, given = document.get("model", {}), document.get("attention", {})
    if not isinstance(model, Mapping) or model.get("name") != _MODEL:
        return document
    document, path = _with_rate(document, model), model.get("path")
    if not path:
        return document
    cutter = document.get("task", {}).get("encoder")
    if cutter != path:
        raise RequestError(
            f"task.encoder: expected {path}, equal to model.path, got "
            f"{'null' if cutter is None else cutter}."
        )
    try:
        own = _attention(str(path), document.get("seed"))
    except RequestError:
        return document
    if given.get("name") != own["name"]:
        raise RequestError(
            f"attention: expected {own['name']}, which the encoder at {path} has, got "
            f"{given.get('name')}."
        )
    defaults = option_content("attention", own["name"]) or {}
    for key, value in given.items():
        if key in own and value not in (own[key], defaults.get(key)):
            raise RequestError(
                f"attention.{key}: expected {own[key]}, which the encoder at {path} has, got "
                f"{value}."
            )
    return {**document, "attention": {**given, **own}}


def _with_rate(document: Mapping[str, Any], model: Mapping[str, Any]) -> Mapping[str, Any]:
    optimizer = document.get("optimizer")
    if not isinstance(optimizer, Mapping) or optimizer.get("learning_rate") != "auto":
        return document
    is_a_run = is_of_runs(Path(str(model.get("path"))).expanduser())
    tuned = _RATE_OF_RUNS if is_a_run else _RATE_OF_PRESETS
    rate = _RATE_OF_OUTPUT if model.get("frozen") else tuned
    return {**document, "optimizer": {**optimizer, "learning_rate": rate}}
