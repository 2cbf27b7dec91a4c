"""What forecasting states of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attnlab.config.options import option_content
from attnlab.tasks.base import POSITIVE, Kind, Metric, Verb

_HERE = "attnlab.tasks.forecasting"
_SQUARED, _ABSOLUTE = f"{_HERE}.item_test:squared", f"{_HERE}.item_test:absolute"
_PERCENTAGE = f"{_HERE}.item_test:percentage"


def resolved_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """A run's configuration with the settings that newer runs have."""
    model, task = config.get("model"), config.get("task")
    if isinstance(task, Mapping):
        content = option_content("task", str(task.get("name"))) or {}
        defaults = {key: content[key] for key in content.keys() - {"rules", "_target_"}}
        config = {**config, "task": {**defaults, **task}}
    if not isinstance(model, Mapping):
        return config
    if model.get("name") == "rnn":
        model = {**model, "at_once": model.get("at_once")}
    if "highway" in model:
        model = {"highway_start": "zeros", **model}
    return {**config, "model": model}


def _error(name: str, label: str, item_test: str, **more: Any) -> Metric:
    return Metric(name, "min", label, 0, item_test=item_test, **{"bounds": POSITIVE, **more})


KIND = Kind(
    name="forecasting",
    item="forecast",
    metrics=(
        _error("rmse", "RMSE", _SQUARED, in_units=True),
        _error("mae", "MAE", _ABSOLUTE, in_units=True),
        # Others say the same in other units.
        _error("mse", "MSE", _SQUARED, in_tables=False),
        _error("nrmse", "RMSE / range", _SQUARED, in_tables=False),
        _error("mse_z", "MSE of z-scores", _SQUARED),
        _error("mae_z", "MAE of z-scores", _ABSOLUTE),
        _error("mase", "MASE", _ABSOLUTE),
        _error("smape", "sMAPE (%)", _PERCENTAGE, in_tables=False, bounds=(0.0, 200.0)),
        Metric("loss", "min", "loss", in_tables=False, bounds=POSITIVE),
    ),
    reported="rmse",
    shelf=f"{_HERE}.verbs.data:SHELF",
    together=32,
    learner=f"{_HERE}.learner:ForecastLearner",
    figures=f"{_HERE}.figures.run:forecast_figures",
    served=f"{_HERE}.task:served_example",
    page={
        "Forecasts": f"{_HERE}.page.forecasts:forecast_parts",
        "Attention": f"{_HERE}.page.attention:attention_parts",
    },
    parts={"extrapolation": "longer sequences than in train"},
    tries={
        "fib": "attnlab task=sunspots, or attention={other} and attnlab compare",
        "": "attnlab forecast {run}, or attention={other} and attnlab compare",
    },
    resolved=resolved_config,
    serving=("steps", "id"),
    text_columns=("id", "time"),
    verbs={
        "forecast": Verb("the next values of a series", f"{_HERE}.verbs.forecast:command", True)
    },
)
