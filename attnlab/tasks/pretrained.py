"""Configurations of models that begin with a pretrained encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def with_the_encoders_attention(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a configuration with the attention of its encoder, if it has one."""
    if document.get("model", {}).get("name") != "pretrained":
        return document
    from attnlab.encoders.opening import as_the_encoder

    return as_the_encoder(document)
