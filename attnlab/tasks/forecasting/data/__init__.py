"""Series before they meet a model: windows, scaling, baselines. NumPy only."""
