"""Small presets of keras-hub with random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

WORDS = (
    *("[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "é", "##b", "##c"),
    *("!", '"', "'", "(", ")", ",", "-", ".", "[", "]", "…", "##e", "##é", "漢", "字", "the"),
    *("quick", "fox", "##es", "jump", "##ed", "caf", "mask", "ss", "İ", "12", "##3", "Ab", "ab"),
)
MERGES = ["t h", "th e", "Ġ the", "Ġ f", "o x", "Ġf ox", "e s"]
BACKBONES = ("BertBackbone", "DistilBertBackbone", "RobertaBackbone")


def make_tokenizer(backbone_name: str, **settings: Any) -> Any:
    """The tokenizer of keras-hub that fits a backbone."""
    import keras_hub
    from tokenizers import pre_tokenizers

    if backbone_name != "RobertaBackbone":
        cls = getattr(keras_hub.models, backbone_name.replace("Backbone", "Tokenizer"))
        return cls(vocabulary=list(WORDS), lowercase=True, **settings)
    tokens = ["<s>", "<pad>", "</s>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokens += [*(pair.replace(" ", "") for pair in MERGES), "<mask>"]
    numbers = {token: number for number, token in enumerate(tokens)}
    return keras_hub.models.RobertaTokenizer(vocabulary=numbers, merges=MERGES, **settings)


def write_preset(folder: Path, backbone_name: str) -> Any:
    """Write a preset with weights far from the initial ones; returns its backbone."""
    import keras_hub

    tokenizer = make_tokenizer(backbone_name)
    backbone = getattr(keras_hub.models, backbone_name)(
        vocabulary_size=tokenizer.vocabulary_size(),
        num_layers=2,
        num_heads=2,
        hidden_dim=14,
        intermediate_dim=23,
        max_sequence_length=19,
    )
    draw = np.random.default_rng(5)
    for weight in backbone.weights:
        weight.assign(0.4 * draw.standard_normal(weight.shape))
    backbone.save_to_preset(str(folder))
    tokenizer.save_to_preset(str(folder))
    return backbone
