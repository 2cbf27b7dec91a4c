"""The files of a keras-hub preset: a folder, or a handle that keras-hub downloads them by."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from attnlab.encoders.hub_tokenizer import read_tokenizer, tokenizer_files
from attnlab.errors import RequestError
from attnlab.text.tokenizers import Tokenizer

BACKBONES = {
    "BertBackbone": "BertTokenizer",
    "DistilBertBackbone": "DistilBertTokenizer",
    "RobertaBackbone": "RobertaTokenizer",
}
_CONFIG = "config.json"
_WEIGHTS = "model.weights.h5"
_SHARDS = "model.weights.json"
_SIZES = ("vocabulary_size", "num_layers", "num_heads", "hidden_dim", "intermediate_dim")
_OF_THE_LAYER = ("name", "trainable", "dtype")  # settled where the layer is made
_EXPECTED = "the folder of a keras-hub preset, or a handle such as bert_tiny_en_uncased"


class Preset(NamedTuple):
    """What is known of a preset before its weights are read.

    Attributes:
        class_name: the backbone's.
        config: the arguments of the backbone that say its sizes.
        tokenizer: as this project numbers its tokens.
        digest: SHA-256 of the weights and the vocabulary.
    """

    class_name: str
    config: dict[str, Any]
    tokenizer: Tokenizer
    digest: str


def read_preset(path: str) -> Preset:
    """All of a preset but its weights.

    Raises:
        RequestError: keras-hub is missing, there is no such preset, a file of it is missing or
            damaged, or it is no encoder of texts that this project knows.
    """
    need_keras_hub()
    class_name, config = _backbone(path)
    tokenizer_class = BACKBONES[class_name]
    files = [_file(path, name) for name in tokenizer_files(tokenizer_class)]
    tokenizer = read_tokenizer(files, tokenizer_class)
    if tokenizer.size != config["vocabulary_size"]:
        raise RequestError(
            f"model.path: expected a vocabulary of {config['vocabulary_size']} tokens, as "
            f"{_CONFIG} says, in {files[1]}, got {tokenizer.size}."
        )
    return Preset(class_name, config, tokenizer, _digest([*_weights(path), *files[1:]]))


def need_keras_hub() -> None:
    """Refuse, by a `RequestError`, to go on without keras-hub."""
    if importlib.util.find_spec("keras_hub") is None:
        raise RequestError(
            "model.path: expected keras-hub, which is not installed: "
            "pip install 'attnlab[pretrained]'."
        )


def in_short(error: Exception) -> str:
    """An error of another library as a part of a sentence; the one that caused it knows more."""
    first = error.__cause__ or error
    return f"{type(first).__name__}: {textwrap.shorten(str(first), 300, placeholder='...')}"


def _backbone(path: str) -> tuple[str, dict[str, Any]]:
    """The class of a preset's backbone, and the arguments that say its sizes."""
    file = _file(path, _CONFIG)
    content = _json(file)
    name = content.get("class_name")
    if "registered_name" not in content:
        whose = content.get("model_type") or content.get("architecture")
        other = f"a model of another library ({whose})" if whose else "something else"
        raise RequestError(f"model.path: expected a preset of keras-hub in {path}, got {other}.")
    if name not in BACKBONES:
        raise RequestError(f"model.path: expected {_one_of(BACKBONES)} in {path}, got {name}.")
    config = content.get("config")
    if not isinstance(config, dict) or not all(_is_size(config.get(size)) for size in _SIZES):
        raise RequestError(
            f"model.path: expected the numbers {', '.join(_SIZES)} in {file}, got {config}."
        )
    return name, {key: value for key, value in config.items() if key not in _OF_THE_LAYER}


def _weights(path: str) -> list[Path]:
    """The files of the weights; of large models they are several."""
    import h5py

    try:
        files = [_file(path, _WEIGHTS)]
    except RequestError as error:
        files = [_file(path, shard) for shard in _shards(path, error)]
    for file in files:
        try:
            h5py.File(file, "r").close()
        except OSError as error:
            raise RequestError(
                f"model.path: expected whole weights in {file}, got {in_short(error)}."
            ) from error
    return files


def _shards(path: str, without: RequestError) -> list[str]:
    """The names of the files that a preset's weights are divided into.

    Raises:
        RequestError: they aren't divided, so the error is the one of going `without`; or the list
            is damaged.
    """
    try:
        file = _file(path, _SHARDS)
    except RequestError:
        raise without from without.__cause__
    try:
        names = _json(file)["weight_map"].values()
    except (KeyError, AttributeError) as error:
        raise RequestError(
            f'model.path: expected "weight_map" in {file}, got an object without.'
        ) from error
    return sorted(
        {shard for name in names for shard in ([name] if isinstance(name, str) else name)}
    )


def _file(path: str, name: str) -> Path:
    """A file of a preset, downloaded where it must be."""
    folder = Path(path).expanduser()
    if not folder.is_dir():
        return _downloaded(path, name)
    if not (folder / name).is_file():
        raise RequestError(f"model.path: expected {_EXPECTED}, got {path} without {name}.")
    return folder / name


def _downloaded(path: str, name: str) -> Path:
    from keras_hub.src.utils.preset_utils import BUILTIN_PRESETS, get_file

    if Path(path).expanduser().exists() or ("://" not in path and path not in BUILTIN_PRESETS):
        raise RequestError(f"model.path: expected {_EXPECTED}, got {path}, which is neither.")
    try:
        return Path(get_file(path, name))
    except Exception as error:  # each hub has errors of its own
        raise RequestError(
            f"model.path: expected to download {name} of {path}, got {in_short(error)}"
        ) from error


def _json(file: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise RequestError(
            f"model.path: expected JSON in {file}, got {in_short(error)}."
        ) from error
    if not isinstance(content, dict):
        raise RequestError(f"model.path: expected an object of JSON in {file}, got another value.")
    return content


def _digest(files: Iterable[Path]) -> str:
    """SHA-256 of some files, one after the other."""
    digest = hashlib.sha256()
    for file in files:
        with open(file, "rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and value > 0


def _one_of(names: Iterable[str]) -> str:
    return f"one of {', '.join(names)}"
