"""`attnlab forecast RUN`: the next values of a series, from any epoch's weights."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from attnlab.commands.options import check_figure, run_argument, runs_option, save_figure
from attnlab.commands.runs.finding import find_trained
from attnlab.config.options import in_prose
from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError, explained
from attnlab.records.files import replacing
from attnlab.tasks.forecasting.kind import KIND
from attnlab.tasks.forecasting.verbs.forecast_table import Ahead, csv_of, lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attnlab.records.run_directory import RunDirectory
    from attnlab.run.loading import TrainedRun
    from attnlab.tasks.forecasting.data.origin import Origin
    from attnlab.tasks.forecasting.data.writing.layout import Layout
    from attnlab.tasks.forecasting.task import ForecastingTask

_WORKBOOK = ".xlsx"
# Of other programs, which would not open a text of that name.
_NOT_WRITTEN = (".xls", ".xlsm", ".xlsb", ".ods", ".json", ".parquet", ".feather")


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
@click.option(
    "--id",
    "ids",
    multiple=True,
    metavar="NAME",
    help="Of several series the one to forecast; may be repeated.  [default: all]",
)
@click.option(
    "--csv",
    "csv_file",
    metavar="FILE",
    help="Write them like the run's own CSV file, or as a workbook to a FILE.xlsx.",
)
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
    ids: tuple[str, ...],
    csv_file: str | None,
    figure: Path | None,
    runs: str | None,
) -> None:
    """Forecast the next values after the end of RUN's series, a line each.

    A line has the time, the forecast, and the low and the high end of its 95 % interval, as far as
    validation errors show one; of several series the id comes first. RUN is a run folder, an MLflow
    run id or its first characters, or `latest`. Beyond the model's horizon its own forecasts become
    history.
    """
    folder = find_trained(run, runs, KIND, epoch)
    check_figure(figure, "--plot")
    _check_table(csv_file)
    given = _given_values(values, history_file, column)
    from attnlab.run.loading import TrainedRun

    trained = TrainedRun.load(folder, epoch)
    task = cast("ForecastingTask", trained.task)
    steps = steps or (task.horizon if task.inputs else 12)
    if history_file is not None:
        origins = _of_file(task, history_file, column, ids)
    else:
        origins = _of_run(task, given, ids)
    made = task.forecast_from(trained.model, origins, steps)
    ends = _ends(folder, trained, steps)
    found = []
    for origin, own in zip(origins, made, strict=True):
        band = task.interval(ends, origin, own) if ends else {}
        found.append(Ahead(origin, origin.labels(steps), {"forecast": own, **band}))
    try:
        _show(found, task.layout, csv_file)
    finally:  # the reader of what was printed may have gone
        if figure:
            save_figure(_drawn(trained, found), figure, "--plot")


def _given_values(
    values: str | None, history_file: str | None, column: str | None
) -> list[float] | None:
    """The values that the user gave in the command; None where there are none."""
    if values is not None and history_file is not None:
        raise RequestError("--values and --history: expected one of them, got both.")
    if column is not None and history_file is None:
        raise RequestError("--column: expected together with --history.")
    if values is None:
        return None
    try:
        return [float(word) for word in values.replace(",", " ").split()]
    except ValueError:
        raise RequestError(
            f"--values: expected numbers with commas between, got {values}."
        ) from None


def _of_run(
    task: ForecastingTask, values: list[float] | None, ids: Sequence[str]
) -> Sequence[Origin]:
    """The end of the run's series, or values given in the command."""
    if values is None:
        return [task.origin(name) for name in ids] or task.origins
    if len(ids) > 1:
        raise RequestError("--values: expected at most one --id, whose scale they have.")
    known = task.origin(ids[0]).ids if ids else ()
    origin = replace(task.origin_of(values, *ids), ids=known)
    _note_new(task, [origin])
    return [origin]


def _of_file(
    task: ForecastingTask, path: str, column: str | None, ids: Sequence[str]
) -> Sequence[Origin]:
    """The end of the series in a file, or of some of them."""
    origins, notes = task.read_origins(path, column)
    _note(*notes)
    found = {origin.id: origin for origin in origins}
    if ids and [*found] == [""]:  # the file doesn't say which series it has
        if len(ids) > 1:
            raise RequestError(f"--id: expected one, since {path} has one series without an id.")
        return [replace(origins[0], scalers=task.origin(ids[0]).scalers)]
    for name in ids:
        if name not in found:
            hint = did_you_mean(name, [*found])
            raise RequestError(f"--id: expected one of the series of {path}, got {name}.{hint}")
    chosen = [found[name] for name in ids] or origins
    _note_new(task, chosen)
    return chosen


def _note_new(task: ForecastingTask, origins: Sequence[Origin]) -> None:
    """Say which series the run doesn't know, so that it doesn't know their scale either."""
    from attnlab.tasks.forecasting.by_series import listed

    known = {origin.id for origin in task.origins}
    new = [origin.id or "the one given" for origin in origins if origin.id not in known]
    if new and "" not in known:
        _note(
            f"series that the run wasn't trained on are scaled by their own values: {listed(new)}"
        )


def _ends(folder: RunDirectory, trained: TrainedRun, steps: int) -> dict[str, Any] | None:
    """The interval of a run; None if the run doesn't know its validation errors."""
    metrics: dict[str, Any] = {}
    with suppress(RequestError):  # not completed
        metrics = folder.read_metrics()
    ends = metrics.get("interval")
    if not ends:
        if metrics:
            _note(_about_missing(cast("ForecastingTask", trained.task), 0, steps))
        return None
    if trained.epoch != str(metrics["best_epoch"]):
        _note("the interval is known of the best epoch alone")
        return None
    known = sum(end is not None for end in ends["low"][:steps])
    if known < steps:
        _note(_about_missing(cast("ForecastingTask", trained.task), known, steps))
    return ends


def _about_missing(task: ForecastingTask, known: int, steps: int) -> str:
    """Why the interval ends, and what would help."""
    from attnlab.tasks.forecasting.data.intervals import AHEAD, FEWEST

    beyond = steps > max(AHEAD, task.horizon)
    where = f" beyond step {known}" if known else ""
    return (
        f"no interval{where}, which takes {FEWEST} validation errors of each step: "
        f"train with {f'task.horizon={steps} and ' if beyond else ''}a validation part of at least "
        f"{FEWEST - 1 + steps} values (task.validation)"
    )


def _check_table(file: str | None) -> None:
    """Raise `RequestError` where --csv names a file that can't be written here."""
    suffix = Path(file or "").suffix.lower()
    if suffix in _NOT_WRITTEN:
        raise RequestError(f"--csv: expected a file that ends with .csv or .xlsx, got {file}.")
    if suffix != _WORKBOOK:
        return
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise RequestError(
            f"--csv: {file} takes the package openpyxl: pip install 'attnlab[excel]', or name "
            "a file that ends with .csv."
        ) from None


def _show(found: Sequence[Ahead], layout: Layout, file: str | None) -> None:
    """Print forecasts, or write them to a file; `-` is a CSV on standard output."""
    if file is None:
        for line in lines(found):
            click.echo(line)
    elif file == "-":
        click.echo(csv_of(found, layout).rstrip("\n"))
    else:
        with explained(f"--csv: {file} can't be written"), replacing(Path(file)) as temporary:
            temporary.write_bytes(_content(found, layout, file))


def _content(found: Sequence[Ahead], layout: Layout, file: str) -> bytes:
    if Path(file).suffix.lower() == _WORKBOOK:
        from attnlab.tasks.forecasting.verbs.workbook import workbook

        return workbook(found, layout)
    text = csv_of(found, layout)
    try:
        return text.encode(layout.encoding)
    except UnicodeEncodeError:
        return text.encode("utf-8-sig")


def _note(*notes: str) -> None:
    for note in notes:
        click.echo(f"attnlab: note: {note}", err=True)


def _drawn(trained: TrainedRun, found: Sequence[Ahead]) -> Figure:
    from attnlab.tasks.forecasting.figures.ahead import MOST, next_values_figure

    name = f"{trained.config.task.name} · {in_prose(trained.config.attention.name)}"
    task = cast("ForecastingTask", trained.task)
    if len(found) > MOST:
        _note(f"--plot: {MOST} of {len(found)} series are drawn; --id chooses others")
    return next_values_figure(
        [(each.origin, each.columns) for each in found[:MOST]],
        title=f"{name}: next {len(found[0].times)} values",
        units=task.series_units or task.units,
    )
