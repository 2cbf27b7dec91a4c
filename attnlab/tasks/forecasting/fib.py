"""Fibonacci numbers: the book's task, and one whose last number doesn't determine the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from attnlab.tasks.base import TaskData
from attnlab.tasks.forecasting.measures import Examples, linear
from attnlab.tasks.forecasting.task import ForecastingTask, refuse
from attnlab.tasks.forecasting.time_series import Scaler, TimeSeries, Windows, digest, histories
from attnlab.tasks.kinds import Progress

_PERMUTATION_SEED = 13
_STREAMS = {"train": 1, "validation": 2, "test": 3}
_GOLDEN_RATIO = (1.0 + 5.0**0.5) / 2.0  # limit of the ratios of consecutive Fibonacci numbers


class _Fibonacci(ForecastingTask):
    """One step ahead; `_pairs` has the windows and targets of each part in model units, float64."""

    horizon = 1
    _pairs: Mapping[str, Examples]  # part -> (N, S) and (N, 1)

    def _windows(self, index: Mapping[str, np.ndarray]) -> dict[str, Windows]:
        return {
            part: Windows(
                history=history[:, :, None].astype(np.float32),
                target=target.astype(np.float32),
                index=index[part].astype(np.int64),
                exact=target,
                times=index[part][:, None].astype(str),
            )
            for part, (history, target) in self._pairs.items()
        }

    def baselines(self, part: str) -> dict[str, np.ndarray]:  # noqa: D102
        past, target = self._pairs[part]
        rules = {
            "persistence": past[:, -1:],
            "train_mean": np.full_like(target, self._pairs["train"][1].mean()),
            "golden_ratio": past[:, -1:] * _GOLDEN_RATIO,
        }
        return rules | linear(self._samples, part, self.history)

    def _samples(self, part: str | None, length: int) -> Examples | None:
        pair = self._pairs.get(part or "train")
        if pair is None or length > pair[0].shape[1]:
            return None
        return pair[0][:, -length:], pair[1]


@dataclass(kw_only=True, eq=False)
class Fib(_Fibonacci):
    """Chapter 9 of "Building Transformer Models with Attention", its protocol included.

    The numbers are scaled by min-max over all of them. Windows one step apart are shuffled by the
    book's permutation and divided into train and test. Difference from the book: the validation
    part; `validation=0` is the book's protocol. Validation windows are taken from the train windows
    at equal distances in order of their targets, starting with the second largest. In a random
    validation part most targets would be 0 in float32, so it could not tell good epochs from bad.
    The protocol leaks: neighbours of test targets are in the train part, and the scaler knows the
    largest number. Three test targets have almost the whole sum of squares.

    `test` is a fraction of the windows, `validation` a fraction of the train windows.
    """

    name = "fib"
    units = "units of the largest number"

    count: int = 1200
    history: int = 20
    test: float = 0.3
    validation: float = 0.2

    def __post_init__(self) -> None:
        if self.history > self.count - 2:
            refuse("history", f"a whole number from 2 to {self.count - 2}", self.history)

    def load(self, seed: int = 0, progress: Progress | None = None) -> TaskData:
        """Generate the numbers and split them; the seed is ignored."""
        numbers = fibonacci(self.count)
        scaler = Scaler.fit(numbers, "minmax")
        scaled = scaler.apply(numbers)
        self.origins = [TimeSeries(numbers[-self.history :, None], (scaler,))]
        rows = self.count - self.history
        order = np.random.RandomState(_PERMUTATION_SEED).permutation(rows) + self.history
        train, test = np.split(order, [int((1.0 - self.test) * rows + 1e-9)])  # listing 9.3
        ranked = np.sort(train)[::-1]  # a larger position is a larger number
        count = int(len(train) * self.validation)
        places = 1 + np.arange(count) * (len(train) - 1) // max(count, 1)
        is_validation = np.isin(train, ranked[places])
        train, validation = train[~is_validation], train[is_validation]
        if not (len(train) and len(test)):
            refuse("test", "a fraction that leaves windows for train and test", self.test)
        index = {"train": train, "validation": validation, "test": test}
        index = {part: positions for part, positions in index.items() if len(positions)}
        self._pairs = {
            part: (histories(scaled, positions, self.history), scaled[positions, None])
            for part, positions in index.items()
        }
        return self._set_splits(
            self._windows(index),
            source=f"the first {self.count} Fibonacci numbers from 1, 2",
            digest=digest(numbers),
        )

    def baselines(self, part: str) -> dict[str, np.ndarray]:  # noqa: D102
        return {"always_zero": np.zeros_like(self._pairs[part][1]), **super().baselines(part)}

    def notes(self, part: str) -> list[str]:  # noqa: D102
        return [
            "As in the book, test windows overlap train windows, and a few large numbers decide "
            "the score; task=fib_random has neither fault."
        ]


@dataclass(kw_only=True, eq=False)
class FibRandom(_Fibonacci):
    """The next number of a window on generalised Fibonacci sequences that often restart.

    Each window ends inside a sequence, so its last two numbers add up to the target; the numbers
    before the sequence are noise. Each window is divided by its largest absolute value. Unlike in
    `fib`, the last number alone does not determine the target. A linear autoregression finds the
    rule from enough train windows.

    The run's seed determines the train windows. Validation and test windows are always the same, so
    runs with different seeds have the same targets: they differ only by training, and paired tests
    over targets are possible.
    """

    name = "fib_random"
    units = "units of the window's largest number"
    oracles = ("sum_of_last_two",)

    history: int = 20
    train_windows: int = 2000
    validation_windows: int = 500
    test_windows: int = 1000
    min_terms: int = 2
    max_terms: int = 5

    def load(self, seed: int = 0, progress: Progress | None = None) -> TaskData:
        """Generate the windows; the seed determines only the train windows."""
        numbers, self._pairs = [], {}
        for part, stream in _STREAMS.items():
            random = np.random.default_rng([stream, seed if part == "train" else 0])
            count = getattr(self, f"{part}_windows")
            past, target = random_sequences(
                random, count, self.history, self.min_terms, self.max_terms
            )
            scale = np.max(np.abs(past), axis=1, keepdims=True)
            numbers += [past, target]
            self._pairs[part] = past / scale, target[:, None] / scale
        self.origins = [TimeSeries(past[-1][:, None])]  # the last test window
        index = {part: np.arange(len(target)) for part, (_, target) in self._pairs.items()}
        return self._set_splits(
            self._windows(index),
            source=f"sequences of {self.min_terms} to {self.max_terms} terms from random starts",
            digest=digest(*numbers),
        )

    def baselines(self, part: str) -> dict[str, np.ndarray]:  # noqa: D102
        past, _ = self._pairs[part]
        return super().baselines(part) | {"sum_of_last_two": past[:, -1:] + past[:, -2:-1]}


def fibonacci(count: int) -> np.ndarray:
    """Return the first `count` numbers of 1, 2, 3, 5, 8, ...; float64 can represent 1,475."""
    numbers = np.empty(count)
    before, last = 0.0, 1.0
    for position in range(count):
        before, last = last, before + last
        numbers[position] = last
    return numbers


def random_sequences(
    random: np.random.Generator, windows: int, history: int, min_terms: int, max_terms: int
) -> tuple[np.ndarray, np.ndarray]:
    """Generate windows of concatenated Fibonacci sequences, and the number after each window.

    Each sequence starts with two random numbers from [-1, 1), continues by
    x_n = x_(n-1) + x_(n-2), and has `min_terms` to `max_terms` terms. A window ends after at least
    two terms of a sequence; the target is the next term.

    Returns numbers (windows, history) and targets (windows,), float64, unscaled. `history` and
    `min_terms` are at least 2.
    """
    lead = max_terms + 1  # room for the part of the first sequence before the window
    length = lead + history + 1
    most = length // min_terms + 1
    terms = random.integers(min_terms, max_terms + 1, size=(windows, most))
    terms[:, 0] += 1  # the target, one more term of the last sequence
    starts = length - np.cumsum(terms, axis=1)  # of sequences; negative: before the stream
    rows, columns = np.nonzero(starts >= 0)
    latest = np.zeros((windows, length), dtype=np.int64)
    latest[rows, starts[rows, columns]] = starts[rows, columns]
    age = np.arange(length) - np.maximum.accumulate(latest, axis=1)
    streams = random.uniform(-1.0, 1.0, size=(windows, length))
    for position in range(2, length):
        continued = streams[:, position - 1] + streams[:, position - 2]
        streams[:, position] = np.where(age[:, position] < 2, streams[:, position], continued)
    return streams[:, lead:-1].copy(), streams[:, -1].copy()
