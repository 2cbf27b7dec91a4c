"""The next values of series, by a trained run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.config.options import in_prose
from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError
from attnlab.tasks.forecasting.data.writing.table import Ahead, csv_of, lines
from attnlab.tasks.predictor import Predictor, Request, Setting

if TYPE_CHECKING:
    from attnlab.tasks.forecasting.data.origin import Origin
    from attnlab.tasks.forecasting.task import ForecastingTask
    from attnlab.views.records import Figure

_WORKBOOK = ".xlsx"
# Of other programs, which would not open a text of that name.
_NOT_WRITTEN = (".xls", ".xlsm", ".xlsb", ".ods", ".json", ".parquet", ".feather")
_STEPS = 12  # of a run without inputs


class ForecastPredictor(Predictor):
    """Forecast the next values after the end of RUN's series, a line each.

    A line has the time, the forecast, and the low and the high end of its 95 % interval, as far as
    validation errors show one; of several series the id comes first. RUN is a run folder, an MLflow
    run id or its first characters, or `latest`. Beyond the model's horizon its own forecasts become
    history. With --json an object a line for each series.
    """

    settings = (
        Setting(
            "steps",
            "How many values to forecast.  [default: 12; of a run with inputs its horizon]",
            (1, 100_000),
        ),
        Setting(
            "values",
            "Go on from these values instead of the end of the run's series.",
            metavar="X,Y,...",
        ),
        Setting("history", "Go on from the last values of this CSV.", metavar="FILE.csv"),
        Setting("column", "Column of --history, by name or number."),
        Setting(
            "id",
            "Of several series the one to forecast; may be repeated.  [default: all]",
            metavar="NAME",
            repeated=True,
        ),
    )
    figure = Setting("plot", "Draw them.")
    table = "Write them like the run's own CSV file, or as a workbook to a FILE.xlsx."
    task: ForecastingTask

    def __init__(
        self,
        request: Request,
        *,
        steps: int | None,
        values: str | None,
        history: str | None,
        column: str | None,
        id: Sequence[str],
    ) -> None:
        super().__init__(request)
        _check_table(request.csv)
        if values is not None and history is not None:
            raise RequestError("--values and --history: expected one of them, got both.")
        if column is not None and history is None:
            raise RequestError("--column: expected together with --history.")
        self._values = None if values is None else _numbers(values)
        self._steps, self._history, self._column, self._ids = steps, history, column, id

    def predict(self, inputs: Sequence[str]) -> Iterator[Ahead]:
        """The forecast of each series."""
        steps = self._steps or (self.task.horizon if self.task.inputs else _STEPS)
        origins = self._of_run() if self._history is None else self._of_file(self._history)
        made = self.task.forecast_from(self.model, origins, steps)
        ends = self._interval_ends(steps)
        for origin, own in zip(origins, made, strict=True):
            band = self.task.interval(ends, origin, own) if ends else {}
            yield Ahead(origin, origin.labels(steps), {"forecast": own, **band})

    def _of_run(self) -> Sequence[Origin]:
        """The end of the run's series, or values given in the command."""
        if self._values is None:
            return [self.task.origin(name) for name in self._ids] or self.task.origins
        if len(self._ids) > 1:
            raise RequestError("--values: expected at most one --id, whose scale they have.")
        known = self.task.origin(self._ids[0]).ids if self._ids else ()
        origin = replace(self.task.origin_of(self._values, *self._ids), ids=known)
        self._note_new([origin])
        return [origin]

    def _of_file(self, path: str) -> Sequence[Origin]:
        """The end of the series in a file, or of some of them."""
        origins, notes = self.task.read_origins(path, self._column)
        self._note(*notes)
        found, ids = {origin.id: origin for origin in origins}, self._ids
        if ids and [*found] == [""]:  # the file doesn't say which series it has
            if len(ids) > 1:
                raise RequestError(
                    f"--id: expected one, since {path} has one series without an id."
                )
            return [replace(origins[0], scalers=self.task.origin(ids[0]).scalers)]
        for name in ids:
            if name not in found:
                hint = did_you_mean(name, [*found])
                raise RequestError(f"--id: expected one of the series of {path}, got {name}.{hint}")
        chosen = [found[name] for name in ids] or origins
        self._note_new(chosen)
        return chosen

    def _note_new(self, origins: Sequence[Origin]) -> None:
        """Say which series the run doesn't know, so that it doesn't know their scale either."""
        from attnlab.tasks.forecasting.by_series import listed

        known = {origin.id for origin in self.task.origins}
        new = [origin.id or "the one given" for origin in origins if origin.id not in known]
        if new and "" not in known:
            self._note(
                "series that the run wasn't trained on are scaled by their own values: "
                f"{listed(new)}"
            )

    def _interval_ends(self, steps: int) -> dict[str, Any] | None:
        """The interval of the run; None if the run doesn't know its validation errors."""
        metrics: Mapping[str, Any] = {}
        with suppress(RequestError):  # not completed
            metrics = self.request.run.read_metrics()
        ends = metrics.get("interval")
        if not ends:
            if metrics:
                self._note_missing(0, steps)
            return None
        if self.trained.epoch != str(metrics["best_epoch"]):
            self._note("the interval is known of the best epoch alone")
            return None
        known = sum(end is not None for end in ends["low"][:steps])
        if known < steps:
            self._note_missing(known, steps)
        return ends

    def _note_missing(self, known: int, steps: int) -> None:
        """Say why the interval ends, and what would help."""
        from attnlab.tasks.forecasting.data.intervals import AHEAD, FEWEST

        beyond = steps > max(AHEAD, self.task.horizon)
        where = f" beyond step {known}" if known else ""
        self._note(
            f"no interval{where}, which takes {FEWEST} validation errors of each step: train with "
            f"{f'task.horizon={steps} and ' if beyond else ''}a validation part of at least "
            f"{FEWEST - 1 + steps} values (task.validation)"
        )

    def _note(self, *notes: str) -> None:
        for note in notes:
            self.request.report(f"note: {note}")

    def lines(self, result: Ahead) -> Iterator[str]:
        """A line for each value."""
        return lines([result])

    def content(self, result: Ahead) -> dict[str, Any]:
        """The id, the times, and the columns; None for an end of the interval that isn't known."""
        columns = {
            name: [float(each) if each == each else None for each in own]
            for name, own in result.columns.items()
        }
        return {"id": result.origin.id, "times": result.times, **columns}

    def csv(self, results: Sequence[Ahead]) -> bytes:
        """A table in the form of the run's own file, or a workbook."""
        layout = self.task.layout
        if Path(self.request.csv or "").suffix.lower() == _WORKBOOK:
            from attnlab.tasks.forecasting.data.writing.workbook import workbook

            return workbook(results, layout)
        text = csv_of(results, layout)
        try:
            return text.encode(layout.encoding)
        except UnicodeEncodeError:
            return text.encode("utf-8-sig")

    def draw(self, results: Sequence[Ahead], **settings: Any) -> Figure:
        """The newest known values of some series and what comes next."""
        from attnlab.tasks.forecasting.shown.forecasts import MOST_NEXT, next_values_figure

        config = self.trained.config
        name = f"{config.task.name} · {in_prose(config.attention.name)}"
        if len(results) > MOST_NEXT:
            self._note(
                f"--plot: {MOST_NEXT} of {len(results)} series are drawn; --id chooses others"
            )
        return next_values_figure(
            [(each.origin, each.columns) for each in results[:MOST_NEXT]],
            title=f"{name}: next {len(results[0].times)} values",
            units=self.task.series_units or self.task.units,
        )


def _numbers(values: str) -> list[float]:
    try:
        return [float(word) for word in values.replace(",", " ").split()]
    except ValueError:
        raise RequestError(
            f"--values: expected numbers with commas between, got {values}."
        ) from None


def _check_table(file: str | None) -> None:
    """Raise `RequestError` if --csv names a file that can't be written here."""
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
