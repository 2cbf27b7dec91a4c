"""Read the files of a preset of keras-hub, from a folder or by a handle."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attnlab.encoders.hub_tokenizer import read_tokenizer
from attnlab.errors import RequestError
from attnlab.training.tensorflow_internals import import_tensorflow

BACKBONES = {
    "BertBackbone": "BertTokenizer",
    "DistilBertBackbone": "DistilBertTokenizer",
    "RobertaBackbone": "RobertaTokenizer",
}
_CONFIG = "config.json"
_SIZES = ("vocabulary_size", "num_layers", "num_heads", "hidden_dim", "intermediate_dim")
_OF_THE_LAYER = ("name", "trainable", "dtype")  # set where the layer is created
_WEIGHTS, _SHARDS = "model.weights.h5", "model.weights.json"
_EXPECTED = "the folder of a preset of keras-hub, or a handle such as bert_tiny_en_uncased"


def tokenizer_files(class_name: str) -> list[str]:
    """Return the names of the files of one of keras-hub's tokenizers: settings, vocabulary."""
    is_bpe = class_name == "RobertaTokenizer"
    vocabulary = ["vocabulary.json", "merges.txt"] if is_bpe else ["vocabulary.txt"]
    return ["tokenizer.json", *(f"assets/tokenizer/{name}" for name in vocabulary)]


def read_preset(path: str) -> dict[str, Any]:
    """Read all of a preset except its weights, as the arguments of a `HubSource`.

    Raises:
        RequestError: keras-hub is missing, there is no such preset, one of its files is missing or
            damaged, or it isn't an encoder of texts that this project supports.
    """
    class_name, config = _backbone(path)
    tokenizer_class = BACKBONES[class_name]
    files = [_file(path, name) for name in tokenizer_files(tokenizer_class)]
    tokenizer = read_tokenizer(files, tokenizer_class)
    if tokenizer.size != config["vocabulary_size"]:
        raise RequestError(
            f"model.path: expected a vocabulary of {config['vocabulary_size']} tokens, as "
            f"{_CONFIG} says, in {files[1]}, got {tokenizer.size}."
        )
    return {
        "class_name": class_name,
        "config": config,
        "tokenizer": tokenizer,
        "files": [*_weights(path), *files[1:]],
    }


def preset_attention(path: str) -> dict[str, Any]:
    """Return the mechanism of a preset from its config.json; raise as `read_preset` does."""
    return attention_of(_backbone(path)[1])


def attention_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mechanism of a backbone, `name` and settings as in a configuration."""
    return {"name": "multi_head", "heads": config["num_heads"]}


def _backbone(path: str) -> tuple[str, dict[str, Any]]:
    """Return the class of a preset's backbone, and its arguments."""
    need_keras_hub(path)
    file = _file(path, _CONFIG)
    content = _read_json(file)
    name, config = content.get("class_name"), content.get("config")
    if name not in BACKBONES:
        raise RequestError(
            f"model.path: expected a preset of keras-hub with one of {', '.join(BACKBONES)} in "
            f"{path}, got {name or content.get('model_type') or 'something else'}."
        )
    if not isinstance(config, dict) or not all(
        isinstance(config.get(size), int) and config[size] > 0 for size in _SIZES
    ):
        raise RequestError(
            f"model.path: expected the numbers {', '.join(_SIZES)} in {file}, got {config}."
        )
    return name, {key: value for key, value in config.items() if key not in _OF_THE_LAYER}


def _weights(path: str) -> list[Path]:
    """Return the files of the weights, checked for damage; large models have several."""
    import h5py

    try:
        files = [_file(path, _WEIGHTS)]
    except RequestError as missing:
        try:
            shards = _file(path, _SHARDS)
        except RequestError:
            raise missing from missing.__cause__
        content = _read_json(shards).get("weight_map")
        if not isinstance(content, dict):
            raise RequestError(
                f'model.path: expected "weight_map" in {shards}, got an object without.'
            ) from None
        lists = [[name] if isinstance(name, str) else name for name in content.values()]
        files = [_file(path, name) for name in sorted({name for names in lists for name in names})]
    for file in files:
        try:
            h5py.File(file, "r").close()
        except OSError as error:
            raise RequestError(
                f"model.path: weights can't be read from {file}: {_in_short(error)}."
            ) from error
    return files


def _file(path: str, name: str) -> Path:
    """Return a file of a preset, downloaded if the path is a handle."""
    folder = Path(path).expanduser()
    if folder.is_dir():
        if not (folder / name).is_file():
            raise RequestError(f"model.path: expected {_EXPECTED}, got {path} without {name}.")
        return folder / name
    if folder.exists() or not is_handle(path):
        raise RequestError(f"model.path: expected {_EXPECTED}, got {path}, which is neither.")
    import_tensorflow()
    from keras_hub.src.utils.preset_utils import get_file

    try:
        return Path(get_file(path, name))
    except Exception as error:  # each hub has errors of its own
        raise RequestError(
            f"model.path: {name} of {path} can't be downloaded: {_in_short(error)}"
        ) from error


def need_keras_hub(path: str) -> None:
    """Raise `RequestError` if keras-hub, which the preset at a path needs, isn't installed."""
    if importlib.util.find_spec("keras_hub") is None:
        raise RequestError(
            "model.path: expected a folder of runs, or keras-hub for a preset, which is not "
            f"installed (pip install 'attnlab[pretrained]'), got {path}."
        )


def _in_short(error: Exception) -> str:
    """Return an error of another library, or better its cause, as a part of a sentence."""
    first = error.__cause__ or error
    return f"{type(first).__name__}: {textwrap.shorten(str(first), 300, placeholder='...')}"


def trained_backbone(path: str) -> Any:
    """Return a preset's backbone with its pretrained weights.

    Raises:
        RequestError: keras-hub is missing, or the weights can't be read.
    """
    need_keras_hub(path)
    import keras_hub

    folder = Path(path).expanduser()
    try:
        return keras_hub.models.Backbone.from_preset(str(folder) if folder.is_dir() else path)
    except Exception as error:  # keras-hub, Keras and h5py have errors of their own
        raise RequestError(
            f"model.path: the weights of {path} can't be read: {_in_short(error)}"
        ) from error


def is_handle(path: str) -> bool:
    """Whether keras-hub downloads a preset by this name; with `/` but no `://` it is a path."""
    is_name = "_" in path and "/" not in path  # cheap test first: the list takes seconds to import
    if not is_name or importlib.util.find_spec("keras_hub") is None:
        return "://" in path
    import_tensorflow()
    from keras_hub.src.utils.preset_utils import BUILTIN_PRESETS

    return path in BUILTIN_PRESETS


def _read_json(file: Path) -> Mapping[str, Any]:
    """Read a JSON object; raise `RequestError` if the file is damaged or isn't an object."""
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise RequestError(
            f"model.path: {file} can't be read as JSON: {_in_short(error)}."
        ) from error
    if not isinstance(content, dict):
        raise RequestError(f"model.path: expected a JSON object in {file}, got another value.")
    return content


def digest_of(files: Iterable[Path]) -> str:
    """Return the SHA-256 of the concatenated files."""
    digest = hashlib.sha256()
    for file in files:
        with open(file, "rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
