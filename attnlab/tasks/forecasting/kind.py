"""What forecasting states of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attnlab.config.options import auto_value, option_content
from attnlab.tasks.base import Kind, Metric, Verb

_HERE = "attnlab.tasks.forecasting"
_SQUARED, _ABSOLUTE = f"{_HERE}.item_test:squared", f"{_HERE}.item_test:absolute"


def resolved_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """A run's configuration with what newer runs say: later settings, the mechanism's readout."""
    model, attention, task = (config.get(group) for group in ("model", "attention", "task"))
    if isinstance(task, Mapping):
        content = option_content("task", str(task.get("name"))) or {}
        defaults = {key: content[key] for key in content.keys() - {"rules", "_target_"}}
        config = {**config, "task": {**defaults, **task}}
    if not isinstance(model, Mapping) or not isinstance(attention, Mapping):
        return config
    if model.get("name") == "rnn":
        model = {**model, "at_once": model.get("at_once")}
    if "highway" in model:
        model = {"highway_start": "zeros", **model}
    config = {**config, "model": model}
    if model.get("readout") != "auto":
        return config
    readout = auto_value(attention.get("name"), "model.readout", "concat")
    return {**config, "model": {**model, "readout": readout}}


KIND = Kind(
    name="forecasting",
    item="forecast",
    metrics=(
        Metric("rmse", "min", "RMSE", perfect=0, in_units=True, item_test=_SQUARED),
        Metric("mae", "min", "MAE", perfect=0, in_units=True, item_test=_ABSOLUTE),
        # Others say the same in other units.
        Metric("mse", "min", "MSE", perfect=0, in_tables=False, item_test=_SQUARED),
        Metric("nrmse", "min", "RMSE / range", perfect=0, in_tables=False, item_test=_SQUARED),
        Metric("mse_z", "min", "MSE of z-scores", perfect=0, item_test=_SQUARED),
        Metric("mae_z", "min", "MAE of z-scores", perfect=0, item_test=_ABSOLUTE),
        Metric("mase", "min", "MASE", perfect=0, item_test=_ABSOLUTE),
        Metric("smape", "min", "sMAPE (%)", perfect=0, in_tables=False),
        Metric("loss", "min", "loss", in_tables=False),
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
    tries={
        "fib": "attnlab task=sunspots, or attention={other} and attnlab compare",
        "": "attnlab forecast {run}, or attention={other} and attnlab compare",
    },
    resolved=resolved_config,
    serving=("steps",),
    text_columns=("time",),
    verbs={
        "forecast": Verb("the next values of a series", f"{_HERE}.verbs.forecast:command", True)
    },
)
