"""Forecast the next values of series with a trained run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attnlab.config.options import in_prose
from attnlab.errors import RequestError
from attnlab.tasks.predictor import Predictor, Request, Setting

if TYPE_CHECKING:
    from attnlab.tasks.forecasting.task import ForecastingTask
    from attnlab.tasks.forecasting.time_series import TimeSeries
    from attnlab.views.records import Figure

_STEPS = 12  # default for runs without inputs
_COLUMNS = ("forecast", "low", "high")


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
            "history",
            "Continue from the end of this file, which has the form of the run's file.",
            metavar="FILE.csv",
        ),
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
        self, request: Request, *, steps: int | None, history: str | None, id: Sequence[str]
    ) -> None:
        super().__init__(request)
        if history is not None and id:
            raise RequestError("--id and --history: give only one of them.")
        self._steps, self._history, self._ids = steps, history, id
        self._ends: Sequence[TimeSeries] = ()  # of the series that are continued

    def predict(self, inputs: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the forecast of each series: id, times, and columns with None for unknown ends."""
        task, steps = self.task, self._steps or (self.task.horizon if self.task.inputs else _STEPS)
        self._ends = [task.origin(name) for name in self._ids] or task.origins
        if self._history is not None:
            self._ends, notes = task.read_origins(self._history)
            for note in notes:
                self._note(note)
        forecasts = task.forecast(self.model, self._ends, steps)
        interval = self._interval(steps)
        for series, forecast in zip(self._ends, forecasts, strict=True):
            columns = {"forecast": forecast}
            if interval:
                columns |= task.interval(interval, series, forecast)
            numbers = {
                name: [None if math.isnan(number) else float(number) for number in column]
                for name, column in columns.items()
            }
            yield {"id": series.id, "times": [*series.labels(steps)], **numbers}

    def _interval(self, steps: int) -> dict[str, Any] | None:
        """Return the interval in the run's metrics; None if it is unknown for these weights."""
        try:
            metrics = self.request.run.read_metrics()
        except RequestError:  # not completed
            return None
        interval = metrics.get("interval")
        if interval and self.trained.epoch != str(metrics["best_epoch"]):
            self._note("the interval is known only for the best epoch")
            return None
        count = sum(end is not None for end in interval["low"][:steps]) if interval else 0
        if count < steps:
            self._note(
                f"no interval after step {count}: it needs enough validation errors of each step "
                "(task.validation, task.horizon)"
            )
        return interval or None

    def _note(self, note: str) -> None:
        self.request.report(f"note: {note}")

    def lines(self, result: Mapping[str, Any]) -> Iterator[str]:
        """Yield a line per value, with enough digits to show how the numbers differ."""
        columns = [result[name] for name in _COLUMNS if name in result]
        numbers = [number for column in columns for number in column if number is not None]
        size, spread = max(map(abs, numbers)), max(numbers) - min(numbers)
        varies = 0 < spread < math.inf
        digits = 4 + math.floor(math.log10(size)) - math.floor(math.log10(spread)) if varies else 6
        digits = min(max(6, digits), 15)
        ids = [result["id"]] if result["id"] else []
        for time, *row in zip(result["times"], *columns, strict=True):
            shown = [f"{number:.{digits}g}" for number in row if number is not None]
            yield "\t".join([*ids, time, *shown])

    def rows(self, result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield a row per value; unknown ends of the interval are empty."""
        for step, time in enumerate(result["times"]):
            numbers = {name: result[name][step] for name in _COLUMNS if name in result}
            yield {"id": result["id"], "time": time, **dict.fromkeys(_COLUMNS), **numbers}

    def draw(self, results: Sequence[Mapping[str, Any]], **settings: Any) -> Figure:
        """Draw the newest known values of some series, and their forecasts."""
        import numpy as np

        from attnlab.tasks.forecasting.shown import MOST_NEXT, next_values_figure

        config = self.trained.config
        name = f"{config.task.name} · {in_prose(config.attention.name)}"
        if len(results) > MOST_NEXT:
            self._note(f"--plot draws only {MOST_NEXT} series; --id chooses others")
        columns = [
            {name: np.array(result[name], float) for name in _COLUMNS if name in result}
            for result in results[:MOST_NEXT]
        ]
        title = f"{name}: next {len(results[0]['times'])} values"
        return next_values_figure([*zip(self._ends, columns, strict=False)], title, self.task.units)
