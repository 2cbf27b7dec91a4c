"""Open and apply a pretrained encoder: a run of this project, or a preset of keras-hub.

All encoders read rows (B, S) of ids of this project's tokenizers: START, a text, END, optionally a
second text and END, then PAD. A preset's encoder converts them to the preset's ids.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from attnlab.config.options import option_class, option_content
from attnlab.errors import RequestError
from attnlab.records.files import write_json
from attnlab.records.run_directory import RunDirectory, list_runs
from attnlab.records.sweep_runs import runs_of_sweep
from attnlab.text.cleaning import normalize
from attnlab.text.tokenizers import END, PAD, START, UNKNOWN, Tokenizer, pad_rows
from attnlab.text.vocabulary import cut_warning, unknown_warning

if TYPE_CHECKING:
    from attnlab.encoders.presets import PresetSource
    from attnlab.layers.transformer import TextEncoder

# A source has `path`, `attention` (name and settings), `tokenizer`, and `max_length`, the most
# tokens of a row; `make` creates the layer, `fill` assigns its pretrained weights.
Source: TypeAlias = "RunSource | PresetSource"

# The values of `optimizer.learning_rate=auto`. At ten times its rate a preset forgets its language;
# Devlin et al. 2019 (appendix A.3) tried 2e-5 to 5e-5.
_RATE_OF_OUTPUT, _RATE_OF_RUNS, _RATE_OF_PRESETS = 0.005, 0.0005, 0.00005
_FILE = "encoder.json"
_TASK, _TOKENIZER = "masked_words", "tokenizer.json"
_TOGETHER = 64  # texts per batch


class RunSource:
    """The encoder of a run, with the weights of the best epoch; see `Source`."""

    kind = "run"

    def __init__(
        self, content: Mapping[str, Any], tokenizer: Tokenizer, run: RunDirectory | None = None
    ) -> None:
        self._content, self.tokenizer, self._run = content, tokenizer, run
        self.path: str = content["path"]
        self.attention: Mapping[str, Any] = content["attention"]
        self.max_length: int = content["most"]

    @classmethod
    def open(cls, path: str, seed: int | None = None) -> RunSource:
        """Open the encoder in a run's folder, or of the run with a seed in a sweep's folder.

        Raises:
            RequestError: the run has no encoder, isn't completed, or a file is damaged.
        """
        run = _find_run(Path(path).expanduser(), seed)
        config = run.read_config()
        if config["task"]["name"] != _TASK:
            raise RequestError(
                f"model.path: expected a run of task={_TASK}, got {path}, a run of "
                f"task={config['task']['name']}."
            )
        run.status.require_completed("")
        tokenizer = Tokenizer.load(run.assets / _TOKENIZER)
        # Positions are learned up to the task's `max_length`, even if all texts are shorter.
        content = {
            "kind": cls.kind,
            "path": path,
            "attention": config["attention"],
            "model": {key: value for key, value in config["model"].items() if key != "name"},
            "words": tokenizer.size + 1,
            "most": config["task"]["max_length"],
        }
        return cls(content, tokenizer, run)

    @classmethod
    def read(cls, folder: Path, content: Mapping[str, Any]) -> RunSource:
        """Read what `save` wrote and returned."""
        return cls(content, Tokenizer.load(folder / _TOKENIZER))

    def save(self, folder: Path) -> Mapping[str, Any]:
        """Write the tokenizer; returns a description of the encoder for `read`, JSON-ready."""
        self.tokenizer.save(folder / _TOKENIZER)
        return self._content

    def make(self) -> TextEncoder:
        """Create the layer, without building it."""
        from attnlab.layers.transformer import TextEncoder, make_mechanisms

        settings = dict(self._content["model"])
        mechanism = {key: value for key, value in self.attention.items() if key != "name"}
        cls = option_class("attention", self.attention["name"])
        layers = make_mechanisms(partial(cls, **mechanism), settings)
        sizes = {"vocabulary": self._content["words"], "most": self.max_length}
        return TextEncoder(attention=layers, name="encoder", **sizes, **settings)

    def fill(self, encoder: TextEncoder) -> None:
        """Assign the trained weights to a built layer of `make`.

        Raises:
            RequestError: the weights are missing or damaged.
        """
        import keras

        class Holder(keras.Model):
            """A model with only the encoder, in the attribute that the trained model has."""

            def load_own_variables(self, store: Any) -> None:
                """Ignore the weights of the output layer in the file."""

        if self._run is None:
            raise RequestError(f"model.path: expected a run of task={_TASK}, got {self.path}.")
        path = self._run.weights_path(int(self._run.read_metrics()["best_epoch"]))
        holder = Holder()
        holder.encoder = encoder
        holder.built = True
        try:
            holder.load_weights(path)
        except (OSError, ValueError, KeyError) as error:
            reason = str(error).strip().splitlines()[0]
            raise RequestError(f"{path}: expected the weights of an encoder: {reason}") from error


def is_run(path: str) -> bool:
    """Whether a path is the folder of a run or of a sweep."""
    folder = Path(path).expanduser()
    return (folder / "status.json").is_file() or (folder / "sweep.json").is_file()


def _find_run(path: Path, seed: int | None) -> RunDirectory:
    """Return the run in a folder, or that with a seed in a sweep's folder, or its first one."""
    if not (path / "sweep.json").is_file():
        return RunDirectory.open(path)
    runs = [entry.run for entry in runs_of_sweep(list_runs(path.parent.parent), path.name)]
    if seed is not None:
        runs = [run for run in runs if run.read_config().get("seed") == seed]
    if not runs or (seed is not None and len(runs) > 1):
        which = "runs" if seed is None else f"one run with seed={seed}"
        raise RequestError(
            f"model.path: expected a sweep that has {which}, got {path}, which has {len(runs)}."
        )
    return runs[0]


def open_source(path: str | None, seed: int | None = None) -> Source:
    """Open the encoder at a path.

    Args:
        path: the folder of a run of `task=masked_words`, or of a sweep of such runs, from which the
            run with the seed is chosen; or an argument of
            `keras_hub.models.Backbone.from_preset`, a folder or a handle.
        seed: the seed of the run that needs the encoder; None: any run of a sweep.

    Raises:
        RequestError: there is no encoder, or a file is damaged.
    """
    if not path:
        raise RequestError(
            "model.path: expected a run of task=masked_words, or a preset of keras-hub, got null."
        )
    return RunSource.open(path, seed) if is_run(path) else _preset_source()(path)


def _preset_source() -> type[PresetSource]:
    from attnlab.internals import import_tensorflow

    import_tensorflow()
    from attnlab.encoders.presets import PresetSource

    return PresetSource


def save_source(folder: Path, source: Source) -> None:
    """Write an encoder and its tokenizer, without the weights."""
    write_json(folder / _FILE, source.save(folder))


def saved_source(folder: Path) -> Source | None:
    """Read what `save_source` wrote; None if it wrote nothing.

    Raises:
        RequestError: a file is damaged, or from a version of this project whose presets had a
            tokenizer of another kind.
    """
    path = folder / _FILE
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_bytes())
        sources = {"run": lambda: RunSource, "preset": _preset_source}
        return sources[content["kind"]]().read(folder, content)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise RequestError(
            f"{path}: can't be read as an encoder, repeat the run: {error!r}."
        ) from error


def require_known(rows: Iterable[Sequence[int]], source: Source) -> None:
    """Refuse an encoder whose vocabulary lacks more than half of the words of texts.

    Args:
        rows: texts, tokenized by the encoder's tokenizer.
        source: the encoder.

    Raises:
        RequestError: more than half of the tokens are unknown.
    """
    tokens = [token for row in rows for token in row]
    unknown = tokens.count(UNKNOWN)
    if 2 * unknown > len(tokens):
        raise RequestError(
            "model.path: expected an encoder that knows the words of the texts, got "
            f"{source.path}, which doesn't know {unknown / len(tokens):.0%} of them."
        )


def vectors_by(
    source: Source, warn: Callable[[str], None] = lambda text: None
) -> Callable[[Sequence[str]], np.ndarray]:
    """Return a function from texts to vectors (N, W): the mean of the encoder's of their tokens.

    START and END are left out. Texts longer than the encoder's rows are cut at the end.

    Args:
        source: the encoder.
        warn: called with a warning about unknown words, and with one about a text that is cut.

    Raises:
        RequestError: the encoder's weights can't be read.
    """
    encoder, most = source.make(), source.max_length - 2
    encoder.build((None, source.max_length))
    source.fill(encoder)

    def vectors(texts: Sequence[str]) -> np.ndarray:
        texts = [normalize(text) for text in texts]
        tokens = source.tokenizer.encode(texts)
        words = [word for text in texts for word in source.tokenizer.unknown(text)]
        if warning := unknown_warning(words, set()):
            warn(warning)
        if cut := [text for text, row in zip(texts, tokens, strict=True) if len(row) > most]:
            warn(cut_warning("sentence", most, cut[0]))
        framed = [[START, *(row or [UNKNOWN])[:most], END] for row in tokens]
        means = []
        for start in range(0, len(framed), _TOGETHER):
            rows = pad_rows(framed[start : start + _TOGETHER])
            encoded = np.asarray(encoder(rows, training=False).vectors, np.float64)
            is_word = ~np.isin(rows, (PAD, START, END))[..., None]
            means.append((encoded * is_word).sum(axis=1) / is_word.sum(axis=1))
        return np.concatenate(means)

    return vectors


@lru_cache
def _attention(path: str, seed: int | None) -> Mapping[str, Any]:
    """Return the attention of the encoder at a path."""
    return open_source(path, seed).attention


def with_encoder_settings(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a configuration with the settings that follow from its encoder, if it has one.

    With `model=pretrained`, `attention` becomes the encoder's own, and
    `optimizer.learning_rate=auto` a number. If the encoder can't be opened, this function reports
    nothing: a new run will, and a finished run doesn't need it.

    Raises:
        RequestError: the configuration has another mechanism, other settings of it, or another
            `task.encoder`.
    """
    model, attention = document.get("model", {}), document.get("attention", {})
    if model.get("name") != "pretrained":
        return document
    path = str(model.get("path"))
    if document.get("optimizer", {}).get("learning_rate") == "auto":
        rate = _RATE_OF_RUNS if is_run(path) else _RATE_OF_PRESETS
        rate = _RATE_OF_OUTPUT if model.get("frozen") else rate
        document = {**document, "optimizer": {**document["optimizer"], "learning_rate": rate}}
    if not model.get("path"):
        return document
    if document["task"].get("encoder") != path:
        raise RequestError(f"task.encoder: expected {path}, equal to model.path.")
    try:
        expected = _attention(path, document.get("seed"))
    except RequestError:
        return document
    defaults = {**(option_content("attention", expected["name"]) or {}), "name": expected["name"]}
    for key, value in attention.items():
        if key in expected and value not in (expected[key], defaults.get(key)):
            raise RequestError(
                f"attention.{key}: expected {expected[key]}, which the encoder at {path} has, got "
                f"{value}."
            )
    return {**document, "attention": {**attention, **expected}}
