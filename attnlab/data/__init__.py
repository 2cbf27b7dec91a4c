"""Numbers before they meet a model: series, windows, scaling, baselines. NumPy only."""
