"""What forecasting states of itself."""

from __future__ import annotations

from attnlab.tasks.base import Kind, Metric, Verb

_HERE = "attnlab.tasks.forecasting"

KIND = Kind(
    name="forecasting",
    item="forecast",
    metrics=(
        Metric("rmse", "min", "RMSE", perfect=0, in_units=True, item_test="squared"),
        Metric("mae", "min", "MAE", perfect=0, in_units=True, item_test="absolute"),
        Metric("mse", "min", "MSE", perfect=0, item_test="squared"),
        Metric("nrmse", "min", "RMSE / range", perfect=0, item_test="squared"),
        Metric("loss", "min", "loss", in_tables=False),
    ),
    reported="rmse",
    learner=f"{_HERE}.learner:ForecastLearner",
    figures=f"{_HERE}.figures.run:forecast_figures",
    served=f"{_HERE}.task:served_example",
    verbs={
        "forecast": Verb("the next values of a series", f"{_HERE}.verbs.forecast:command", True)
    },
)
