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
    write_vocabulary(assets, "vocabulary", roberta=class_name == "RobertaTokenizer")


def write_vocabulary(folder: Path, name: str, *, roberta: bool, header: str = "") -> None:
    """Write the file of words, or the files of pieces and of merges, below a header."""
    if not roberta:
        (folder / f"{name}.txt").write_text("".join(f"{word}\n" for word in WORDS), "utf-8")
        return
    vocabulary, merges = byte_pairs()
    (folder / f"{name}.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    joined = "".join(f"{merge}\n" for merge in merges)
    (folder / "merges.txt").write_text(header + joined, encoding="utf-8")


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


class Recorder:
    """Replaces a file of Transformers' weights: draws each weight that keras-hub reads."""

    def __init__(self, class_name: str) -> None:
        self.weights: dict[str, np.ndarray] = {}
        self._class_name, self._draw = class_name, np.random.default_rng(5)

    def get_tensor(self, name: str) -> None:
        """Sentence-transformers' names of norms are those of this file."""
        raise KeyError(name)

    def port_weight(self, keras_variable: Any, hf_weight_key: str, hook_fn: Any = None) -> None:
        """Store a weight in the shape that Transformers uses for keras-hub's weight."""
        shape = list(keras_variable.shape)
        if hf_weight_key.endswith("projection.weight"):  # (P, P, C, W) of keras-hub
            shape = [shape[3], shape[2], *shape[:2]]
        elif "embedding" in hf_weight_key:
            shape[0] += 2 * (self._class_name == "RobertaBackbone" and "position" in hf_weight_key)
        elif hf_weight_key.endswith("bias"):
            shape = [int(np.prod(shape))]
        elif len(shape) == 3:  # of heads, which Transformers has side by side
            last = "output" in hf_weight_key or "out_lin" in hf_weight_key
            shape = [shape[2], shape[0] * shape[1]] if last else [shape[1] * shape[2], shape[0]]
        elif len(shape) == 2:
            shape = shape[::-1]
        drawn = 0.4 * self._draw.standard_normal(shape)
        self.weights[hf_weight_key] = drawn.astype(np.float32)


def write_checkpoint(folder: Path, class_name: str, **config: Any) -> None:
    """Write a checkpoint as Transformers has them, with random weights and a tokenizer."""
    from keras_hub.src.utils.transformers.preset_loader import TransformersPresetLoader
    from safetensors.numpy import save_file

    roberta = class_name == "RobertaBackbone"
    content = {**CONFIG_OF[class_name], **config}
    content["vocab_size"] = len(byte_pairs()[0] if roberta else WORDS)
    loader = TransformersPresetLoader(str(folder), content)
    backbone = loader.load_backbone(loader.check_backbone_class(), load_weights=False)
    recorder = Recorder(class_name)
    loader.converter.convert_weights(backbone, recorder, content)
    save_file(recorder.weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(content))
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}))
    write_vocabulary(folder, "vocab", roberta=roberta, header="#version: 0.2\n")


_SIZES_OF_TRANSFORMERS = {
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "hidden_size": 14,
    "intermediate_size": 23,
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "hidden_act": "gelu",
}
CONFIG_OF = {
    "BertBackbone": {
        **_SIZES_OF_TRANSFORMERS,
        "model_type": "bert",
        "max_position_embeddings": 19,
    },
    "RobertaBackbone": {
        **_SIZES_OF_TRANSFORMERS,
        "model_type": "roberta",
        "max_position_embeddings": 21,
    },
    "DistilBertBackbone": {
        **{"model_type": "distilbert", "n_layers": 2, "n_heads": 2, "dim": 14, "hidden_dim": 23},
        **{"dropout": 0.1, "attention_dropout": 0.1, "activation": "gelu"},
        "max_position_embeddings": 19,
    },
}
