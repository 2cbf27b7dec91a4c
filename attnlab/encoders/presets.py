"""Pretrained encoders of keras-hub: its text presets, called as its documentation shows them.

keras-hub is imported only when a preset is opened.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

from attnlab.attention.dropout import draw_rows
from attnlab.errors import RequestError
from attnlab.internals import all_layers, shapes_only
from attnlab.layers.transformer import Encoding
from attnlab.records.files import write_json
from attnlab.text.tokenizers import END, LABELS, PAD, UNKNOWN
from attnlab.text.words import split_words, without_surrogates, word_spans

BACKBONES = ("BertBackbone", "DistilBertBackbone", "RobertaBackbone")
_SAVED = "preset"  # a run's copy of a preset, without its weights


class PresetTokenizer:
    """A tokenizer of keras-hub whose ids are those of this project's tokenizers.

    Ids are PAD 0, UNKNOWN 1, START 2, END 3, then the preset's other tokens in its order. RoBERTa's
    byte pairs encode every text; `<mask>` is its UNKNOWN.

    Args:
        tokenizer: of keras-hub.

    Attributes:
        order: (N,) int32, the preset's id of each id.
    """

    kind = "preset"
    words: Sequence[str] = ()  # its tokens are pieces of words, so that none is suggested

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.size: int = tokenizer.vocabulary_size()
        unknown = getattr(tokenizer, "oov_token", tokenizer.mask_token)
        names = (tokenizer.pad_token, unknown, tokenizer.start_token, tokenizer.end_token)
        special = [int(tokenizer.token_to_id(name)) for name in names]
        others = np.setdiff1d(np.arange(self.size), special)
        self.order = np.concatenate([special, others]).astype(np.int32)
        self._ids = np.argsort(self.order)
        self._ids[special] = [UNKNOWN] * len(special)  # no text is encoded as a special token

    @property
    def lowercase(self) -> bool:
        """Whether texts are lower-cased first."""
        return bool(getattr(self._tokenizer, "lowercase", False))

    @property
    def vocabulary(self) -> list[str]:
        """The preset's tokens."""
        return [*self._tokenizer.get_vocabulary()]

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, without START, END and PAD."""
        if not texts:
            return []
        whole = [without_surrogates(text) for text in texts]
        return [self._ids[np.array(row, int)].tolist() for row in self._tokenizer(whole)]

    def encode_words(self, text: str) -> tuple[list[int], list[int]]:
        """Return the ids of a text, and the number in `split_words(text)` of each id's word.

        keras-hub's tokenizers return no positions, so each word, with a space in front if the text
        has one, is encoded by itself, as in BERT's run_squad.
        """
        spaced = [
            f"{' ' * text[start - 1 : start].isspace()}{text[start:end]}"
            for start, end in word_spans(text)
        ]
        rows = self.encode(spaced)
        numbers = [number for number, row in enumerate(rows) for _ in row]
        return [token for row in rows for token in row], numbers

    def unknown(self, text: str) -> list[str]:
        """Return the words of a text that have an unknown piece, in their order."""
        words = split_words(text)
        return [word for word, row in zip(words, self.encode(words), strict=True) if UNKNOWN in row]

    def pieces(self, ids: Sequence[int] | np.ndarray) -> list[str]:
        """Return a readable label for each token; WordPiece's "##" becomes "·"."""
        if len(ids) == 0:
            return []
        texts = self._tokenizer.detokenize([[int(self.order[token])] for token in ids])
        shown = [str(text).strip().replace("##", "·", 1) or "␣" for text in texts]
        return [LABELS.get(int(token), text) for token, text in zip(ids, shown, strict=True)]

    def save(self, folder: Path) -> None:
        """Write the preset's own files of the tokenizer."""
        self._tokenizer.save_to_preset(str(folder))


class PartialDropout(keras.layers.Dropout):
    """Keras's dropout, but in a part of a batch it drops what the whole batch would drop there."""

    def call(self, inputs, training=False):
        """Drop values in training."""
        if not training or not self.rate:
            return inputs

        def factors(shape):
            ones = ops.ones(shape, inputs.dtype)
            return keras.random.dropout(ones, self.rate, self.noise_shape, self.seed_generator)

        return inputs * draw_rows(factors, ops.shape(inputs))


class PresetEncoder(keras.layers.Layer):
    """A backbone of keras-hub that reads this project's token ids.

    Devlin et al. 2019 (arXiv:1810.04805), Sanh et al. 2019 (arXiv:1910.01108), Liu et al. 2019
    (arXiv:1907.11692). Difference from keras-hub: BERT's pooled output is left out, and the weights
    of the last layer are returned.

    Call arguments:
        tokens: (B, S) ids: START, a text, END, optionally a second text and END, then PAD. BERT's
            segment is 1 after the first END up to the last END.
        training: whether to apply dropout.

    Returns an `Encoding`: vectors (B, S, W) and weights (B, H, S, S).

    Args:
        backbone: with the weights with which the layer starts.
        order: (N,) the backbone's id of each of this project's ids.
        **kwargs: those of every Keras layer.
    """

    embedding = None

    def __init__(self, backbone: Any, order: np.ndarray, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._order = order
        self.width: int = backbone.hidden_dim
        self.lower_layers, self.last_layer = split_backbone(backbone)
        inside = {layer.name: at for at, layer in enumerate(backbone.transformer_layers, start=1)}
        self.depths = {
            weight.path: inside.get(layer.name, 0)
            for layer in (*self.lower_layers.layers, self.last_layer)
            for weight in layer.weights
        }
        for layer in all_layers(self):
            if type(layer) is keras.layers.Dropout:
                layer.__class__ = PartialDropout
        self.built = True

    def call(self, tokens: Any, training: bool | None = None) -> Encoding:
        """Encode rows (B, S)."""
        mask = ops.not_equal(tokens, PAD)
        inputs = {
            "token_ids": ops.take(ops.convert_to_tensor(self._order), tokens, axis=0),
            "padding_mask": ops.cast(mask, "int32"),
            "segment_ids": segments(tokens),
        }
        names = [tensor.name for tensor in self.lower_layers.inputs]
        x = self.lower_layers({name: inputs[name] for name in names}, training=training)
        encoded = self.last_layer(
            x, padding_mask=mask, training=training, return_attention_scores=True
        )
        return Encoding(*encoded)


def split_backbone(backbone: Any) -> tuple[keras.Model, keras.layers.Layer]:
    """Return the layers below the last Transformer layer, as a model, and the last layer."""
    *lower, last = backbone.transformer_layers
    below = lower[-1] if lower else backbone.embeddings_dropout
    return keras.Model(backbone.input, below.output), last


def segments(tokens: Any) -> Any:
    """Return BERT's segments (B, S) int32: 1 after the first END up to the last END, else 0."""
    ends = ops.cast(ops.equal(tokens, END), "int32")
    before = ops.cumsum(ends, axis=1) - ends
    return ops.cast((before > 0) & (before < ops.sum(ends, axis=1, keepdims=True)), "int32")


class PresetSource:
    """A preset of keras-hub as the source of an encoder; see `opening.Source`.

    Args:
        path: an argument of keras-hub's `from_preset`: a folder, or a handle.
        saved: a run's copy of the preset without its weights; None: the preset itself.

    Raises:
        RequestError: keras-hub is missing or can't open the preset, or it isn't one of `BACKBONES`.
    """

    kind = "preset"

    def __init__(self, path: str, saved: Path | None = None) -> None:
        self.path = path
        with shapes_only():
            self._backbone = _from_preset("Backbone", saved or path, load_weights=False)
        if type(self._backbone).__name__ not in BACKBONES:
            raise RequestError(
                f"model.path: expected a preset with one of {', '.join(BACKBONES)}, got {path} "
                f"with {type(self._backbone).__name__}."
            )
        self.tokenizer = PresetTokenizer(_from_preset("Tokenizer", saved or path))
        self.attention = {"name": "multi_head", "heads": self._backbone.num_heads}
        self.max_length: int = self._backbone.max_sequence_length

    @classmethod
    def read(cls, folder: Path, content: Mapping[str, Any]) -> PresetSource:
        """Read what `save` wrote and returned."""
        return cls(str(content["path"]), folder / _SAVED)

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the preset without its weights; returns a description for `read`, JSON-ready."""
        self.tokenizer.save(folder / _SAVED)
        config = keras.saving.serialize_keras_object(self._backbone)
        write_json(folder / _SAVED / "config.json", config)
        return {"kind": self.kind, "path": self.path}

    def make(self) -> PresetEncoder:
        """Create the layer, with drawn weights."""
        config = self._backbone.get_config()
        for key in ("name", "trainable", "dtype"):  # those of this layer apply
            config.pop(key)
        backbone = type(self._backbone).from_config(config)
        return PresetEncoder(backbone, self.tokenizer.order, name="encoder")

    def fill(self, encoder: PresetEncoder) -> None:
        """Assign the pretrained weights to a layer of `make`.

        Raises:
            RequestError: the weights can't be read.
        """
        parts = split_backbone(_from_preset("Backbone", self.path))
        encoder.set_weights([weight for part in parts for weight in part.get_weights()])


def _from_preset(name: str, path: str | Path, **settings: Any) -> Any:
    """Call `from_preset` of a class of keras-hub; all its errors become one sentence."""
    try:
        import keras_hub
    except ImportError as error:
        raise RequestError(
            "model.path: expected a folder of runs, or keras-hub for a preset, which is not "
            f"installed (pip install 'attnlab[pretrained]'), got {path}."
        ) from error
    try:
        return getattr(keras_hub.models, name).from_preset(os.path.expanduser(path), **settings)
    except Exception as error:  # keras-hub, Keras, h5py and each hub have errors of their own
        cause = textwrap.shorten(str(error.__cause__ or error), 200, placeholder="...")
        raise RequestError(
            "model.path: expected the folder of a run of task=masked_words, or a preset of "
            f"keras-hub such as bert_tiny_en_uncased, got {path}: {cause}"
        ) from error
