"""A classifier by the name of its architecture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attnlab.attention.base import Attention
from attnlab.errors import RequestError
from attnlab.tasks.classification.models.classifier import Classifier
from attnlab.tasks.classification.models.embeddings import EmbeddingsClassifier
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
) -> Classifier:
    """A classifier with its weights, for texts of `length` tokens.

    `settings` are those of the architecture `name`: `embeddings`, `rnn` or `transformer`;
    `attention` makes one mechanism and is called for each place that wants one.

    Raises:
        RequestError: another name, or parts that don't fit.
    """
    given = {**settings, "vocabulary": vocabulary, "classes": classes}
    if name == "embeddings":
        model: Classifier = EmbeddingsClassifier(**given)
    elif name == "rnn":
        model = RecurrentClassifier(attention=attention(), **given)
    elif name == "transformer":
        layers = [attention() for _ in range(given.pop("layers"))]
        model = TransformerClassifier(attention=layers, **given)
    else:
        raise RequestError(f"model.name: expected embeddings, rnn or transformer, got {name}.")
    model.build((None, length))
    return model
