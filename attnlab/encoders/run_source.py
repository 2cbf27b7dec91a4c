"""Encoders from runs of `task=masked_words`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.config.options import option_class
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory, default_runs_folder, list_runs
from attnlab.records.sweep_runs import runs_of_sweep
from attnlab.text.tokenizers import Tokenizer

if TYPE_CHECKING:
    from attnlab.layers.text_encoder import TextEncoder

_TASK = "masked_words"
_NO_SETTINGS = ("name",)


class RunSource:
    """The encoder of a run, with the weights of the best epoch; see `Source`."""

    kind = "run"

    def __init__(
        self, content: Mapping[str, Any], tokenizer: Tokenizer, run: RunDirectory | None = None
    ) -> None:
        self._content, self.tokenizer, self._run = content, tokenizer, run
        self.path: str = content["path"]
        self.attention: Mapping[str, Any] = content["attention"]
        self.most: int | None = content["most"]

    @classmethod
    def open(cls, path: str, seed: int | None = None) -> RunSource:
        """Open the encoder in a run's folder, or of the run with a seed in a sweep's folder.

        Raises:
            RequestError: the run has no encoder, isn't completed, or a file is damaged.
        """
        run = _run_of(Path(path).expanduser(), seed)
        config = run.read_config()
        if config["task"]["name"] != _TASK:
            raise RequestError(
                f"model.path: expected a run of task={_TASK}, got {path}, a run of "
                f"task={config['task']['name']}."
            )
        run.status.require_completed("")
        tokenizer = Tokenizer.load(run.assets / "tokenizer.json")
        model = {key: value for key, value in config["model"].items() if key not in _NO_SETTINGS}
        # Positions are learned up to the task's `max_length`, even if all texts are shorter.
        content = {
            "kind": cls.kind,
            "path": path,
            "attention": config["attention"],
            "model": model,
            "words": tokenizer.size + 1,
            "most": config["task"]["max_length"],
        }
        return cls(content, tokenizer, run)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the weights and the tokenizer."""
        if self._run is None:
            return str(self._content["digest"])
        run = self._run
        paths = [self._weights(run), run.assets / "tokenizer.json"]
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
        return hashlib.sha256(json.dumps(digests).encode()).hexdigest()

    def make(self) -> TextEncoder:
        """Create the layer, without building it."""
        from attnlab.layers.self_attention import self_attention
        from attnlab.layers.text_encoder import TextEncoder

        settings = dict(self._content["model"])
        mechanism = {key: value for key, value in self.attention.items() if key != "name"}
        cls = option_class("attention", self.attention["name"])
        layers = self_attention(partial(cls, **mechanism), settings)
        sizes = {"vocabulary": self._content["words"], "most": self.most}
        return TextEncoder(attention=layers, name="encoder", **sizes, **settings)

    def fill(self, encoder: TextEncoder) -> None:
        """Assign the trained weights to a built layer of `make`; see `Source.fill`."""
        import keras

        class Holder(keras.Model):
            """A model with only the encoder, in the attribute that the trained model has."""

            def load_own_variables(self, store: Any) -> None:
                """Ignore the weights of the output layer in the file."""

        path = self._weights(self._trained())
        holder = Holder()
        holder.encoder = encoder
        holder.built = True
        try:
            holder.load_weights(path)
        except (OSError, ValueError, KeyError) as error:
            reason = str(error).strip().splitlines()[0]
            raise RequestError(f"{path}: expected the weights of an encoder: {reason}") from error

    def describe(self) -> dict[str, Any]:
        """Return the description of the encoder; see `Source.describe`."""
        digest = {} if self._run is None else {"digest": self.digest}
        return {**self._content, **digest}

    def _trained(self) -> RunDirectory:
        if self._run is None:
            raise RequestError(f"model.path: expected a run of task={_TASK}, got {self.path}.")
        return self._run

    @staticmethod
    def _weights(run: RunDirectory) -> Path:
        path = run.weights_path(int(run.read_metrics()["best_epoch"]))
        if not path.is_file():
            raise RequestError(f"model.path: the weights of the best epoch, {path}, are missing.")
        return path


def latest_refused() -> str:
    """Return the message that refuses `model.path=latest` and names the newest run.

    `latest` is refused because its meaning would change with the next run.
    """
    listed = [entry for entry in list_runs(default_runs_folder()) if entry.status["task"] == _TASK]
    done = [entry.run.path for entry in listed if entry.status["state"] == "completed"]
    newest = f" The newest is model.path={done[-1]}" if done else ""
    return f"model.path: expected the folder of a run of task={_TASK}, got latest.{newest}"


def is_of_runs(path: Path) -> bool:
    """Whether a folder is that of a run or of a sweep."""
    return (path / "status.json").is_file() or (path / "sweep.json").is_file()


def _run_of(path: Path, seed: int | None) -> RunDirectory:
    if not (path / "sweep.json").is_file():
        return RunDirectory.open(path)
    runs = path.parent.parent
    found = [each.run for each in runs_of_sweep(list_runs(runs), path.name)]
    if not found:
        raise RequestError(f"model.path: expected a sweep with runs, got {path}, which has none.")
    if seed is None:
        return found[0]
    own = [run for run in found if run.read_config().get("seed") == seed]
    if len(own) != 1:
        raise RequestError(
            f"model.path: expected a sweep that has one run with seed={seed}, got {path}, which "
            f"has {len(own)}."
        )
    return own[0]
