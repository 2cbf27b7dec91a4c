"""The two file formats of presets: that of keras-hub, and that of Transformers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from attnlab.errors import RequestError

# `model_type` in Transformers -> the class of keras-hub's backbone.
_OF_TRANSFORMERS = {
    "bert": "BertBackbone",
    "distilbert": "DistilBertBackbone",
    "roberta": "RobertaBackbone",
}
# Argument of a backbone -> its names in Transformers; a model has one of them or none. keras-hub
# has this table, too, but imports TensorFlow, which would delay the first message of a run.
_SIZES = {
    "vocabulary_size": ("vocab_size",),
    "num_layers": ("num_hidden_layers", "n_layers"),
    "num_heads": ("num_attention_heads", "n_heads"),
    "hidden_dim": ("hidden_size", "dim"),
    "intermediate_dim": ("intermediate_size", "hidden_dim"),
    "max_sequence_length": ("max_position_embeddings",),
    "dropout": ("hidden_dropout_prob", "dropout"),
}
_NO_PLACES = 2  # RoBERTa doesn't use its first positions
_ASSETS = "assets/tokenizer"


class Form(NamedTuple):
    """The names of a preset's files.

    Attributes:
        weights: the weights, if they are in one file.
        shards: the list of the files of weights, if there are several.
        tokenizer: the settings of the tokenizer, without the vocabulary.
        words: the vocabulary of WordPiece.
        pieces: the vocabulary of byte-level BPE.
        merges: the merges of byte-level BPE.
    """

    weights: str
    shards: str
    tokenizer: str
    words: str
    pieces: str
    merges: str

    def of_tokenizer(self, class_name: str) -> list[str]:
        """Return the files of one of keras-hub's tokenizers: settings, then vocabulary."""
        is_bpe = class_name == "RobertaTokenizer"
        return [self.tokenizer, *([self.pieces, self.merges] if is_bpe else [self.words])]


KERAS_HUB = Form(
    weights="model.weights.h5",
    shards="model.weights.json",
    tokenizer="tokenizer.json",
    words=f"{_ASSETS}/vocabulary.txt",
    pieces=f"{_ASSETS}/vocabulary.json",
    merges=f"{_ASSETS}/merges.txt",
)
TRANSFORMERS = Form(
    weights="model.safetensors",
    shards="model.safetensors.index.json",
    tokenizer="tokenizer_config.json",
    words="vocab.txt",
    pieces="vocab.json",
    merges="merges.txt",
)


def form_of(path: str, config: Mapping[str, Any]) -> tuple[Form, str]:
    """Return the form of a preset, and the class of its backbone, from its config.json.

    Raises:
        RequestError: this project doesn't support the model.
    """
    if "registered_name" in config:
        return KERAS_HUB, str(config.get("class_name"))
    if config.get("model_type") in _OF_TRANSFORMERS:
        return TRANSFORMERS, _OF_TRANSFORMERS[config["model_type"]]
    whose = config.get("model_type") or config.get("architecture")
    other = f"a model of another library ({whose})" if whose else "something else"
    raise RequestError(
        f"model.path: expected a keras-hub preset or a Transformers model "
        f"({', '.join(_OF_TRANSFORMERS)}) in {path}, got {other}."
    )


def sizes_of(path: str, form: Form, config: Mapping[str, Any]) -> Any:
    """Return the arguments of a preset's backbone from its config.json.

    Raises:
        RequestError: a model of Transformers that keras-hub's layers can't compute.
    """
    if form is KERAS_HUB:
        return config.get("config")
    activation = config.get("hidden_act", config.get("activation", "gelu"))
    places = config.get("position_embedding_type", "absolute")
    if (activation, places) != ("gelu", "absolute"):
        raise RequestError(
            f"model.path: expected gelu and absolute positions in {path}, as keras-hub computes "
            f"them, got {activation} and {places}."
        )
    sizes = {
        ours: config[theirs]
        for ours, names in _SIZES.items()
        for theirs in names
        if theirs in config
    }
    if config["model_type"] == "roberta" and isinstance(sizes.get("max_sequence_length"), int):
        sizes["max_sequence_length"] -= _NO_PLACES
    return sizes
