"""The views of forecasting runs: figures, and sections of a report."""

from __future__ import annotations

from attnlab.tasks.base import Views
from attnlab.tasks.forecasting.shown import attention, forecasts

VIEWS = Views(
    forecasts.figures,
    {"Forecasts": forecasts.forecast_records, "Attention": attention.attention_records},
)
