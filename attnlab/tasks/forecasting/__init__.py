"""Forecasting series: from their data to their figures."""
