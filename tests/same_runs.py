"""Check that two run folders have the same result, byte by byte if possible."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import h5py
import numpy as np


def history(folder: Path) -> list[dict[str, str]]:
    """The rows of history.csv as text, without the seconds."""
    with open(folder / "history.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def weights(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file of weights, by their place in it."""
    arrays = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, item: arrays.update({name: item[()]} if hasattr(item, "shape") else {})
        )
    return arrays


def assert_same_run(folder: Path, expected: Path) -> None:
    """Check that weights, history without seconds, metrics and predictions are equal."""
    assert json.loads((folder / "status.json").read_text())["state"] == "completed"
    assert history(folder) == history(expected)
    metrics, others = (json.loads((run / "metrics.json").read_text()) for run in (folder, expected))
    assert {**metrics, "seconds": 0} == {**others, "seconds": 0}
    predictions = (folder / "predictions.csv").read_bytes()
    assert predictions == (expected / "predictions.csv").read_bytes()
    names = sorted(path.name for path in (expected / "weights").iterdir())
    assert sorted(path.name for path in (folder / "weights").iterdir()) == names
    for name in names:
        both = [weights(run / "weights" / name) for run in (folder, expected)]
        first, second = ({k: array.tobytes() for k, array in arrays.items()} for arrays in both)
        assert first == second
    assert not list(folder.rglob(".tmp-*"))


def assert_same_runs(commands, expected) -> None:
    """Check that two command lines have made the same runs, one per seed."""
    by_seed = (
        sorted(line.run_folders(), key=lambda folder: folder.name.rpartition("_s")[2])
        for line in (commands, expected)
    )
    for pair in zip(*by_seed, strict=True):
        assert_same_run(*pair)


def assert_resumes_to_the_same_bits(commands, *words: str) -> None:
    """A run of three epochs and one that `resume` continues after two end with equal weights."""
    for epochs in (3, 2):
        code, _, err = commands(*words, f"trainer.epochs={epochs}")
        assert code == 0, err
    whole, resumed = sorted(commands.run_folders(), key=lambda run: -len(history(run)))
    commands.run("resume", resumed, "trainer.epochs=3")
    name = "weights/epoch_003.weights.h5"
    assert (whole / name).read_bytes() == (resumed / name).read_bytes()
