"""What models know of an encoder that was trained before, wherever it comes from.

All encoders read rows (B, S) of token numbers in the order of this project's tokenizers: START, a
text, END, perhaps a second text and END, then PAD. An encoder whose maker has other numbers for
these turns them into its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from attnlab.layers.encoding import Encoding

if TYPE_CHECKING:
    import keras

    from attnlab.text.tokenizers import Tokenizer


class Encoder(Protocol):
    """A Keras layer; what is behind PAD is masked.

    Attributes:
        width: W.
        depths: variable's path -> the number of its layer, 0 for the embeddings, then 1 to the
            number of layers; what stands behind the last layer counts as that one.
        embedding: the layer of the tokens' vectors; None if they can't be read.
    """

    width: int
    depths: Mapping[str, int]
    embedding: keras.layers.Embedding | None

    def build(self, tokens_shape: tuple) -> None:
        """Create the weights, drawn anew, for rows of shape (B, S)."""

    def __call__(self, tokens: Any, training: bool | None = None) -> Encoding:
        """Encode rows (B, S)."""


class Source(Protocol):
    """Where an encoder comes from: all of it but the values of its weights.

    Attributes:
        path: as it was given.
        attention: the mechanism of its layers, `name` and settings as in a configuration.
        tokenizer: cuts texts as those that it was trained on.
        most: the most tokens of a row; None where there is no limit.
        digest: SHA-256 of its weights and its tokenizer.
    """

    path: str
    attention: Mapping[str, Any]
    tokenizer: Tokenizer
    most: int | None
    digest: str

    def make(self) -> Encoder:
        """The layer, not built."""

    def fill(self, encoder: Encoder) -> None:
        """Give a built layer of `make` the trained weights.

        Raises:
            RequestError: they can't be read, or are not those of such a layer.
        """

    def describe(self) -> dict[str, Any]:
        """What making it again takes, without its tokenizer and its weights; JSON-ready.

        Such as `{"kind": "run", ...}`; `kind` says which class reads it.
        """
