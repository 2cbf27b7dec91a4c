"""`attnlab forecast RUN`: the next values of a series, from any epoch's weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from attnlab.commands.options import (
    check_figure,
    find,
    require_kind,
    run_argument,
    runs_option,
    save_figure,
)
from attnlab.config.options import in_prose
from attnlab.errors import RequestError, explained
from attnlab.records.files import csv_text, write_table
from attnlab.tasks.forecasting.kind import KIND

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from attnlab.records.run_directory import RunDirectory
    from attnlab.run.loading import TrainedRun
    from attnlab.tasks.forecasting.data.csv_series import TimeSeries
    from attnlab.tasks.forecasting.task import ForecastingTask


@click.command("forecast")
@run_argument
@click.option(
    "--steps",
    type=click.IntRange(1, 100_000),
    help="How many values to forecast.  [default: 12; of a run with inputs its horizon]",
)
@click.option("--epoch", default="best", show_default=True, help="A number, best or last.")
@click.option(
    "--values",
    metavar="X,Y,...",
    help="Go on from these values instead of the end of the run's series.",
)
@click.option(
    "--history", "history_file", metavar="FILE.csv", help="Go on from the last values of this CSV."
)
@click.option("--column", help="Column of --history, by name or number.")
@click.option("--csv", "csv_file", metavar="FILE", help="Write the values as CSV.")
@click.option(
    "--plot",
    "figure",
    type=click.Path(path_type=Path),
    metavar="FILE.png",
    help="Draw them.",
)
@runs_option
def command(
    run: str,
    steps: int | None,
    epoch: str,
    values: str | None,
    history_file: str | None,
    column: str | None,
    csv_file: str | None,
    figure: Path | None,
    runs: str | None,
) -> None:
    """Forecast the next values after the end of RUN's series, a line each.

    A line has the time, the forecast, and the low and the high end of its 95 % interval, as far as
    validation errors tell. RUN is a run folder, an MLflow run id or its first characters, or
    `latest`. Beyond the model's horizon its own forecasts become history.
    """
    folder = find(run, runs)
    check_figure(figure, "--plot")
    given = _given_values(values, history_file, column)
    require_kind(folder, KIND)
    from attnlab.run.loading import TrainedRun

    trained = TrainedRun.load(folder, epoch)
    task = cast("ForecastingTask", trained.task)
    steps = steps or (task.horizon if task.inputs else 12)
    if history_file is not None:
        given = task.read_history(history_file, column)
        _note(*given.notes)
    history = given.columns if given else task.last_history().reshape(task.history, -1)
    forecast = task.forecast(trained.model, history, steps)
    columns = {"forecast": forecast, **_interval(folder, trained, history, forecast)}
    try:
        _show(task.forecast_times(steps, given), columns, csv_file)
    finally:  # the reader of what was printed may have gone
        if figure:
            times = task.forecast_times(steps, given, before=len(history))
            drawn = _drawn(trained, history[:, 0], times, columns)
            save_figure(drawn, figure, "--plot")


def _given_values(
    values: str | None, history_file: str | None, column: str | None
) -> TimeSeries | None:
    """The values that the user gave in the command; None where there are none."""
    import numpy as np

    from attnlab.tasks.forecasting.data.csv_series import TimeSeries

    if values is not None and history_file is not None:
        raise RequestError("--values and --history: expected one of them, got both.")
    if column is not None and history_file is None:
        raise RequestError("--column: expected together with --history.")
    if values is None:
        return None
    try:
        numbers = np.array([float(word) for word in values.replace(",", " ").split()])
        return TimeSeries(numbers, [], "values", "--values")
    except ValueError:
        raise RequestError(
            f"--values: expected numbers with commas between, got {values}."
        ) from None


def _interval(
    folder: RunDirectory, trained: TrainedRun, history: np.ndarray, forecast: np.ndarray
) -> dict[str, np.ndarray]:
    """The columns `low` and `high`; none where the run doesn't know its validation errors."""
    metrics: dict[str, Any] = {}
    with suppress(RequestError):  # not completed
        metrics = folder.read_metrics()
    if not metrics.get("interval"):
        return {}
    if trained.epoch != str(metrics["best_epoch"]):
        _note("the interval is known of the best epoch alone")
        return {}
    task = cast("ForecastingTask", trained.task)
    columns = task.interval(metrics["interval"], history, forecast)
    known = int((columns["low"] == columns["low"]).sum())
    if known < len(forecast):
        _note(f"no validation errors tell of an interval beyond step {known}")
    return columns


def _show(times: list[str], columns: dict[str, np.ndarray], csv_file: str | None) -> None:
    """Write the columns to a file, `-` for standard output, or print them; NaN stays empty."""
    if csv_file:
        cells = {name: ["" if x != x else x for x in each] for name, each in columns.items()}
        if csv_file == "-":
            rows = [("time", *cells), *zip(times, *cells.values(), strict=True)]
            return click.echo(csv_text(rows).rstrip("\n"))
        with explained(f"--csv: {csv_file} can't be written"):
            write_table(Path(csv_file), {"time": times, **cells})
        return
    digits = _digits([each for column in columns.values() for each in column if each == each])
    for time, *numbers in zip(times, *columns.values(), strict=True):
        click.echo("\t".join([time, *(f"{each:.{digits}g}" for each in numbers if each == each)]))
    return None


def _digits(numbers: Sequence[float]) -> int:
    """How many digits show four of what numbers differ by; 6 at least, 15 at most."""
    size = max(map(abs, numbers), default=0.0)
    spread = max(numbers, default=0.0) - min(numbers, default=0.0)
    if not 0 < spread < math.inf:
        return 6
    return min(max(6, 4 + math.floor(math.log10(size)) - math.floor(math.log10(spread))), 15)


def _note(*notes: str) -> None:
    for note in notes:
        click.echo(f"attnlab: note: {note}", err=True)


def _drawn(
    trained: TrainedRun,
    history: np.ndarray,
    times: list[str],
    columns: dict[str, np.ndarray],
) -> Figure:
    from attnlab.tasks.forecasting.figures.run import next_values_figure

    name = f"{trained.config.task.name} · {in_prose(trained.config.attention.name)}"
    task = cast("ForecastingTask", trained.task)
    return next_values_figure(
        history,
        times,
        **columns,
        title=f"{name}: next {len(times) - len(history)} values",
        units=task.series_units or task.units,
    )
