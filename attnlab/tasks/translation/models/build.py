"""Build a translator by the name of its architecture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attnlab.attention.base import Attention
from attnlab.errors import RequestError
from attnlab.tasks.translation.models.recurrent import RecurrentSettings, RecurrentTranslator
from attnlab.tasks.translation.models.transformer import TransformerSettings, TransformerTranslator
from attnlab.tasks.translation.models.translator import Translator


def build_translator(
    name: str,
    settings: Mapping[str, Any],
    attention: Callable[..., Attention],
    *,
    shared: bool = False,
    max_target: int | None = None,
    **sizes: int | None,
) -> Translator:
    """Build a translator with drawn weights, by the settings of its YAML.

    `shared` says whether both languages have one vocabulary. `sizes` are those of `Translator`.
    """
    mechanism = attention()
    if name not in ("rnn", "transformer"):
        raise RequestError(f"model.name: expected rnn or transformer, got {name}.")
    if mechanism.has_context and not mechanism.has_queries:
        raise RequestError(
            "attention: expected a mechanism with a query, because without one all target words "
            f"would have the same weights on the source, got {type(mechanism).__name__}."
        )
    if settings.get("tie_embeddings") == "all" and not shared:
        raise RequestError(
            "model.tie_embeddings=all: expected one vocabulary for both languages "
            "(task.shared_vocabulary=true), got two."
        )
    if name == "rnn":
        model = RecurrentTranslator(attention, RecurrentSettings(**settings), **sizes)
    else:
        transformer = TransformerSettings(**settings)
        model = TransformerTranslator(attention, transformer, max_target, **sizes)
    model.build(None)
    return model
