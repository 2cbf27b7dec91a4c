"""`attnlab forecast RUN`: the next values of a series, from any epoch's weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from attnlab.commands.options import find, require_kind, run_argument, runs_option
from attnlab.errors import RequestError, explained
from attnlab.records.files import write_table
from attnlab.tasks.forecasting.kind import KIND

if TYPE_CHECKING:
    import numpy as np

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
@click.option("--plot", "figure", metavar="FILE.png", help="Draw them.")
@runs_option
def command(
    run: str,
    steps: int | None,
    epoch: str,
    values: str | None,
    history_file: str | None,
    column: str | None,
    csv_file: str | None,
    figure: str | None,
    runs: str | None,
) -> None:
    """Forecast the next values after the end of RUN's series, a line each.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Beyond the
    model's horizon its own forecasts become history.
    """
    folder = find(run, runs)
    given = _given_values(values, history_file, column)
    require_kind(folder, KIND)
    from attnlab.run.loading import TrainedRun

    trained = TrainedRun.load(folder, epoch)
    task = cast("ForecastingTask", trained.task)
    steps = steps or (task.horizon if task.inputs else 12)
    if history_file is not None:
        given = task.read_history(history_file, column)
    for note in given.notes if given else ():
        click.echo(f"attnlab: note: {note}", err=True)
    history = given.columns if given else task.last_history().reshape(task.history, -1)
    forecast = task.forecast(trained.model, history, steps)
    times = task.forecast_times(steps, given)
    if csv_file:
        with explained(f"--csv: {csv_file} can't be written"):
            write_table(Path(csv_file), {"time": times, "forecast": forecast})
    else:
        for time, value in zip(times, forecast, strict=True):
            click.echo(f"{time}\t{value:.6g}")
    if figure:
        _draw(Path(figure), trained, history[:, 0], times, forecast)


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


def _draw(
    path: Path, trained: TrainedRun, history: np.ndarray, times: list[str], forecast: np.ndarray
) -> None:
    from attnlab.figures.style import save
    from attnlab.tasks.forecasting.figures.run import next_values_figure

    name = f"{trained.config.task.name} · {trained.config.attention.name}"
    task = cast("ForecastingTask", trained.task)
    drawn = next_values_figure(
        history,
        times,
        forecast,
        title=f"{name}: next {len(times)} values",
        units=task.series_units or task.units,
    )
    try:
        save(drawn, path)
    except (OSError, ValueError) as error:
        raise RequestError(f"--plot: {path} can't be written ({error}).") from error
