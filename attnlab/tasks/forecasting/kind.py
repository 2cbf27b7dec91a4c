"""Declare the kind `forecasting`."""

from __future__ import annotations

from typing import Any

from attnlab.tasks.kinds import POSITIVE, Kind, KindModels, Metric, Predictions, Scoring

_HERE = "attnlab.tasks.forecasting"


def _error(name: str, label: str, **more: Any) -> Metric:
    item_test = f"{_HERE}.item_test:item_test"
    return Metric(name, "min", label, item_test=item_test, **{"bounds": POSITIVE, **more})


KIND = Kind(
    name="forecasting",
    models=KindModels(
        learner=f"{_HERE}.models:ForecastLearner",
        classes={
            "rnn": f"{_HERE}.models:make_recurrent",
            "transformer": f"{_HERE}.transformer:TransformerForecaster",
        },
        together=32,
    ),
    scoring=Scoring(
        metrics=(
            _error("rmse", "RMSE", in_units=True),
            _error("mae", "MAE", in_units=True),
            # The metrics that tables leave out express the same errors in other units.
            _error("mse", "MSE", in_tables=False),
            _error("nrmse", "RMSE / range", in_tables=False),
            _error("mse_z", "MSE of z-scores", in_tables=False),
            _error("mae_z", "MAE of z-scores", in_tables=False),
            _error("mase", "MASE"),
            _error("smape", "sMAPE (%)", in_tables=False, bounds=(0.0, 200.0)),
            Metric("loss", "min", "loss", in_tables=False, bounds=POSITIVE),
        ),
        reported="rmse",
        text_columns=("id", "time"),
    ),
    predictions=Predictions(
        item="forecast",
        command="forecast",
        predictor=f"{_HERE}.predictor:ForecastPredictor",
        exported=f"{_HERE}.exported:exported",
        settings=("steps", "id"),
    ),
    corpora={"ett": f"{_HERE}.ett:EttFiles"},
    views=f"{_HERE}.shown:VIEWS",
)
