"""Read the files of a preset of keras-hub or Transformers, from a folder or by a handle."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import textwrap
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from attnlab.encoders.hub_tokenizer import read_tokenizer
from attnlab.encoders.preset_forms import KERAS_HUB, Form, form_of, sizes_of
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
_EXPECTED = (
    "the folder of a preset of keras-hub or Transformers, or a handle such as bert_tiny_en_uncased "
    "or hf://USER/NAME"
)


class PresetFiles:
    """The files of a preset, downloaded when needed.

    Args:
        path: a preset's folder, or a handle of keras-hub.

    Attributes:
        form: the names of the files.
        class_name: the backbone's class.

    Raises:
        RequestError: keras-hub or the preset is missing, or the preset is damaged.
    """

    def __init__(self, path: str) -> None:
        need_keras_hub(path)
        self._path, self._folder = path, Path(path).expanduser()
        self._config = read_json(self.file(_CONFIG))
        self.form, self.class_name = form_of(path, self._config)

    def file(self, name: str) -> Path:
        """Return a file; raise `RequestError` if it is missing or can't be downloaded."""
        if not self._folder.is_dir():
            return _downloaded(self._path, name)
        if self.lacks(name):
            raise RequestError(
                f"model.path: expected {_EXPECTED}, got {self._path} without {name}."
            )
        return self._folder / name

    def lacks(self, name: str) -> bool:
        """Whether the folder lacks a file; always False for a handle."""
        return self._folder.is_dir() and not (self._folder / name).is_file()

    def arguments(self, known: Collection[str], sizes: Iterable[str]) -> dict[str, Any]:
        """Return the arguments of the backbone.

        Raises:
            RequestError: its class isn't in `known`, or an argument in `sizes` isn't a whole number
                above 0.
        """
        if self.class_name not in known:
            raise RequestError(
                f"model.path: expected {_one_of(known)} in {self._path}, got {self.class_name}."
            )
        config = sizes_of(self._path, self.form, self._config)
        if not isinstance(config, dict) or not all(is_size(config.get(size)) for size in sizes):
            raise RequestError(
                f"model.path: expected the numbers {', '.join(sizes)} in {self.file(_CONFIG)}, "
                f"got {config}."
            )
        return {key: value for key, value in config.items() if key not in _OF_THE_LAYER}

    def weights(self) -> list[Path]:
        """Return the files of the weights, checked for damage; large models have several."""
        try:
            files = [self.file(self.form.weights)]
        except RequestError as error:
            files = [self.file(shard) for shard in self._shards(error)]
        for file in files:
            try:
                _open_weights(file, self.form)
            except Exception as error:  # safetensors has errors of its own
                raise RequestError(
                    f"model.path: weights can't be read from {file}: {in_short(error)}."
                ) from error
        return files

    def _shards(self, without: RequestError) -> list[str]:
        """Return the names of the several files of the weights.

        Raises:
            RequestError: there is no list of several files, which raises `without`; or the list is
                damaged.
        """
        try:
            file = self.file(self.form.shards)
        except RequestError:
            raise without from without.__cause__
        try:
            names = read_json(file)["weight_map"].values()
        except (KeyError, AttributeError) as error:
            raise RequestError(
                f'model.path: expected "weight_map" in {file}, got an object without.'
            ) from error
        return sorted(
            {shard for name in names for shard in ([name] if isinstance(name, str) else name)}
        )


def _open_weights(file: Path, form: Form) -> None:
    """Read the header of a file of weights; raise the library's error if it is damaged."""
    if form is KERAS_HUB:
        import h5py

        h5py.File(file, "r").close()
    else:
        import safetensors

        with safetensors.safe_open(file, framework="np"):
            pass


def read_preset(path: str) -> dict[str, Any]:
    """Read all of a preset except its weights, as the arguments of a `HubSource`.

    Raises:
        RequestError: keras-hub is missing, there is no such preset, one of its files is missing or
            damaged, or it isn't an encoder of texts that this project supports.
    """
    preset = PresetFiles(path)
    config = preset.arguments(BACKBONES, _SIZES)
    tokenizer_class = BACKBONES[preset.class_name]
    files = [preset.file(name) for name in preset.form.of_tokenizer(tokenizer_class)]
    tokenizer = read_tokenizer(files, tokenizer_class, preset.form)
    if tokenizer.size != config["vocabulary_size"]:
        raise RequestError(
            f"model.path: expected a vocabulary of {config['vocabulary_size']} tokens, as "
            f"{_CONFIG} says, in {files[1]}, got {tokenizer.size}."
        )
    return {
        "class_name": preset.class_name,
        "config": config,
        "tokenizer": tokenizer,
        "files": [*preset.weights(), *files[1:]],
    }


def preset_attention(preset: PresetFiles) -> dict[str, Any]:
    """Return the mechanism of a preset for texts; raise `RequestError` as `arguments` does."""
    return attention_of(preset.arguments(BACKBONES, _SIZES))


def attention_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mechanism of a backbone, `name` and settings as in a configuration."""
    return {"name": "multi_head", "heads": config["num_heads"]}


def need_keras_hub(path: str) -> None:
    """Raise `RequestError` if keras-hub, which the preset at a path needs, isn't installed."""
    if importlib.util.find_spec("keras_hub") is None:
        raise RequestError(
            "model.path: expected a folder of runs, or keras-hub for a preset, which is not "
            f"installed (pip install 'attnlab[pretrained]'), got {path}."
        )


def in_short(error: Exception) -> str:
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
            f"model.path: the weights of {path} can't be read: {in_short(error)}"
        ) from error


def is_handle(path: str) -> bool:
    """Whether keras-hub downloads a preset by this name; with `/` but no `://` it is a path."""
    is_name = "_" in path and "/" not in path  # cheap test first: the list takes seconds to import
    if not is_name or importlib.util.find_spec("keras_hub") is None:
        return "://" in path
    import_tensorflow()
    from keras_hub.src.utils.preset_utils import BUILTIN_PRESETS

    return path in BUILTIN_PRESETS


def _downloaded(path: str, name: str) -> Path:
    if Path(path).expanduser().exists() or not is_handle(path):
        raise RequestError(f"model.path: expected {_EXPECTED}, got {path}, which is neither.")
    import_tensorflow()
    from keras_hub.src.utils.preset_utils import get_file

    try:
        return Path(get_file(path, name))
    except Exception as error:  # each hub has errors of its own
        raise RequestError(
            f"model.path: {name} of {path} can't be downloaded: {in_short(error)}"
        ) from error


def read_json(file: Path) -> Mapping[str, Any]:
    """Read a JSON object; raise `RequestError` if the file is damaged or isn't an object."""
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise RequestError(
            f"model.path: {file} can't be read as JSON: {in_short(error)}."
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


def is_size(value: Any) -> bool:
    """Whether a value from a file is a whole number above 0."""
    return isinstance(value, int) and value > 0


def _one_of(names: Collection[str]) -> str:
    return f"one of {', '.join(names)}" if len(names) > 1 else "".join(names)
