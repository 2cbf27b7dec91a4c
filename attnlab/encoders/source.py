"""The protocols of pretrained encoders and their sources.

All encoders read rows (B, S) of ids of this project's tokenizers: START, a text, END, optionally a
second text and END, then PAD. A preset's encoder converts them to the preset's ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from attnlab.layers.encoding import Encoding

if TYPE_CHECKING:
    import keras

    from attnlab.text.tokenizers import Tokenizer


class Encoder(Protocol):
    """A pretrained encoder, a Keras layer that masks PAD.

    Attributes:
        width: W.
        depths: variable's path -> the number of its layer, 0 for the embeddings, then 1 to the
            number of layers, which also counts for variables after the last layer.
        embedding: the layer of the tokens' vectors; None if they can't be read.
    """

    width: int
    depths: Mapping[str, int]
    embedding: keras.layers.Embedding | None

    def build(self, tokens_shape: tuple) -> None:
        """Create drawn weights for rows of shape (B, S)."""

    def __call__(self, tokens: Any, training: bool | None = None) -> Encoding:
        """Encode rows (B, S)."""


class Source(Protocol):
    """The source of an encoder: everything except the values of its weights.

    Attributes:
        path: the path in the configuration.
        attention: the mechanism of its layers, `name` and settings as in a configuration.
        tokenizer: the tokenizer of its training texts.
        most: the most tokens of a row; None if there is no limit.
        digest: SHA-256 of its weights and its tokenizer.
    """

    path: str
    attention: Mapping[str, Any]
    tokenizer: Tokenizer
    most: int | None
    digest: str

    def make(self) -> Encoder:
        """Create the layer, without building it."""

    def fill(self, encoder: Encoder) -> None:
        """Assign the pretrained weights to a built layer of `make`.

        Raises:
            RequestError: the weights can't be read, or their shapes differ from the layer's.
        """

    def describe(self) -> dict[str, Any]:
        """Return a description, without tokenizer and weights; JSON-ready.

        For example `{"kind": "run", ...}`; `kind` identifies the class that reads it.
        """
