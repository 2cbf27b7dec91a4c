"""Compare groups of language models over the same windows of the test text, or the same answers."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.accuracy_tests import Answers, right_answers_tester
from attnlab.tasks.declaration import ItemTest, NoItemTest, Pairs
from attnlab.tasks.language.kind import KIND

_METHOD = "paired t test over {count} windows of the test text (losses averaged over shared seeds)"


def windows_test(metric: str, pairs: Pairs, always: bool | None) -> list[ItemTest | None]:
    """Run a paired t test on the mean loss per window; see `ItemTester`.

    t = mean(d) / sqrt(var(d) / n), with the differences d of the windows' losses, each the mean
    over a group's runs, so that a window counts once. It is fast, so `always` is ignored.

    Raises:
        NoItemTest: the runs have different windows, or none.
        RequestError: a predictions.csv is missing or damaged.
    """
    runs = {run.path: run for own, base in pairs for run in (*base, *own)}
    losses, known = {}, None
    for path, run in runs.items():
        windows, losses[path] = _losses(run)
        known = windows if known is None else known
        if not np.array_equal(windows, known):
            raise NoItemTest(
                f"no test over test items: {run.name} has other test windows than the others"
            )
    found: list[ItemTest | None] = []
    for pair in pairs:
        own, base = (np.mean([losses[run.path] for run in side], axis=0) for side in pair)
        found.append(_paired(own - base))
    return found


def _losses(run: RunDirectory) -> tuple[np.ndarray, np.ndarray]:
    """Return what identifies the windows of a run, and their losses per byte."""
    columns = run.read_predictions(KIND.scoring.text_columns)
    if not columns.keys() >= {"window", "text", "bytes", "nats"}:
        raise NoItemTest(f"no test over test items: {run.name} has no windows of a text")
    sizes = columns["bytes"].astype(float)
    return np.stack([columns["text"], sizes.astype(str)]), columns["nats"] / sizes


def _paired(difference: np.ndarray) -> ItemTest | None:
    """Return the test; None for fewer than three windows, or equal differences."""
    from scipy.special import stdtr

    count = len(difference)
    spread = float(difference.std(ddof=1)) if count > 2 else 0.0
    if not spread > 1e-12 * float(np.abs(difference).max(initial=0.0)):
        return None
    statistic = float(difference.mean()) / (spread / math.sqrt(count))
    p = float(2 * stdtr(count - 1, -abs(statistic)))
    return ItemTest("t test", "t test p", _METHOD.format(count=count), count, p, statistic)


def _answers(columns: Mapping[str, np.ndarray], longer: bool = False) -> Answers:
    """Return the answers of the rows, or of the longer ones, and whether each is predicted."""
    own = (columns["longer"] > 0) == longer if "longer" in columns else slice(None)
    names = (columns[name][own].tolist() for name in ("row", "place", "answer"))
    items = [tuple(map(str, each)) for each in zip(*names, strict=True)]
    return Answers(items, columns["right"][own] > 0, "answers")


def _longer_answers(columns: Mapping[str, np.ndarray]) -> Answers:
    return _answers(columns, longer=True)


answers_test = right_answers_tester(KIND, _answers, "accuracy")
longer_answers_test = right_answers_tester(KIND, _longer_answers, "accuracy_longer")
