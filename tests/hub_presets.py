"""Small presets of keras-hub with random weights, and their tokenizers' files."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.encoders.hub_tokenizer import order
from attnlab.text.tokenizers import PAD

WORDS = (
    *("[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "é", "##b", "##c"),
    *("!", '"', "'", "(", ")", ",", "-", ".", "[", "]", "…", "##e", "##é", "漢", "字", "the"),
    *("quick", "fox", "##es", "jump", "##ed", "caf", "mask", "ss", "İ", "12", "##3", "Ab", "ab"),
)
SPECIAL_OF_ROBERTA = ("<s>", "<pad>", "</s>", "<unk>")
CORPUS = [
    "The quick foxes jumped over it's <mask> <s> 12345 café…",
    " <s> <mask> </s> aab bb  bb\nx",
]
TOKENIZER_OF = {
    "BertBackbone": "BertTokenizer",
    "DistilBertBackbone": "DistilBertTokenizer",
    "RobertaBackbone": "RobertaTokenizer",
}


def write_tokenizer(folder: Path, class_name: str, **settings: Any) -> None:
    """Files of a tokenizer; `settings` are added to those that keras-hub writes."""
    assets = folder / "assets" / "tokenizer"
    assets.mkdir(parents=True)
    content = {"class_name": class_name, "config": {"name": "tokenizer", **settings}}
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    if class_name != "RobertaTokenizer":
        (assets / "vocabulary.txt").write_text("".join(f"{word}\n" for word in WORDS), "utf-8")
        return
    vocabulary, merges = byte_pairs()
    (assets / "vocabulary.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    (assets / "merges.txt").write_text("".join(f"{merge}\n" for merge in merges), "utf-8")


@functools.cache
def byte_pairs() -> tuple[dict[str, int], list[str]]:
    """A vocabulary of RoBERTa's kind, and its merges."""
    import tokenizers
    from tokenizers import models, pre_tokenizers, trainers

    letters = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=list(SPECIAL_OF_ROBERTA),
        initial_alphabet=letters,
        show_progress=False,
    )
    fitted = tokenizers.Tokenizer(models.BPE())
    fitted.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fitted.train_from_iterator(CORPUS * 5, trainer)
    model = json.loads(fitted.to_str())["model"]
    vocabulary = {**model["vocab"], "<mask>": len(model["vocab"])}
    return vocabulary, [" ".join(pair) for pair in model["merges"]]


def make_backbone(class_name: str) -> Any:
    """A backbone of two layers, with weights far from the initial ones."""
    import keras_hub

    roberta = class_name == "RobertaBackbone"
    backbone = getattr(keras_hub.models, class_name)(
        vocabulary_size=len(byte_pairs()[0] if roberta else WORDS),
        num_layers=2,
        num_heads=2,
        hidden_dim=14,
        intermediate_dim=23,
        max_sequence_length=19,
    )
    return far_away(backbone)


def far_away(backbone: Any) -> Any:
    """Give a backbone weights far from the initial ones."""
    draw = np.random.default_rng(5)
    for weight in backbone.weights:
        weight.assign(0.4 * draw.standard_normal(weight.shape))
    return backbone


def write_preset(folder: Path, class_name: str, **saving: Any) -> Any:
    """Write a preset with its tokenizer; returns the backbone."""
    backbone = make_backbone(class_name)
    backbone.save_to_preset(str(folder), **saving)
    write_tokenizer(folder, TOKENIZER_OF[class_name], lowercase=True)
    return backbone


def filled(source: Any) -> Any:
    """The encoder of a source, with its weights."""
    encoder = source.make()
    encoder.build((None, None))
    source.fill(encoder)
    return encoder


def inputs_of(backbone: Any, tokenizer: Any, rows: np.ndarray) -> dict[str, np.ndarray]:
    """The inputs of keras-hub for this project's rows."""
    from attnlab.encoders.hub import segments

    inputs = {"token_ids": order(tokenizer)[rows], "padding_mask": rows != PAD}
    if type(backbone).__name__ == "BertBackbone":
        inputs["segment_ids"] = np.array(segments(rows))
    return {name: np.int32(value) for name, value in inputs.items()}


def expected_vectors(backbone: Any, tokenizer: Any, rows: np.ndarray) -> np.ndarray:
    """The vectors of keras-hub for this project's rows."""
    outputs = backbone(inputs_of(backbone, tokenizer, rows))
    return np.array(outputs["sequence_output"] if isinstance(outputs, dict) else outputs)


def cut_off(path: Path) -> None:
    """Cut a file in half."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
