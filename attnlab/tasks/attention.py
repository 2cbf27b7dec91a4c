"""Attention on a few test items, recorded while a run trains: the file attention.npz."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attnlab.errors import RequestError
from attnlab.records import files
from attnlab.records.run_directory import RunDirectory

MOST_EPOCHS, MOST_ITEMS = 30, 8
FILE = "attention.npz"
Arrays = Mapping[str, np.ndarray]  # of `Learner.examples`, by name


@dataclass(frozen=True)
class Recorded:
    """What `Learner.examples` returned after some epochs."""

    by_epoch: Mapping[int, Arrays]  # epoch -> arrays by name, the same names at each; in order
    best: int  # the epoch whose weights the run's result has

    @property
    def epochs(self) -> list[int]:
        """Return the recorded epochs, in order."""
        return [*self.by_epoch]

    def at(self, epoch: int) -> Arrays:
        """Return the arrays of an epoch."""
        return self.by_epoch[epoch]

    def final(self) -> Arrays:
        """Return the arrays of the best epoch; of the last one if the run isn't complete."""
        return self.by_epoch.get(self.best, self.by_epoch[self.epochs[-1]])


def example_rows(count: int) -> np.ndarray:
    """Return at most `MOST_ITEMS` of `count` rows at equal distances, the first and the last."""
    return np.unique(np.linspace(0, count - 1, MOST_ITEMS).astype(int))


def epochs_to_record(epochs: int) -> set[int]:
    """Return at most `MOST_EPOCHS` epochs at equal distances, the first and the last included."""
    places = np.linspace(1, epochs, min(epochs, MOST_EPOCHS))
    return {round(place) for place in places.tolist()}


def write_attention(run: RunDirectory, recorded: Recorded) -> None:
    """Write attention.npz; raises `OSError`.

    An array is `EPOCH/NAME`, or `NAME` if it is the same at each epoch, such as the items' tokens.
    """
    first, *others = recorded.by_epoch.values()
    constant = [
        name
        for name, array in first.items()
        if others and all(np.array_equal(array, other[name]) for other in others)
    ]
    arrays = {"best": np.array(recorded.best), **{name: first[name] for name in constant}}
    for epoch, by_name in recorded.by_epoch.items():
        arrays |= {f"{epoch}/{name}": by_name[name] for name in by_name if name not in constant}
    arrays["epochs"] = np.array(recorded.epochs)
    with files.replacing(run.path / FILE) as temporary:
        np.savez_compressed(temporary, **arrays)  # type: ignore[arg-type]


def read_attention(run: RunDirectory) -> Recorded | None:
    """Return what attention.npz has; None if there is no such file."""
    path: Path = run.path / FILE
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as stored:
            arrays = dict(stored)
        epochs: Sequence[int] = arrays.pop("epochs").tolist()
        best = int(arrays.pop("best"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise RequestError(
            f"{path}: damaged: {error}. Remove the file to see the rest of the run."
        ) from error
    constant = {name: array for name, array in arrays.items() if "/" not in name}
    by_epoch = {
        epoch: constant
        | {
            key.partition("/")[2]: array
            for key, array in arrays.items()
            if key.startswith(f"{epoch}/")
        }
        for epoch in epochs
    }
    return Recorded(by_epoch, best)
