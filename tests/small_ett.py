"""Files like those of the ETT data set, with months of four days."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

MONTH = 96  # hours
LATER = 5  # rows behind the test part, which the protocol leaves unused


def write(folder: Path, name: str = "ETTh1", seed: int = 3, rows: int | None = None) -> Path:
    """A folder with a file of 20 such months and a little more, or of so many rows."""
    folder.mkdir(exist_ok=True)
    steps = 4 if "m" in name else 1
    count = 20 * MONTH * steps + LATER if rows is None else rows
    noise = np.random.default_rng(seed).normal(size=(count, 2)).cumsum(axis=0)
    day = 5 * np.sin(2 * np.pi * np.arange(count) / (24 * steps))
    index = pd.date_range("2016-07-01", periods=count, freq=f"{60 // steps}min", name="date")
    frame = pd.DataFrame({"HUFL": noise[:, 0], "OT": noise[:, 1] + day}, index)
    frame.to_csv(folder / f"{name}.csv", date_format="%Y-%m-%d %H:%M:%S")
    return folder
