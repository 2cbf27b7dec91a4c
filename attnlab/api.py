"""The functions of `import attnlab`, which work in the caller's process.

A run sets the random seed of Python, NumPy and Keras, clears Keras's session and makes TensorFlow
deterministic. Its figures, and its copy in MLflow, are made by another process.

All functions raise `RequestError` if an argument is wrong or doesn't fit the data. Training raises
`RunFailed` or `SweepFailed`, and on Ctrl-C `KeyboardInterrupt`; the same call then continues.
The folder of all runs, `runs_folder`, is by default `$ATTNLAB_RUNS`, else `./runs`.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, suppress
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.commands.compare import compared
from attnlab.commands.options import find, has_weights, listed_runs
from attnlab.commands.runs import row
from attnlab.comparison.selection import Filters
from attnlab.config.options import key_of, quoted, without_config_dirs
from attnlab.config.rules import yaml_text
from attnlab.errors import RequestError, interrupts
from attnlab.records.environment import TYPED
from attnlab.records.run_directory import ListedRun, RunDirectory, shown_state
from attnlab.tasks.kinds import known_kind
from attnlab.terminal import is_notebook

if TYPE_CHECKING:
    import keras
    import pandas as pd

    from attnlab.comparison.comparison import Comparisons
    from attnlab.runner.loading import TrainedRun

_FILTERS = ("task", "attention", "where", "state", "failed", "sweep")
Folder = str | Path | None


@dataclass(frozen=True)
class Picture:
    """A PNG figure, which notebooks display."""

    png: bytes = field(repr=False)

    def _repr_png_(self) -> bytes:
        return self.png


class Figures(dict[str, Picture]):
    """Figures by name, which notebooks display below each other."""

    def _repr_html_(self) -> str:
        data = {name: b64encode(picture.png).decode() for name, picture in self.items()}
        image = '<p>{}</p><img style="max-width: 100%" src="data:image/png;base64,{}">'
        return "".join(image.format(escape(name), png) for name, png in data.items())


class Result:
    """A run: the content of its folder (docs/reference/run-folder.md), its model and predictions.

    Results that an unfinished run doesn't have raise `RequestError`.
    """

    def __init__(self, folder: str | Path) -> None:
        self._run = RunDirectory(Path(folder))
        self.folder = self._run.path

    def __repr__(self) -> str:
        from attnlab.runner.console import print_result

        state = shown_state(self._run.status.read())
        if state != "completed":
            return f"{self._run.name}: {state}"
        text = io.StringIO()
        print_result(self.metrics, self.folder, text)
        return text.getvalue().rstrip()

    def _repr_html_(self) -> str | None:
        from attnlab.comparison import comparison

        with suppress(RequestError):  # a run without a result is shown as text
            runs = [ListedRun.of(self._run)]
            options = comparison.Options(("attention",))
            return Comparison(comparison.compare(runs, options))._repr_html_()
        return None

    @property
    def config(self) -> dict[str, Any]:
        """The whole configuration, nested by its groups."""
        return self._run.read_config()

    @property
    def metrics(self) -> dict[str, Any]:
        """Test metrics, baselines, skill, and more."""
        return self._run.read_metrics()

    @property
    def history(self) -> pd.DataFrame:
        """A row per epoch."""
        return _frame(self._run.history.read()).set_index("epoch")

    @property
    def predictions(self) -> pd.DataFrame:
        """A row per test item, for forecasts per step."""
        kind = known_kind(self._run.read_task())
        return _frame(self._run.read_predictions(kind.scoring.text_columns if kind else ()))

    @property
    def figures(self) -> Figures:
        """The run's figures by name, such as `loss`."""
        paths = sorted(self._run.plots.glob("*.png"))
        return Figures({path.stem: Picture(path.read_bytes()) for path in paths})

    @property
    def model(self) -> keras.Model:
        """The Keras model with the weights of the best epoch."""
        return self._trained("best").model

    def predict(self, inputs: Any = None, *, epoch: int | str = "best", **settings: Any) -> Any:
        """Return predictions: forecasts (N, steps) or (steps,), for other kinds a list.

        Args:
            inputs: histories (N, S) in natural units, one (S,), or None for the end of the run's
                series; of other kinds a list of texts, of pairs of question and text, or of images.
            epoch: which weights to use: a number, `best`, `last`, or `average` of the last epochs.
            **settings: `steps` to forecast, or the `beam` of a translation.
        """
        trained = self._trained(str(epoch))
        values = trained.task.serve(trained.model, inputs, **settings)
        return values.tolist() if values.dtype == object else values

    def resume(self, *, epochs: int | None = None) -> Result:
        """Continue an interrupted run, or train a finished run up to `epochs` in total."""
        from attnlab.runner.resume import resume

        changes = {} if epochs is None else {"trainer.epochs": str(epochs)}
        with _working(["resume", str(self.folder), *(f"{k}={v}" for k, v in changes.items())]):
            return Result(resume(RunDirectory.open(self.folder), changes, quiet=True))

    def _trained(self, epoch: str) -> TrainedRun:
        from attnlab.runner.loading import TrainedRun

        return TrainedRun.load(self._run, epoch)


class Comparison:
    """Groups of runs compared with a reference group, as `attnlab compare` prints them.

    `table` has a row per group; the reference has no difference. `warnings` are reasons for doubt.
    """

    def __init__(self, comparisons: Comparisons) -> None:
        from attnlab.comparison import tables

        self._comparisons, self._tables = comparisons, tables
        self.warnings = [text for task in comparisons.tasks for text in task.warnings]
        self.warnings += comparisons.left_out
        self.table = _frame(tables.numbers(comparisons).to_dict("records"))

    def __repr__(self) -> str:
        text = io.StringIO()
        self._tables.print_comparisons(self._comparisons, text)
        return text.getvalue().rstrip()

    def _repr_html_(self) -> str:
        from attnlab.report.results import Text, result_sentence, results_records
        from attnlab.views.html.page import cell_text

        compared = self._comparisons
        parts = [(Text(result_sentence(c)), *results_records(c, compared)) for c in compared.tasks]
        return cell_text([record for part in parts for record in part])

    @cached_property
    def figure(self) -> Picture:
        """Learning curves, means with intervals, and differences to the reference."""
        from attnlab.comparison.charts import comparison_figure
        from attnlab.views.png.figure import draw

        png = io.BytesIO()
        draw(comparison_figure(self._comparisons)).savefig(png, format="png")
        return Picture(png.getvalue())


def run(*words: str, **settings: Any) -> Result:
    """Train, evaluate and record one run.

    Args:
        *words: as on the command line, `"task=fib"`, `"trainer.epochs=3"`, `"--config-dir=mine"`.
        **settings: the same as keyword arguments: `seed=1`, `trainer={"epochs": 3}`.

    Examples:
        >>> result = attnlab.run(task="sunspots", attention="bahdanau", trainer={"epochs": 30})
        >>> result.metrics["test"]["rmse"], result.predict(steps=12)
    """
    from attnlab.config.composing import compose, from_hydra
    from attnlab.runner.resume import run as find_or_run

    typed = [*words, *_words(settings)]
    overrides = without_config_dirs(typed)
    for word in overrides:
        if word.startswith("-") or key_of(word).partition(".")[0] in ("sweep", "search"):
            raise RequestError(
                f"{word}: expected settings of one run; attnlab.sweep makes several runs."
            )
    with _working(typed):
        return Result(find_or_run(from_hydra(compose(overrides)), quiet=True))


def sweep(*words: str, **settings: Any) -> pd.DataFrame:
    """Make a run for each combination of values, or search; completed runs are not repeated.

    Args:
        *words: as after `attnlab -m`: `"attention=none,bahdanau"`, `"search=learning_rate"`.
        **settings: the same as keyword arguments; a list or a range has the values to try.

    Returns:
        A row for each run of the sweep, as `attnlab.runs` returns them.

    Examples:
        >>> attnlab.sweep(task="sunspots", attention=["none", "bahdanau"], seed=range(5))
    """
    from attnlab.sweeps.run import sweep as run_sweep

    typed = [*words, *_words(settings, swept=True)]
    with _working(["-m", *typed]):
        folder = run_sweep(without_config_dirs(typed))
    return runs(sweep=folder.name, runs_folder=folder.parents[1])


def load(run: str | Path = "latest", *, runs_folder: Folder = None) -> Result:
    """Find a run that was made before.

    Args:
        run: its folder, its MLflow id or the first characters of that, or `latest`: the newest run
            with saved weights.
        runs_folder: the folder of all runs.

    Examples:
        >>> attnlab.load("latest").predict(steps=12)
    """
    fits = has_weights, lambda entry: True
    return Result(find(os.fspath(run), runs_folder, "a run", *fits).path)


def runs(*, runs_folder: Folder = None, **filters: Any) -> pd.DataFrame:
    """List the runs of a folder, the oldest first.

    Args:
        runs_folder: the folder of all runs.
        **filters: `task`, `attention` and `state`, each a name or several; `where`, settings such
            as `{"model.units": 64}`; `failed`; `sweep`, its name.

    Returns:
        A row for each run: state, task, attention, seed, epoch, results, folder.

    Examples:
        >>> attnlab.runs(task="sunspots", state="completed")
    """
    return _frame(map(row, _filters(**filters).apply(listed_runs(runs_folder))))


def compare(by: str = "attention", *, runs_folder: Folder = None, **choices: Any) -> Comparison:
    """Compare groups of runs with a reference, seed by seed.

    Args:
        by: settings whose values make the groups, separated by commas.
        runs_folder: the folder of all runs.
        **choices: the filters of `attnlab.runs`, and options of `attnlab compare`: `within`,
            `metric`, `reference`, `geometric`, `bootstrap`, `sequential`, and `everything` for all
            runs. Without filters, the runs of the newest sweep, or of the newest run's task.

    Examples:
        >>> attnlab.compare(by="attention", task="sunspots").table
    """
    filters = {name: choices.pop(name) for name in _FILTERS if name in choices}
    return Comparison(compared(_filters(**filters), runs_folder, by, **choices))


@contextmanager
def _working(words: Sequence[str]) -> Iterator[None]:
    """Let Ctrl-C stop the body's runs resumably, and show their progress in a notebook's cell."""
    os.environ[TYPED] = shlex.join(["attnlab", *words])
    with redirect_stderr(sys.stdout) if is_notebook() else nullcontext(), interrupts():
        yield


def _words(settings: Mapping[str, Any], swept: bool = False, prefix: str = "") -> list[str]:
    """Return settings as words of the command line; if `swept`, lists are alternatives."""
    words = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            words += _words(value, swept, f"{prefix}{key}.")
        else:
            words.append(f"{prefix}{key}={_text(value, swept)}")
    return words


def _text(value: Any, swept: bool = False) -> str:
    """Return a value in Hydra's grammar; texts are quoted, except names."""
    if isinstance(value, list | tuple | range):
        values = ",".join(map(_text, value))
        return values if swept else f"[{values}]"
    if isinstance(value, str | os.PathLike):
        text = os.fspath(value)
        return text if text.isidentifier() else quoted(text)
    return yaml_text(value)


def _filters(where: Mapping[str, Any] | None = None, **others: Any) -> Filters:
    for name in {"task", "attention", "state"} & others.keys():
        names = others.pop(name)
        others[f"{name}s"] = (names,) if isinstance(names, str) else tuple(names)
    return Filters(where=tuple(_words(where or {}, swept=True)), **others)


def _frame(rows: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows)
