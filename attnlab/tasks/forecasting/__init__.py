"""The kind `forecasting`: predict the next values of time series."""
