"""Forecast the next values of series with a trained run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attnlab.config.options import in_prose
from attnlab.errors import RequestError
from attnlab.tasks.predictor import Explored, Predictor, Request, Setting
from attnlab.terminal import NOTHING

if TYPE_CHECKING:
    from attnlab.tasks.forecasting.task import ForecastingTask
    from attnlab.tasks.forecasting.time_series import TimeSeries
    from attnlab.views.records import Figure

_COLUMNS = ("forecast", "low", "high")


class ForecastPredictor(Predictor):
    """Forecast the next values of RUN's series, one per line.

    A line has the time, the forecast, and both ends of its 95 % interval if enough validation
    errors are known. With several series, a line starts with the id. RUN is a run folder, an MLflow
    run id or its first characters, or `latest`. After the model's horizon, its own forecasts become
    history. With --json, each line is an object with one series, and there is no header.
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
    fields = {"series": "series"}
    task: ForecastingTask

    def __init__(
        self, request: Request, *, steps: int | None, history: str | None, id: Sequence[str]
    ) -> None:
        super().__init__(request)
        if history is not None and id:
            raise RequestError("--id and --history: give only one of them.")
        self._steps, self._history, self._ids = steps, history, id
        self._ends: Sequence[TimeSeries] = ()  # of the series that are continued
        self._has_header = False  # whether the header is printed
        self._missing = ""  # the note on a missing interval

    def predict(self, inputs: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the forecast of each series: id, times, and columns with None for unknown ends."""
        from attnlab.tasks.forecasting.measures import STEPS, steps_ahead

        task, steps = self.task, self._steps or (self.task.horizon if self.task.inputs else STEPS)
        self._ends = [task.origin(name) for name in self._ids] or task.origins
        if self._history is not None:
            self._ends, notes = task.read_origins(self._history)
            for note in notes:
                self._note(note)
        forecasts = task.forecast(self.model, self._ends, steps, self._warn)
        if steps > task.horizon:
            self._note(
                f"the run was scored {steps_ahead(task.horizon)}; later steps continue its own "
                "forecasts" + task.fits(horizon=steps) * f": task.horizon={steps} scores them"
            )
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

    def starts(self) -> Mapping[str, Any]:
        """Return the newest values of the first series."""
        return {"series": self.task.origins[0].values.tolist()}

    def explore(self, entries: Mapping[str, Any]) -> Explored:
        """Forecast the first series from other newest values, or from fewer; see `Predictor`."""
        import numpy as np

        from attnlab.tasks.forecasting.measures import STEPS
        from attnlab.tasks.forecasting.time_series import scale_columns

        task, model, values = copy(self.task), self.model, np.asarray(entries["series"], float)
        most, task.history = task.history, len(values)
        least = most if model.fixed_length else min(max(model.highway, model.at_once), most)
        if not (least <= len(values) <= most and np.isfinite(values).all()):
            size = f"{least} to {most}" if least < most else f"{most}"
            raise RequestError(f"series: the model reads {size} numbers, got {len(values)}.")
        columns = np.column_stack([values, task.origins[0].columns[-len(values) :, 1:]])
        end = replace(task.origins[0], columns=columns)
        steps = task.horizon if task.inputs else max(STEPS, task.horizon)
        (forecast,) = task.forecast(model.predict_on_batch, [end], steps, self._warn)
        return Explored(
            ", ".join(f"{value:.6g}" for value in forecast),
            scale_columns(end.scalers_of(columns), columns)[None].astype(np.float32),
            words={
                "forecast": [f"+{step}" for step in model.ahead or [1]],
                "history": [str(step) for step in range(-len(values), 0)],
            },
            values=values,
            forecast=forecast,
        )

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
            advice = self.task.interval_advice(steps)
            after = f" after step {count}" if count else ""
            self._missing = f"no 95 % interval{after}" + (f": it needs {advice}" if advice else "")
            self._note(self._missing)
        return interval or None

    def _note(self, note: str) -> None:
        self.request.report(f"note: {note}")

    def _warn(self, text: str) -> None:
        self.request.report(f"warning: {text}")

    def lines(self, result: Mapping[str, Any]) -> Iterator[str]:
        """Yield a header, if it is the first result, and a line per value.

        All numbers have the same decimals, enough to show how they differ.
        """
        names = [name for name in _COLUMNS if name in result]
        numbers = [number for name in names for number in result[name] if number is not None]
        size, spread = max(map(abs, numbers)) or 1.0, max(numbers) - min(numbers)
        leading, differing = (
            math.floor(math.log10(number))
            for number in (size, spread if 0 < spread < math.inf else size)
        )
        digits = min(3 + leading - differing, 14)  # after the first one of the largest number
        form = f".{max(digits - leading, 0)}f" if -5 < leading < 15 else f".{digits}e"
        columns = [["time", *result["times"]]]
        if result["id"]:
            columns.insert(0, ["id", *[result["id"]] * len(result["times"])])
        for name in names:
            cells = (NOTHING if number is None else f"{number:{form}}" for number in result[name])
            columns.append([name, *cells])
        widths = [max(map(len, column)) for column in columns]
        for row in [*zip(*columns, strict=True)][self._has_header :]:
            yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        self._has_header = True

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
        shown = [*zip(self._ends, columns, strict=False)]
        return next_values_figure(shown, title, self.task.units, self._missing)
