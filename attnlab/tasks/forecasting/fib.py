"""The book's Fibonacci task: the next of 1,200 numbers that grow exponentially."""

from __future__ import annotations

import numpy as np

from attnlab.tasks.declaration import Progress
from attnlab.tasks.forecasting.data import baselines, windows
from attnlab.tasks.forecasting.data.scaling import Scaler
from attnlab.tasks.forecasting.data.time_series import TimeSeries, digest
from attnlab.tasks.forecasting.data.windows import Splits
from attnlab.tasks.forecasting.task import ForecastingTask, refuse

_PERMUTATION_SEED = 13


class Fib(ForecastingTask):
    """Chapter 9 of "Building Transformer Models with Attention", its protocol included.

    The numbers are scaled by min-max over all of them. Windows one step apart are shuffled by the
    book's permutation and divided into train and test. Difference from the book: the validation
    part; `validation=0` is the book's protocol. Validation windows are taken from the train windows
    at equal distances in order of their targets, starting with the second largest. In a random
    validation part most targets would be 0 in float32, so it could not tell good epochs from bad.

    `test` is a fraction of the windows, `validation` a fraction of the train windows.

    Raises:
        RequestError: windows longer than the series.
    """

    name = "fib"
    horizon = 1
    units = "units of the largest number"
    series_units = "value"

    def __init__(
        self, *, count: int = 1200, history: int = 20, test: float = 0.3, validation: float = 0.2
    ):
        if history > count - 2:
            refuse("history", f"a whole number from 2 to {count - 2}", history)
        self.count, self.history, self.test, self.validation = count, history, test, validation

    def load(self, seed: int = 0, progress: Progress | None = None) -> Splits:
        """Generate the numbers and split them; the seed is ignored."""
        numbers = fibonacci(self.count)
        scaler = Scaler.fit(numbers, "minmax")
        self._scaled = scaler.apply(numbers)
        self._origins = [TimeSeries(numbers[-self.history :, None], (scaler,))]
        train, test = shuffled_split(self.count, self.history, self.test)
        train, held_out = self._hold_out(train)
        for key, rows in (("test", train), ("validation", train), ("test", test)):
            if not len(rows):
                refuse(key, "a fraction that leaves windows for train and test", getattr(self, key))
        first = {"train": train, "validation": held_out, "test": test}
        series = TimeSeries(
            self._scaled[:, None],
            (Scaler("none", 0.0, 0.0, 1.0),),
            [*map(str, range(self.count))],
            first={part: index for part, index in first.items() if len(index)},
        )
        parts = {part: series.windows(part, self.history, 1) for part in series.first}
        self._splits = Splits(
            parts=parts,
            longest=self.history,
            name=self.name,
            source=f"the first {self.count} Fibonacci numbers from 1, 2",
            digest=digest(numbers),
            scaler=scaler.describe(),
        )
        return self._splits

    def _hold_out(self, train: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Divide the train rows into rows for training and rows for validation."""
        count = int(len(train) * self.validation)
        ranked = np.sort(train)[::-1]  # a larger position is a larger number
        places = 1 + np.arange(count) * (len(train) - 1) // max(count, 1)
        held_out = np.isin(train, ranked[places])
        return train[~held_out], train[held_out]

    def _baselines(self, part: str) -> tuple[dict[str, np.ndarray], list[str]]:
        index, train = self.splits.part(part).index, self.splits.train.index
        past = windows.histories(self._scaled, index, self.history)
        forecasts = {
            "persistence": baselines.persistence(past),
            "always_zero": baselines.constant(0.0, len(index)),
            "train_mean": baselines.constant(self._scaled[train].mean(), len(index)),
            "golden_ratio": baselines.golden_ratio(past),
        }
        held_out = self._known_and_target("validation") if self.splits.validation else None
        return forecasts | baselines.linear(*self._known_and_target("train"), past, held_out), []

    def _known_and_target(self, part: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the windows (N, S) and targets (N, 1) of a part in float64."""
        index = self.splits.part(part).index
        return windows.histories(self._scaled, index, self.history), self._scaled[index, None]

    def _notes(self, part: str) -> list[str]:
        target = self.splits.part(part).exact[:, 0]
        zeros = int(np.sum(self._scaled.astype(np.float32) == 0))
        squares = np.sort(target**2)
        share = squares[-3:].sum() / squares.sum() if squares[-1] else 1.0
        index = self.splits.part(part).index
        golden = baselines.golden_ratio(windows.histories(self._scaled, index, 2))
        mse = float(np.mean((golden[:, 0] - target) ** 2))
        return [
            f"{zeros} of the {self.count} numbers are 0 in float32 once scaled to [0, 1].",
            f"Three of the {len(target)} {part} targets have {100 * share:.1f} % of the sum of "
            "squares, so the score says little about the others.",
            f"The golden ratio times the last number scores an MSE of {mse:.1e}: of a window, only "
            "the end matters; see fib_random.",
            "The windows are shuffled as in the book, so neighbours of test targets are in the "
            "train part, and the scaler knows the largest number.",
        ]


def fibonacci(count: int) -> np.ndarray:
    """Return the first `count` numbers of 1, 2, 3, 5, 8, ...: x_n = x_(n-1) + x_(n-2).

    The starting values 0 and 1 are left out. float64 can represent 1,475 of the numbers.
    """
    numbers = np.empty(count)
    before, last = 0.0, 1.0
    for position in range(count):
        before, last = last, before + last
        numbers[position] = last
    return numbers


def shuffled_split(count: int, history: int, test: float) -> tuple[np.ndarray, np.ndarray]:
    """Split windows as the book does (listing 9.3): shuffle all windows, one step apart.

    Returns the positions of the train and test targets in a series of `count` values; `test` is
    the fraction of test targets. The shuffle always uses `numpy.random.RandomState(13)`.
    """
    rows = count - history
    order = np.random.RandomState(_PERMUTATION_SEED).permutation(rows) + history
    train = int((1.0 - test) * rows + 1e-9)
    return order[:train], order[train:]
