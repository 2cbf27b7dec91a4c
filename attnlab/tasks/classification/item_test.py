"""McNemar's exact test of groups of classifiers, a sign test where there are several seeds.

McNemar 1947 counts the items that one of two classifiers has right and the other wrong: where they
are equally good, each such item is as likely the one's as the other's. With several seeds an item
is won by the side with more right answers over the shared seeds, and one won by neither drops out:
seeds are no further items, and would make a test too sure of itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import bdtr

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.base import ItemTest, NoItemTest
from attnlab.tasks.classification.report import noun_of, read_predictions

Runs = Sequence[RunDirectory]

_ONE = "exact McNemar test over {items} test {noun}s"
_SEVERAL = (
    "exact sign test over {items} test {noun}s, each won by more right answers over shared seeds"
)
_OTHER = "; of right answers, whatever the metric"


def item_test(metric: str, pairs: Sequence[tuple[Runs, Runs]], always: bool) -> list[ItemTest]:
    """Test groups of classifiers against a reference: an `ItemTester`.

    What is tested are right answers, also where the metric is another one than accuracy. `pairs`
    has of each group its runs and those of the reference, of the same seeds; it takes no time, so
    `always` makes no difference.

    Raises:
        NoItemTest: the items differ.
        RequestError: a predictions.csv is missing or damaged.
    """
    runs = {run.path: run for own, base in pairs for run in (*base, *own)}
    right, items, noun = {}, None, ""
    for path, run in runs.items():
        noun, own, right[path] = _answers(run)
        items = items or own
        if own != items:
            raise NoItemTest(
                f"no test over test items: {run.name} has other test items than the others"
            )
    several = any(len(own) > 1 for own, _ in pairs)
    found = []
    for pair in pairs:
        own, base = (np.sum([right[run.path] for run in side], axis=0) for side in pair)
        lost, won = int(np.sum(own < base)), int(np.sum(own > base))
        method = (_SEVERAL if several else _ONE).format(items=len(own), noun=noun)
        method += _OTHER if metric != "accuracy" else ""
        p = sign_test(lost, won)
        name = "sign test" if several else "McNemar"
        found.append(ItemTest(name, f"{name} p", method, len(own), p, float(lost - won)))
    return found


def sign_test(lost: int, won: int) -> float:
    """The two-sided p value of so many losses and wins where both are equally likely.

    min(1, 2 sum_{i <= min(lost, won)} binomial(n, i) / 2^n), n = lost + won: as the distribution is
    symmetric, the exact binomial test.
    """
    return min(1.0, 2.0 * float(bdtr(min(lost, won), lost + won, 0.5)))


def _answers(run: RunDirectory) -> tuple[str, list[tuple[str, str]], np.ndarray]:
    """What items are called, the items with their classes, and (N,) whether each is right."""
    table = read_predictions(run)
    try:
        noun = noun_of(table)
        items = list(zip(table[noun].tolist(), table["label"].tolist(), strict=True))
        return noun, items, table["prediction"] == table["label"]
    except KeyError as error:
        path = run.path / "predictions.csv"
        raise RequestError(f"{path}: damaged: it has no column {error}") from error
