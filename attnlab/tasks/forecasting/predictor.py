"""Forecast the next values of series with a trained run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attnlab.config.options import in_prose
from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError
from attnlab.tasks.forecasting.table import Ahead, csv_of, lines
from attnlab.tasks.predictor import Predictor, Request, Setting

if TYPE_CHECKING:
    from attnlab.tasks.forecasting.data.time_series import TimeSeries
    from attnlab.tasks.forecasting.task import ForecastingTask
    from attnlab.views.records import Figure

_STEPS = 12  # default for runs without inputs


class ForecastPredictor(Predictor):
    """Forecast the next values of RUN's series, one per line.

    A line has the time, the forecast, and both ends of its 95 % interval if enough validation
    errors are known. With several series, a line starts with the id. RUN is a run folder, an MLflow
    run id or its first characters, or `latest`. After the model's horizon, its own forecasts become
    history. With --json, each line is an object with one series.
    """

    settings = (
        Setting(
            "steps",
            "How many values to forecast.  [default: 12, or task.horizon for a run with inputs]",
            (1, 100_000),
        ),
        Setting(
            "values",
            "Continue from these values instead of the end of the run's series.",
            metavar="X,Y,...",
        ),
        Setting("history", "Continue from the last values of this file.", metavar="FILE.csv"),
        Setting("column", "Column of --history, by name or number."),
        Setting(
            "id",
            "Forecast only the series with this id; may be repeated.  [default: all series]",
            metavar="NAME",
            repeated=True,
        ),
    )
    figure = Setting("plot", "Draw the forecasts.")
    table = "Write a CSV with the columns id, time, forecast, low and high."
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
        if values is not None and history is not None:
            raise RequestError("--values and --history: give only one of them.")
        if column is not None and history is None:
            raise RequestError("--column: needs --history, the file with this column.")
        self._values = None if values is None else _numbers(values)
        self._steps, self._history, self._column, self._ids = steps, history, column, id

    def predict(self, inputs: Sequence[str]) -> Iterator[Ahead]:
        """Yield the forecast of each series."""
        steps = self._steps or (self.task.horizon if self.task.inputs else _STEPS)
        origins = self._of_run() if self._history is None else self._of_file(self._history)
        made = self.task.forecast(self.model, origins, steps)
        ends = self._interval_ends(steps)
        for origin, own in zip(origins, made, strict=True):
            band = self.task.interval(ends, origin, own) if ends else {}
            yield Ahead(origin, origin.labels(steps), {"forecast": own, **band})

    def _of_run(self) -> Sequence[TimeSeries]:
        """Return the ends of the run's series, or the values of --values."""
        if self._values is None:
            return [self.task.origin(name) for name in self._ids] or self.task.origins
        if len(self._ids) > 1:
            raise RequestError("--values: give at most one --id, the series that they belong to.")
        name = self.task.origin(self._ids[0]).id if self._ids else ""
        origin = replace(self.task.origin_of(self._values, *self._ids), id=name)
        self._note_new([origin])
        return [origin]

    def _of_file(self, path: str) -> Sequence[TimeSeries]:
        """Return the ends of the series in a file, or of those that --id names."""
        origins, notes = self.task.read_origins(path, self._column)
        self._note(*notes)
        found, ids = {origin.id: origin for origin in origins}, self._ids
        if ids and [*found] == [""]:  # the file doesn't say which series it has
            if len(ids) > 1:
                raise RequestError(f"--id: give only one, since {path} has one series without id.")
            return [replace(origins[0], scalers=self.task.origin(ids[0]).scalers)]
        for name in ids:
            if name not in found:
                hint = did_you_mean(name, [*found])
                raise RequestError(f"--id: expected one of the series of {path}, got {name}.{hint}")
        chosen = [found[name] for name in ids] or origins
        self._note_new(chosen)
        return chosen

    def _note_new(self, origins: Sequence[TimeSeries]) -> None:
        """Report series that the run wasn't trained on, and that are scaled by their values."""
        from attnlab.tasks.data.corpus import listed

        known = {origin.id for origin in self.task.origins}
        new = [origin.id or "the one given" for origin in origins if origin.id not in known]
        if new and "" not in known:
            self._note(
                "series that the run wasn't trained on are scaled by their own values: "
                f"{listed(new)}"
            )

    def _interval_ends(self, steps: int) -> dict[str, Any] | None:
        """Return the interval in the run's metrics; None if it is unknown for these weights."""
        metrics: Mapping[str, Any] = {}
        with suppress(RequestError):  # not completed
            metrics = self.request.run.read_metrics()
        ends = metrics.get("interval")
        if not ends:
            if metrics:
                self._note_missing(0, steps)
            return None
        if self.trained.epoch != str(metrics["best_epoch"]):
            self._note("the interval is known only for the best epoch")
            return None
        known = sum(end is not None for end in ends["low"][:steps])
        if known < steps:
            self._note_missing(known, steps)
        return ends

    def _note_missing(self, known: int, steps: int) -> None:
        """Report why the interval is missing, and what would help."""
        from attnlab.tasks.forecasting.data.intervals import AHEAD, FEWEST

        beyond = steps > max(AHEAD, self.task.horizon)
        where = f" beyond step {known}" if known else ""
        self._note(
            f"no interval{where}: it needs {FEWEST} validation errors per step; train with "
            f"{f'task.horizon={steps} and ' if beyond else ''}a validation part of at least "
            f"{FEWEST - 1 + steps} values (task.validation)"
        )

    def _note(self, *notes: str) -> None:
        for note in notes:
            self.request.report(f"note: {note}")

    def lines(self, result: Ahead) -> Iterator[str]:
        """Return a line per value."""
        return lines([result])

    def content(self, result: Ahead) -> dict[str, Any]:
        """Return the id, the times and the columns; None for an unknown end of the interval."""
        columns = {
            name: [float(each) if each == each else None for each in own]
            for name, own in result.columns.items()
        }
        return {"id": result.origin.id, "times": result.times, **columns}

    def csv(self, results: Sequence[Ahead]) -> bytes:
        """Return a CSV of the forecasts."""
        return csv_of(results).encode()

    def draw(self, results: Sequence[Ahead], **settings: Any) -> Figure:
        """Draw the newest known values of some series, and their forecasts."""
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
            f"--values: expected numbers separated by commas, got {values}."
        ) from None
