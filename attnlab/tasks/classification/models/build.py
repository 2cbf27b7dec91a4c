"""A classifier by the name of its architecture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attnlab.attention.base import Attention
from attnlab.encoders.opening import open_source
from attnlab.encoders.source import Source
from attnlab.errors import RequestError
from attnlab.tasks.classification.models.classifier import Classifier, EmbeddingsClassifier
from attnlab.tasks.classification.models.pretrained import PretrainedClassifier
from attnlab.tasks.classification.models.recurrent import RecurrentClassifier
from attnlab.tasks.classification.models.transformer import TransformerClassifier


def build_classifier(
    name: str,
    settings: Mapping[str, Any],
    attention: Callable[[], Attention],
    *,
    vocabulary: int,
    classes: int,
    length: int,
    source: Source | None = None,
) -> Classifier | PretrainedClassifier:
    """A classifier with its weights, for texts of `length` tokens.

    `settings` are those of the architecture `name`: `embeddings`, `rnn`, `transformer`, or
    `pretrained`, whose encoder comes from `source`; `attention` makes one mechanism and is called
    for each place that wants one.

    Raises:
        RequestError: another name, or parts that don't fit.
    """
    given = {**settings, "vocabulary": vocabulary, "classes": classes}
    model: Classifier | PretrainedClassifier
    if name == "embeddings":
        model = EmbeddingsClassifier(**given)
    elif name == "rnn":
        model = RecurrentClassifier(attention=attention(), **given)
    elif name == "transformer":
        layers = [attention() for _ in range(given.pop("layers"))]
        model = TransformerClassifier(attention=layers, **given)
    elif name == "pretrained":
        own = {key: value for key, value in settings.items() if key != "path"}
        source = source or open_source(settings["path"])  # which says what is missing
        model = PretrainedClassifier(source=source, classes=classes, **own)
    else:
        valid = "embeddings, rnn, transformer or pretrained"
        raise RequestError(f"model.name: expected {valid}, got {name}.")
    model.build((None, length))
    return model
