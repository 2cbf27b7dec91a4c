"""Statistics of right answers: accuracy with its interval, and tests between runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.declaration import ItemTest, ItemTester, Kind, NoItemTest, Pairs

_NORMAL = 1.959963984540054  # the 0.975 quantile of the standard normal distribution
_ONE = "exact McNemar test over {count} test {items}"
_SEVERAL = (
    "exact sign test over {count} test {items}, each won by more right answers over shared seeds"
)
_OTHER = "; of right answers, whatever the metric"


_EXAMPLES = 8  # test items whose attention is saved


class Answers(NamedTuple):
    """The test items of a run, and which of them it has right."""

    items: Sequence[tuple[str, ...]]  # identifies each item, so that runs can be compared
    right: np.ndarray  # (N,) bool
    noun: str  # the noun for items, in the plural


def wilson_interval(right: int, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share by Wilson's score, which stays within 0 and 1.

    (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n), z = 1.96; Wilson 1927,
    "Probable inference, the law of succession, and statistical inference".
    """
    share, square = right / count, _NORMAL**2
    middle = share + square / (2 * count)
    half = _NORMAL * np.sqrt(share * (1 - share) / count + square / (4 * count**2))
    low, high = (float((middle + way * half) / (1 + square / count)) for way in (-1, 1))
    return max(low, 0.0), min(high, 1.0)


def skill(metrics: Mapping[str, Any], baseline: Mapping[str, Any]) -> float | None:
    """Return 1 - error / baseline's error, with error = 1 - `accuracy`; None if the latter is 0."""
    error, other = (1.0 - each["accuracy"] for each in (metrics, baseline))
    return 1.0 - error / other if other else None


def natural(name: str) -> list[str | int]:
    """Return a sort key that orders numbers in names: `2 nouns` before `10 nouns`."""
    parts = re.split(r"(\d+)", name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


def chosen_examples(right: np.ndarray, most: int = _EXAMPLES) -> np.ndarray:
    """Choose test items at equal distances, half of them wrong if there are enough wrong ones.

    `right` (N,) says which items a model had right.
    """
    kinds = [np.flatnonzero(~right), np.flatnonzero(right)]
    wrong = min(len(kinds[0]), max(most // 2, most - len(kinds[1])))
    counts = [wrong, min(len(kinds[1]), most - wrong)]
    spread = [
        places[np.linspace(0, len(places) - 1, count).astype(int)]
        for places, count in zip(kinds, counts, strict=True)
        if count
    ]
    return np.sort(np.concatenate(spread))


def wrong_first(right: np.ndarray, most: int) -> list[int]:
    """Return the first wrong places, then right ones: half of each if there are enough."""
    wrong, correct = np.flatnonzero(~right).tolist(), np.flatnonzero(right).tolist()
    wrong = wrong[: max(most // 2, most - len(correct))]
    return [*wrong, *correct[: most - len(wrong)]]


def right_answers_tester(
    kind: Kind, answers: Callable[[Mapping[str, np.ndarray]], Answers], accuracy: str = ""
) -> ItemTester:
    """Make the `ItemTester` of a kind; `answers` reads the columns of predictions.csv.

    It always tests right answers, for any metric; see `right_answers_test`. The test is fast, so
    `always` is ignored. `accuracy` is the metric that counts right answers only; "": the reported
    one.
    """
    counting = accuracy or kind.scoring.reported

    def read(run: RunDirectory) -> Answers:
        try:
            return answers(run.read_predictions(kind.scoring.text_columns))
        except KeyError as error:
            path = run.path / "predictions.csv"
            raise RequestError(f"{path}: damaged: it has no column {error}") from error

    def item_test(metric: str, pairs: Pairs, always: bool | None) -> list[ItemTest]:
        return right_answers_test(pairs, read, whole=metric == counting)

    return item_test


def right_answers_test(
    pairs: Pairs,
    answers: Callable[[RunDirectory], Answers],
    *,
    whole: bool,
) -> list[ItemTest]:
    """Run McNemar's exact test on groups of runs, or a sign test if there are several seeds.

    McNemar 1947 counts the items that one of two runs has right and the other wrong. If the runs
    are equally good, either is equally likely to be the right one. With several seeds, the side
    with more right answers over the shared seeds wins an item; ties are dropped. Seeds are not
    counted as further items, which would make p values too small.

    Args:
        pairs: the groups' runs and those of the reference.
        answers: reads the answers of a run.
        whole: whether the metric counts right answers only.

    Raises:
        NoItemTest: the runs have different test items.
        RequestError: a file of a run is missing or damaged.
    """
    runs = {run.path: run for own, base in pairs for run in (*base, *own)}
    right, known, noun = {}, None, ""
    for path, run in runs.items():
        own, right[path], noun = answers(run)
        known = known or own
        if own != known:
            raise NoItemTest(
                f"no test over test items: {run.name} has other test items than the others"
            )
    several = any(len(own) > 1 for own, _ in pairs)
    found = []
    for pair in pairs:
        own, base = (np.sum([right[run.path] for run in side], axis=0) for side in pair)
        lost, won = int(np.sum(own < base)), int(np.sum(own > base))
        method = (_SEVERAL if several else _ONE).format(count=len(own), items=noun)
        method += "" if whole else _OTHER
        p = sign_test(lost, won)
        name = "sign test" if several else "McNemar"
        found.append(ItemTest(name, f"{name} p", method, len(own), p, float(lost - won)))
    return found


def sign_test(lost: int, won: int) -> float:
    """Return the two-sided p value of losses and wins that are equally likely.

    min(1, 2 sum_{i <= min(lost, won)} binomial(n, i) / 2^n), n = lost + won: as the distribution is
    symmetric, the exact binomial test.
    """
    from scipy.special import bdtr

    return min(1.0, 2.0 * float(bdtr(min(lost, won), lost + won, 0.5)))
