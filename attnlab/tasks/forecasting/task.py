"""Base class of forecasting tasks: model, loss, reports, and forecasts beyond a series' end."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError, RunFailed
from attnlab.records.files import read_assets, write_json
from attnlab.tasks.base import Report, Task, TaskData, require_part
from attnlab.tasks.forecasting.kind import KIND
from attnlab.tasks.forecasting.measures import LEVEL, Yardstick, errors, mean_errors, steps_ahead
from attnlab.tasks.forecasting.time_series import (
    Scaler,
    TimeSeries,
    Windows,
    resolution,
    scale_columns,
)
from attnlab.tasks.kinds import Kind

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.tasks.forecasting.csv_series import Form

log = logging.getLogger("attnlab")
_FILE = "scaler.json"
# Rows of predictions.csv, about 200 bytes each. Overlapping windows add little information.
_MOST_ROWS = 200_000
_MODEL = ""  # its name among the baselines
_FAR = "The history or its forecast is far outside of the training data"
Predict = Callable[[np.ndarray], Any]  # (N, S, 1 + K) float32 -> (N, horizon), in model units


class ForecastingTask(Task):
    """Base class of tasks that map a window of numbers to the next one or more.

    A subclass is a dataclass with exactly the settings of its YAML. `SplitSeries` is the base of
    those that split a series by time. Others define `load`, which calls `_set_splits` and sets
    `origins`, and `baselines`; `yardsticks` and `notes` have defaults.

    Attributes:
        units: of the reported metrics.
        oracles: baselines that know the rule; the skill ignores them.
        license: of the data; "" if unknown.
        history: values per window, S.
        horizon: values to forecast.
        form: of files from which forecasts can start; None: a column of values in order of time.
        scaler: the kind that is fitted on a new series of a file with ids.
        inputs: K other columns, known up to the end of the history.
        splits: what `load` returned.
        origins: the end of each series: its newest `history` values.
        lengths: the number of values of each series; empty if unknown, or if it has no parts.
        range: smallest and largest value of the training data in model units; infinite if unknown.
    """

    kind: ClassVar[Kind] = KIND
    monitor: ClassVar[tuple[str, str]] = ("val_loss", "min")
    units: str
    oracles: ClassVar[tuple[str, ...]] = ()
    license: ClassVar[str] = ""
    history: int
    horizon: int
    form: Form | None = None
    scaler: str = ""
    inputs: Sequence[str | int] = ()
    splits: TaskData
    origins: Sequence[TimeSeries] = ()
    lengths: Sequence[int] = ()
    range: tuple[float, float] = -np.inf, np.inf

    def _set_splits(self, parts: Mapping[str, Windows], source: str, digest: str) -> TaskData:
        values = parts["train"].history[..., 0], parts["train"].target
        self.range = float(min(map(np.min, values))), float(max(map(np.max, values)))
        data = {"name": self.name, "source": source, "digest": digest}
        self.splits = TaskData(parts=parts, longest=self.history, **data)
        return self.splits

    def build(self, attention: Callable[..., Attention], model: Option) -> keras.Model:
        """Build the forecaster with random weights: (B, S, 1 + K) -> (B, horizon), model units."""
        shape = (None, self.history, 1 + len(self.inputs))
        return self.kind.models.build(model, attention, shape, horizon=self.horizon)

    @staticmethod
    def loss(target: tf.Tensor, forecast: tf.Tensor) -> tf.Tensor:
        """Return the squared error averaged over the horizon, (B,), of two arrays (B, horizon)."""
        from keras import ops

        return ops.mean(ops.square(target - ops.cast(forecast, target.dtype)), axis=-1)

    # Reports

    def report(
        self, forecast: np.ndarray, part: str = "test", ends: np.ndarray | None = None
    ) -> Report:
        """Score a model's forecast of one part, (N, horizon) in model units, and the baselines.

        The reported metric is RMSE, or MASE for several series, because their levels differ. There
        is no skill against a baseline whose errors are only rounding: it knows the rule, and no
        network can be better. `ends` (2, K) is the prediction interval in model units; see
        `interval_ends`.
        """
        windows, yardsticks = self.splits.parts[part], self.yardsticks()
        forecast = self.report_units(np.asarray(forecast, dtype=np.float64), windows)
        baselines, notes = self.baselines(part), [*self.notes(part)]
        target, rows = windows.exact, windows.by_series()
        count, horizon = target.shape
        counts = {series: len(target[at]) for series, at in rows.items()}
        scores = {
            name: {
                series: errors(target[at], values[at], yardsticks[series])
                for series, at in rows.items()
            }
            for name, values in {_MODEL: forecast, **baselines}.items()
        }
        means = {name: mean_errors(by_series, counts) for name, by_series in scores.items()}
        use_mase = windows.ids is not None and all(
            score["mase"] is not None for score in means.values()
        )
        metric = "mase" if use_mase else "rmse"
        metrics = means.pop(_MODEL)
        best = min(
            (name for name in means if name not in self.oracles), key=lambda n: means[n][metric]
        )
        skills: dict[str, float | None] = {}
        for name, score in means.items():
            is_rounding = all(
                (scores[name][series]["rmse"] or 0.0) <= resolution(target[at])
                for series, at in rows.items()
            )
            has_skill = score[metric] and not is_rounding
            skills[name] = 1 - metrics[metric] / score[metric] if has_skill else None

        steps = np.broadcast_to(np.arange(horizon), target.shape)
        band: dict[str, np.ndarray] = {}
        items = f"windows of {horizon} values" if horizon > 1 else "values"
        details: dict[str, Any] = {"scored": f"{steps_ahead(horizon)} on {count:,} {items}"}
        if ends is not None:
            scale = self.report_scaler(windows).scale
            low, high = (forecast + end[:horizon] * scale for end in ends)
            band, inside = {"low": low, "high": high}, (low <= target) & (target <= high)
            coverage = {"coverage": inside.mean(), "coverage_by_step": inside.mean(axis=0).tolist()}
            by_step = {"low": ends[0].tolist(), "high": ends[1].tolist()}
            details["interval"] = {"level": LEVEL, **coverage, **by_step}
        columns = {
            "index": windows.index[:, None] + steps,
            "time": windows.times,
            "step": steps + 1,
            "target": target,
            "prediction": forecast,
            **band,
            **baselines,
        }
        if windows.ids is not None:
            columns = {"id": np.broadcast_to(windows.ids[:, None], target.shape), **columns}
            details["series"] = {
                series: {
                    "windows": counts[series],
                    **scores[_MODEL][series],
                    "naive_error": yardsticks[series].naive_error,
                    "deviation": yardsticks[series].deviation,
                }
                for series in rows
            }
        every = -(-target.size // _MOST_ROWS)  # predictions.csv has one window in so many
        if every > 1:
            scored = f"scores are of all {count:,} windows."
            notes.append(f"predictions.csv has one window in {every}; {scored}")
        return Report(
            metrics=metrics,
            baselines=means,
            best_baseline=best,
            skill=skills[best],
            notes=notes,
            predictions={name: column[::every].reshape(-1) for name, column in columns.items()},
            units=self.units,
            metric=metric,
            oracles=self.oracles,
            skills=skills,
            details=details,
        )

    def evaluate(self, model: keras.Model, part: str = "test") -> Report:
        """Score a model's forecast of one part; see `report`."""
        require_part(self.splits.parts, part)
        windows = self.splits.parts[part]
        return self.report(model.predict(windows.history, batch_size=256, verbose=0), part)

    def head_inputs(  # noqa: D102
        self, model: Any, part: str, count: int
    ) -> tuple[Any, np.ndarray | None]:
        require_part(self.splits.parts, part)
        return self.splits.parts[part].spread(count).history, None

    def validation_targets(self) -> np.ndarray:
        """Return the targets of the validation part, (n, K) in `units`; NaN after the part's end.

        K is the horizon, or more if forecasts can be fed back as history.
        """
        return self.splits.parts["validation"].exact

    def report_scaler(self, windows: Windows) -> Scaler:
        """Return the scaler from model units to `units` of each window; by default the identity."""
        return Scaler("none", 0.0, 0.0, 1.0)

    def report_units(self, values: np.ndarray, windows: Windows) -> np.ndarray:
        """Convert values (N, K) of some windows from model units to `units`."""
        return self.report_scaler(windows).invert(values)

    @abstractmethod
    def baselines(self, part: str) -> dict[str, np.ndarray]:
        """Return each baseline's forecasts of a part, (N, horizon) in `units`."""

    def yardsticks(self) -> dict[str, Yardstick]:
        """Return the statistics that normalize the errors of each series, by id.

        By default they come from the first targets and the last inputs of the train windows.
        """
        train = self.splits.parts["train"]
        targets = train.exact[:, 0]
        last = self.report_units(train.history[:, -1, :1], train)[:, 0]
        return {"": Yardstick.of(targets, targets - last)}

    def notes(self, part: str) -> list[str]:
        """Return caveats for the report of a part."""
        return []

    # Forecasts beyond the end of each series, which don't need the data

    def fits(self, **changes: Any) -> bool:
        """Return whether each part has a window if some settings are changed; False if fixed."""
        return False

    def interval_advice(self, steps: int) -> str:
        """Return which run has an interval for each of `steps` steps, in words; "" if unknown."""
        return ""

    def origin(self, name: str | None = None) -> TimeSeries:
        """Return the end of the series with this id, or of the only series."""
        ids = [origin.id for origin in self.origins]
        if name in ids or (name is None and len(ids) == 1):
            return self.origins[ids.index(name) if name in ids else 0]
        from attnlab.tasks.data.corpus import join_names

        names = join_names(ids) if any(ids) else "none, since the run's only series has no id"
        hint = did_you_mean(name or "", ids)
        raise RequestError(f"--id: expected an id of the run ({names}), got {name}.{hint}")

    def read_origins(self, path: str) -> tuple[list[TimeSeries], list[str]]:
        """Read origins from a CSV file of the run's form, and notes on it; see `read_panel`."""
        from attnlab.tasks.forecasting.csv_series import Form, read_panel

        panel = read_panel(path, self.form or Form(time_column=None), "--history")
        return [*map(self._with_scalers, panel.series)], panel.notes

    def _with_scalers(self, series: TimeSeries) -> TimeSeries:
        """Add the scalers of the run's series with this id; a new one is scaled by its values."""
        scalers = {origin.id: origin.scalers for origin in self.origins}
        if series.id not in scalers and self.form and self.form.id_column is not None:
            fitted = tuple(Scaler.fit(column, self.scaler) for column in series.columns.T)
            return replace(series, scalers=fitted)
        return replace(series, scalers=self.origin(series.id).scalers)

    def forecast(
        self,
        predict: Predict,
        origins: Sequence[TimeSeries],
        steps: int,
        warn: Callable[[str], None] = log.warning,
    ) -> np.ndarray:
        """Forecast several series, (N, steps) float64; after the horizon, forecasts become history.

        `warn` gets one warning if values leave the training data's range by more than half of it. A
        trend leaves that range slowly, and there a network may still be right.

        Raises:
            RequestError: too few history values, or `steps` above the horizon with inputs, whose
                future values are unknown.
            RunFailed: a forecast that is not finite.
        """
        if not isinstance(steps, Integral) or int(steps) < 1:
            raise RequestError(f"steps: expected a whole number of at least 1, got {steps!r}")
        if self.inputs and steps > self.horizon:
            raise RequestError(
                f"steps: expected at most task.horizon={self.horizon}, since the future of the "
                f"inputs isn't known, got {steps}"
            )
        windows = np.stack([self._newest(origin.columns) for origin in origins])
        forecast, is_warned = np.empty((len(windows), 0)), False
        while forecast.shape[1] < steps:
            pairs = zip(origins, windows, strict=True)
            scalers = [origin.scalers_of(window) for origin, window in pairs]
            with np.errstate(over="ignore"):
                scaled = np.stack([*map(scale_columns, scalers, windows)]).astype(np.float32)
                outputs = np.asarray(predict(scaled))
                pairs = zip(scalers, outputs, strict=True)
                values = np.stack([series[0].invert(row) for series, row in pairs])
            distances = np.abs(np.hstack([scaled[:, :, 0], outputs]) - sum(self.range) / 2)
            is_far = distances.max(axis=1) > max(self.range[1] - self.range[0], 1.0)
            if is_far.any() and not is_warned:
                low, high = scalers[is_far.argmax()][0].invert(self.range)
                warn(f"{_FAR}, {low:.4g} to {high:.4g}: networks are unreliable there.")
                is_warned = True
            if not np.all(np.isfinite(values)):
                raise RunFailed(f"the forecast is not finite from step {forecast.shape[1] + 1} on")
            forecast = np.hstack([forecast, values])
            if not self.inputs:  # otherwise the steps end at the horizon
                windows = np.hstack([windows, values[:, :, None]])[:, -self.history :]
        return forecast[:, :steps]

    def serve(
        self,
        model: keras.Model,
        inputs: Any = None,
        steps: int | None = None,
        id: str | None = None,
    ) -> np.ndarray:
        """Forecast each history, oldest first, in natural units: (N, steps).

        Histories are (N, S), or with inputs (N, S, 1 + K) with the series first; they belong to the
        series `id`. A single history gives (steps,), and so does `inputs=None` if there is only one
        series: forecasts then start at the end of each series.
        """
        if inputs is None:
            ends = self.origins if id is None else [self.origin(id)]
            is_single = len(ends) == 1
        else:
            try:
                histories = np.asarray(inputs, np.float64)
            except (TypeError, ValueError) as error:
                raise RequestError(f"inputs: can't be read as numbers: {error}.") from error
            is_single = histories.ndim <= 1 + bool(self.inputs)
            rows = histories[None] if is_single else histories
            ends = [TimeSeries(self._newest(values), id=id or "") for values in rows]
            ends = [*map(self._with_scalers, ends)]
        forecasts = self.forecast(model, ends, self.horizon if steps is None else steps)
        return forecasts[0] if is_single else forecasts

    def _newest(self, values: Any) -> np.ndarray:
        """Return the newest `history` values as a window (S, 1 + K)."""
        rows, columns = np.asarray(values, dtype=np.float64), 1 + len(self.inputs)
        if rows.ndim < 2 and columns == 1:
            rows = rows.reshape(-1, 1)
        window = rows[-self.history :]
        if window.shape != (self.history, columns) or not np.isfinite(window).all():
            names = "".join(f", {name}" for name in self.inputs)
            raise RequestError(
                f"history: expected the newest {self.history} values, finite numbers, of each of: "
                f"the series{names}; got an array of shape {rows.shape}"
            )
        return window

    @property
    def served(self) -> tuple[Any, Any]:  # noqa: D102
        shape = (self.history, 1 + len(self.inputs)) if self.inputs else (self.history,)
        return np.zeros(shape).tolist(), [0.0] * self.horizon

    def interval(
        self, ends: Mapping[str, Sequence[float | None]], origin: TimeSeries, forecast: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Return the columns `low` and `high` of a forecast (steps,); NaN after the last known end.

        `ends` is the entry of metrics.json; the forecast starts at `origin`.
        """
        offsets = np.full((2, len(forecast)), np.nan)
        steps = min(len(forecast), len(ends["low"]))
        offsets[:, :steps] = np.array([ends["low"], ends["high"]], np.float64)[:, :steps]
        low, high = forecast + offsets * origin.scalers_of(self._newest(origin.columns))[0].scale
        return {"low": low, "high": high}

    def save(self, folder: Path) -> None:
        """Write scaler.json, which forecasts need when the data are not available."""
        sizes = {"task": self.name, "history": self.history, "horizon": self.horizon}
        series = [origin.to_json() for origin in self.origins]
        data = {"units": self.units, "range": self.range, "series": series}
        data |= {"lengths": self.lengths, "digest": self.splits.digest}
        write_json(folder / _FILE, sizes | data)

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote, so that forecasts work without the data."""

        def read(content: Mapping[str, Any]) -> tuple[tuple, tuple]:
            origins = [TimeSeries.from_json(series) for series in content["series"]]
            ((history, columns),) = {origin.columns.shape for origin in origins}
            saved = content["task"], history, content["horizon"], columns
            low, high = content.get("range", self.range)
            lengths = [*map(int, content.get("lengths", ()))]
            return saved, (origins, str(content["units"]), (float(low), float(high)), lengths)

        self.origins, self.units, self.range, self.lengths = read_assets(
            folder / _FILE,
            read,
            expected=(self.name, self.history, self.horizon, 1 + len(self.inputs)),
            what="task, history and horizon, and columns",
        )


def refuse(key: str, expected: str, value: Any) -> NoReturn:
    """Raise a RequestError that says `task.<key>: expected <expected>, got <given>`."""
    raise RequestError(f"task.{key}: expected {expected}, got {value!r}")
