"""The verb of forecasting."""
