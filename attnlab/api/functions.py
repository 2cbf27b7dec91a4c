"""`attnlab.run`, `load`, `runs`, `compare` and `sweep`: the command line's work, from Python.

Another process does the work (see `worker`), so this one isn't changed. A wrong request raises
`RequestError`, a failure `RunFailed`, with the message that the command line would print.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.api.worker import Worker
from attnlab.compare.selection import Filters
from attnlab.config.arguments import quoted
from attnlab.config.parsing import yaml_text
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory

if TYPE_CHECKING:
    import pandas as pd

# Texts that Hydra reads without quotes, including its functions such as `range(5)`.
_PLAIN = re.compile(r"[\w./:+~-]*|(range|choice|interval|glob|sort|shuffle)\(.*\)", re.ASCII)
Names = str | Iterable[str]
Folder = str | Path | None


@dataclass(frozen=True)
class Picture:
    """A PNG figure, which notebooks display."""

    png: bytes = field(repr=False)

    def _repr_png_(self) -> bytes:
        return self.png


class Result:
    """A run: the content of its folder (docs/reference/run-folder.md), and predictions.

    Results that an unfinished run doesn't have raise `RequestError`.
    """

    def __init__(self, folder: Folder) -> None:
        self._run = RunDirectory(Path(folder or "."))
        self.folder = self._run.path

    def __repr__(self) -> str:
        return Worker.call("summary", self.folder)

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
        return _frame(Worker.call("predictions", self.folder))

    @property
    def figures(self) -> dict[str, Picture]:
        """The run's figures by name, such as `loss`; waits until they are drawn."""
        Worker.finish()
        return {path.stem: Picture(path.read_bytes()) for path in self._run.plots.glob("*.png")}

    def predict(self, inputs: Any = None, *, epoch: int | str = "best", **settings: Any) -> Any:
        """Return predictions: forecasts (N, steps) or (steps,), for other kinds a list.

        Args:
            inputs: histories (N, S) in natural units, one (S,), or None for the end of the run's
                series; of other kinds a list of texts, of pairs of question and text, or of images.
            epoch: which weights to use: a number, `best`, `last`, or `average` of the last epochs.
            **settings: `steps` to forecast, or the `beam` of a translation.
        """
        return Worker.call("predict", self.folder, str(epoch), inputs, settings)

    def resume(self, *, epochs: int | None = None) -> Result:
        """Continue an interrupted run, or train a finished run up to `epochs` in total.

        Raises:
            RequestError: the run can't continue.
            RunFailed: the run failed.
        """
        changes = {} if epochs is None else {"trainer.epochs": str(epochs)}
        return Result(Worker.call("resume", self.folder, changes))


class Comparison:
    """Groups of runs compared with a reference group, as `attnlab compare` prints them.

    `groups` has a row per group, `differences` a row per group except the reference, `warnings` has
    reasons for doubt, and `figure` is a plot.
    """

    def __init__(self, said: Mapping[str, Any]) -> None:
        self._text, self._markdown = said["text"], said["markdown"]
        self.warnings: list[str] = said["warnings"]
        self.figure = Picture(said["png"])
        table = _frame(said["rows"])
        self.groups = table.loc[:, :"seconds_per_epoch"]  # type: ignore[misc]
        keys = table.columns[: table.columns.get_loc("n")]
        judged = table.set_index([*keys]).loc[:, "reference":]  # type: ignore[misc]
        self.differences = judged[judged["verdict"].notna()].reset_index()

    def __repr__(self) -> str:
        return self._text

    def _repr_markdown_(self) -> str:
        return self._markdown


def run(*words: str, **settings: Any) -> Result:
    """Train, evaluate and record one run.

    Args:
        *words: as on the command line, `"task=fib"`, `"trainer.epochs=3"`, `"--config-dir=mine"`.
        **settings: the same as keyword arguments: `seed=1`, `trainer={"epochs": 3}`.

    Returns:
        The run: its metrics, history, predictions and figures, and `predict`.

    Raises:
        RequestError: a setting is wrong, or doesn't fit the data.
        RunFailed: the run failed.
        KeyboardInterrupt: interrupted; `attnlab.load().resume()` continues the run.

    Examples:
        >>> result = attnlab.run(task="sunspots", attention="bahdanau", trainer={"epochs": 30})
        >>> result.metrics["test"]["rmse"], result.predict(steps=12)
    """
    _check_words("run", words)
    typed = _call("sweep", words, settings)
    return Result(Worker.call("train", [*words, *_words(settings)], [*_lists(settings)], typed))


def sweep(*words: str, **settings: Any) -> pd.DataFrame:
    """Make a run for each combination of values, or search; completed runs are not repeated.

    Args:
        *words: as after `attnlab -m`: `"attention=none,bahdanau"`, `"search=learning_rate"`.
        **settings: the same as keyword arguments; a list or a range has the values to try.

    Returns:
        A row for each run of the sweep, as `attnlab.runs` returns them.

    Raises:
        RequestError: a setting is wrong, or doesn't fit the data.
        SweepFailed: runs failed.
        KeyboardInterrupt: interrupted; the same call continues the sweep.

    Examples:
        >>> attnlab.sweep(task="sunspots", attention=["none", "bahdanau"], seed=range(5))
    """
    _check_words("sweep", words)
    return _frame(Worker.call("sweep", [*words, *_words(settings, swept=True)]))


def load(run: str | Path = "latest", *, runs_folder: str | Path | None = None) -> Result:
    """Find a run that was made before.

    Args:
        run: its folder, its MLflow id or the first characters of that, or `latest`: the newest run
            with saved weights.
        runs_folder: the folder of all runs; None: `$ATTNLAB_RUNS`, else `./runs`.

    Returns:
        The run: its metrics, history, predictions and figures, and `predict`.

    Raises:
        RequestError: there is no such run.

    Examples:
        >>> attnlab.load("latest").predict(steps=12)
    """
    return Result(Worker.call("find_folder", os.fspath(run), _path(runs_folder)))


def runs(*, runs_folder: str | Path | None = None, **filters: Any) -> pd.DataFrame:
    """List the runs of a folder, the oldest first.

    Args:
        runs_folder: the folder of all runs; None: `$ATTNLAB_RUNS`, else `./runs`.
        **filters: `task`, `attention` and `state`, each a name or several; `where`, settings such
            as `{"model.units": 64}`; `failed`; `sweep`, its name; `since`, as `"2d"` or a date.

    Returns:
        A row for each run: state, task, attention, seed, epoch, results, folder.

    Raises:
        RequestError: a filter is invalid.

    Examples:
        >>> attnlab.runs(task="sunspots", state="completed", since="1d")
    """
    return _frame(Worker.call("rows", _filters(**filters), _path(runs_folder)))


def compare(
    by: str | Iterable[str] = "attention",
    *,
    within: str | Iterable[str] = (),
    metric: str | None = None,
    reference: str | None = None,
    geometric: bool = False,
    bootstrap: bool | None = None,
    sequential: bool = False,
    margin: str | float | None = None,
    everything: bool = False,
    runs_folder: str | Path | None = None,
    **filters: Any,
) -> Comparison:
    """Compare groups of runs with a reference, seed by seed.

    Args:
        by: settings whose values make the groups.
        within: settings; runs are compared only with those of equal values.
        metric: a test metric, or a path into metrics.json; None: the task's main one.
        reference: the group that the others are compared with; None: no attention, else the group
            with the most seeds.
        geometric: average logarithms, for ratios to the reference.
        bootstrap: intervals and tests by resampling the test items; None: the kind's default.
        sequential: intervals that stay valid if you look after every seed.
        margin: a difference below which groups count as equal, a number or `"5%"`.
        everything: compare all runs; without it and without filters, those of the newest sweep, or
            of the newest run's task.
        runs_folder: the folder of all runs; None: `$ATTNLAB_RUNS`, else `./runs`.
        **filters: those of `attnlab.runs`.

    Returns:
        The comparison: tables `groups` and `differences`, `warnings`, and a `figure`.

    Raises:
        RequestError: no runs match, or an argument is invalid.

    Examples:
        >>> attnlab.compare(by="attention", task="sunspots").differences
    """
    options = {"metric": metric, "reference": reference, "geometric": geometric}
    options["within"] = ",".join(_names(within)) or None
    options |= {"by": ",".join(_names(by)), "bootstrap": bootstrap, "sequential": sequential}
    options["everything"] = everything
    options["margin"] = None if margin is None else str(margin)
    return Comparison(Worker.call("compare", _filters(**filters), _path(runs_folder), options))


def _check_words(function: str, words: Sequence[Any]) -> None:
    """Raise `RequestError` if words are given as a list: `attnlab.run(["task=fib"])`."""
    for word in words:
        if not isinstance(word, str):
            each = ", ".join(map(repr, word)) if isinstance(word, list | tuple) else "..."
            raise RequestError(
                f"attnlab.{function}: expected words such as 'task=fib', got {word!r}: "
                f"attnlab.{function}({each}) has the words of one {function}, and "
                "attnlab.sweep(attention=[...], seed=range(5)) makes a run for each value."
            )


def _lists(settings: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the keys of settings with several values."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _lists(value, f"{prefix}{key}.")
        elif isinstance(value, list | tuple | range):
            yield f"{prefix}{key}"


def _call(function: str, words: Sequence[str], settings: Mapping[str, Any]) -> str:
    """Return the source code of a call, such as `attnlab.sweep("task=fib", seed=[0, 1])`."""
    named = [
        f"{k}={v!r}" if k.isidentifier() else f"**{{{k!r}: {v!r}}}" for k, v in settings.items()
    ]
    return f"attnlab.{function}({', '.join([*map(repr, words), *named])})"


def _filters(
    task: Names = (), attention: Names = (), where: Any = (), state: Names = (), **others: Any
) -> Filters:
    if isinstance(where, Mapping):
        where = _words(where, swept=True, quotes=False)
    return Filters(_names(task), _names(attention), _names(where), _names(state), **others)


def _frame(rows: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows)


def _names(given: Names) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _path(given: Folder) -> str | None:
    return None if given is None else os.fspath(given)


def _words(
    settings: Mapping[str, Any], prefix: str = "", *, swept: bool = False, quotes: bool = True
) -> Iterator[str]:
    """Yield settings as words of the command line; if `swept`, a list has values to try.

    With `quotes`, texts are quoted for Hydra, such as a path with spaces.
    """
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _words(value, f"{prefix}{key}.", swept=swept, quotes=quotes)
        else:
            yield f"{prefix}{key}={_text(value, swept, quotes)}"


def _text(value: Any, swept: bool, quotes: bool) -> str:
    if isinstance(value, list | tuple | range):
        values = ",".join(_text(each, False, quotes) for each in value)
        return values if swept else f"[{values}]"
    if quotes and isinstance(value, str | os.PathLike) and not _PLAIN.fullmatch(os.fspath(value)):
        return quoted(os.fspath(value))
    return yaml_text(value)
