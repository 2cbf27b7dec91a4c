"""Fibonacci sequences from random starts: the model must find the last two numbers."""

from __future__ import annotations

import numpy as np

from attnlab.tasks.declaration import Progress
from attnlab.tasks.forecasting.data import baselines
from attnlab.tasks.forecasting.data.scaling import Scaler
from attnlab.tasks.forecasting.data.time_series import TimeSeries, digest
from attnlab.tasks.forecasting.data.windows import Splits, Windows
from attnlab.tasks.forecasting.task import ForecastingTask

_STREAMS = {"train": 1, "validation": 2, "test": 3, "extrapolation": 4}


class FibRandom(ForecastingTask):
    """The next number of a window on generalised Fibonacci sequences that often restart.

    Each window ends inside a sequence, so its last two numbers add up to the target; the numbers
    before the sequence are noise. Each window is divided by its largest absolute value. Unlike in
    `fib`, the last number alone does not determine the target.

    The run's seed determines the train windows. Validation, test and extrapolation windows are
    always the same, so runs with different seeds have the same targets: they differ only by
    training, and paired tests over targets are possible.

    The part "extrapolation" is only for evaluation. It has as many windows as the test part, with
    `extrapolation` numbers each; None leaves the part out.
    """

    name = "fib_random"
    horizon = 1
    units = "units of the window's largest number"
    series_units = "value"
    oracles = ("sum_of_last_two",)

    def __init__(
        self,
        *,
        history: int = 20,
        extrapolation: int | None = 40,
        train_windows: int = 2000,
        validation_windows: int = 500,
        test_windows: int = 1000,
        min_terms: int = 2,
        max_terms: int = 5,
    ):
        self.history, self.extrapolation = history, extrapolation
        self.train_windows, self.validation_windows = train_windows, validation_windows
        self.test_windows = test_windows
        self.min_terms, self.max_terms = min_terms, max_terms

    def load(self, seed: int = 0, progress: Progress | None = None) -> Splits:
        """Generate the windows; the seed determines only the train windows."""
        self._numbers = {
            "train": self._draw("train", self.train_windows, self.history, seed),
            "validation": self._draw("validation", self.validation_windows, self.history),
            "test": self._draw("test", self.test_windows, self.history),
        }
        if self.extrapolation is not None:
            longer = self._draw("extrapolation", self.test_windows, self.extrapolation)
            self._numbers["extrapolation"] = longer
        parts = {part: _windows(*numbers) for part, numbers in self._numbers.items()}
        self._origins = [TimeSeries(self._numbers["test"][0][-1][:, None])]
        self._splits = Splits(
            parts={part: parts.pop(part) for part in ("train", "validation", "test")},
            longest=self.history,
            name=self.name,
            source=f"sequences of {self.min_terms} to {self.max_terms} terms from random starts",
            digest=digest(*(array for pair in self._numbers.values() for array in pair)),
            extra=parts,
            scaler="window (divided by its largest absolute value)",
        )
        return self._splits

    def scaler_for(self, history: np.ndarray | None = None, name: str | None = None) -> Scaler:
        """Return the scaler of a window, which must be given.

        Raises:
            ValueError: no window given.
        """
        if history is None:
            raise ValueError("fib_random scales each window by itself: give the history")
        return Scaler.for_window(history)

    def _draw(
        self, part: str, windows: int, history: int, seed: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng([_STREAMS[part], seed])
        return random_sequences(random, windows, history, self.min_terms, self.max_terms)

    def _baselines(self, part: str) -> tuple[dict[str, np.ndarray], list[str]]:
        past, _ = _scaled(*self._numbers[part])
        train, targets = _scaled(*self._numbers["train"])
        forecasts = {
            "persistence": baselines.persistence(past),
            "train_mean": baselines.constant(targets.mean(), len(past)),
            "golden_ratio": baselines.golden_ratio(past),
            "sum_of_last_two": baselines.sum_of_last_two(past),
        }
        held_out = _scaled(*self._numbers["validation"])
        return forecasts | baselines.linear(train, targets, past, held_out), []

    def _notes(self, part: str) -> list[str]:
        notes = [
            "The rule is linear, so a linear autoregression finds it exactly from enough train "
            "windows; the skill against persistence or the golden ratio shows how much of the rule "
            "a network found."
        ]
        if part == "extrapolation":
            length = self.splits.extra[part].history.shape[1]
            notes.append(f"Windows of {length} numbers; trained on windows of {self.history}.")
        return notes


def _scaled(history: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divide each window (N, S) and its target (N, 1) by the window's largest absolute value."""
    scale = np.max(np.abs(history), axis=1, keepdims=True)
    return history / scale, target[:, None] / scale


def _windows(history: np.ndarray, target: np.ndarray) -> Windows:
    scaled, targets = _scaled(history, target)
    index = np.arange(len(targets), dtype=np.int64)
    return Windows(
        history=scaled[:, :, None].astype(np.float32),
        target=targets.astype(np.float32),
        index=index,
        exact=targets,
        times=index[:, None].astype(str),
    )


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
    age = _ages(length - np.cumsum(terms, axis=1), length)
    streams = random.uniform(-1.0, 1.0, size=(windows, length))
    for position in range(2, length):
        continued = streams[:, position - 1] + streams[:, position - 2]
        starts = age[:, position] < 2
        streams[:, position] = np.where(starts, streams[:, position], continued)
    return streams[:, lead:-1].copy(), streams[:, -1].copy()


def _ages(starts: np.ndarray, length: int) -> np.ndarray:
    """Return the number of earlier terms of the same sequence at each position, (N, length).

    `starts` (N, sequences) has the first position of each sequence; negative ones are ignored.
    """
    rows, columns = np.nonzero(starts >= 0)
    latest = np.zeros((len(starts), length), dtype=np.int64)
    latest[rows, starts[rows, columns]] = starts[rows, columns]
    return np.arange(length) - np.maximum.accumulate(latest, axis=1)
