"""A reader by the name of its architecture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attnlab.attention.base import Attention
from attnlab.encoders.opening import open_source
from attnlab.encoders.source import Source
from attnlab.errors import RequestError
from attnlab.tasks.answering.models.pretrained import PretrainedReader
from attnlab.tasks.answering.models.reader import Reader
from attnlab.tasks.answering.models.recurrent import RecurrentReader
from attnlab.tasks.answering.models.transformer import TransformerReader


def build_reader(
    name: str,
    settings: Mapping[str, Any],
    attention: Callable[[], Attention],
    *,
    vocabulary: int,
    question_places: int,
    text_places: int,
    source: Source | None = None,
) -> Reader:
    """A reader with its weights, for rows of so many places.

    `settings` are those of the architecture `name`, `rnn`, `transformer`, or `pretrained`, whose
    encoder comes from `source`; `attention` makes one mechanism and is called for each place that
    wants one.

    Raises:
        RequestError: another name, or parts that don't fit.
    """
    sizes = {"question_places": question_places, "text_places": text_places}
    given = {**settings, **sizes, "vocabulary": vocabulary}
    if name == "rnn":
        model: Reader = RecurrentReader(attention=attention(), **given)
    elif name == "transformer":
        layers = [attention() for _ in range(given.pop("layers"))]
        model = TransformerReader(attention=layers, **given)
    elif name == "pretrained":
        own = {key: value for key, value in settings.items() if key != "path"}
        source = source or open_source(settings["path"])  # which says what is missing
        model = PretrainedReader(source=source, **sizes, **own)
    else:
        raise RequestError(f"model.name: expected rnn, transformer or pretrained, got {name}.")
    model.build((None, 1 + question_places + text_places))
    return model
