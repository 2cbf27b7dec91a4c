"""Encoders from runs of `task=masked_words`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.config.options import option_class
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory, list_runs
from attnlab.records.sweep_runs import runs_of_sweep
from attnlab.text.tokenizers import Tokenizer

if TYPE_CHECKING:
    from attnlab.layers.transformer import TextEncoder

_TASK, _TOKENIZER = "masked_words", "tokenizer.json"


class RunSource:
    """The encoder of a run, with the weights of the best epoch; see `opening.Source`."""

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
        from attnlab.layers.transformer import TextEncoder, self_attention

        settings = dict(self._content["model"])
        mechanism = {key: value for key, value in self.attention.items() if key != "name"}
        cls = option_class("attention", self.attention["name"])
        layers = self_attention(partial(cls, **mechanism), settings)
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
