"""One paired test over test items, for every kind whose runs have a loss per item."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.kinds import ItemTest, ItemTester, Kind, NoItemTest, Pairs

_RESAMPLES, _MANY = 9999, 1000


class Losses(NamedTuple):
    """The test items of a run and its loss on each, such as 1 for a wrong answer."""

    items: Sequence[Hashable]  # what identifies each item, so that runs can be compared
    values: np.ndarray  # (N,) losses
    noun: str  # the items in a sentence, in the plural


def paired_tester(
    kind: Kind, losses: Callable[[Mapping[str, np.ndarray], str], Losses]
) -> ItemTester:
    """Return the `ItemTester` of a kind.

    The losses of a group's runs are averaged per item first, so that seeds don't count as further
    items, which would make p values too small. See `paired_p` for the test.

    Args:
        kind: the kind.
        losses: returns the losses from the columns of predictions.csv and the metric's name; raises
            `NoItemTest` if there are none for this metric.
    """

    def item_test(metric: str, pairs: Pairs, always: bool | None) -> list[ItemTest | None]:
        runs = {run.path: run for group, reference in pairs for run in (*reference, *group)}
        by_path: dict[object, Losses] = {}
        for path, run in runs.items():
            try:
                by_path[path] = losses(run.read_predictions(kind.scoring.text_columns), metric)
            except KeyError as error:
                raise RequestError(
                    f"{path / 'predictions.csv'}: damaged: it has no column {error}."
                ) from error
            first = next(iter(by_path.values()))
            if [*by_path[path].items] != [*first.items]:
                raise NoItemTest(
                    f"no test over test items: {run.name} has other test items than the others"
                )
        tests: list[ItemTest | None] = []
        for pair in pairs:
            group, reference = (
                np.mean([by_path[run.path].values for run in side], axis=0) for side in pair
            )
            difference = group - reference
            count = len(difference)
            method = f"paired permutation test over {count} test {first.noun}"
            name, p = "permutation test", paired_p(difference)
            statistic = float(difference.mean())
            tests.append(ItemTest(name, method, count, p, statistic))
        return tests

    return item_test


def paired_p(difference: np.ndarray) -> float:
    """Return the two-sided p value of a mean difference of 0 between paired losses (N,).

    If both sides are equally good, each difference could as well have the other sign. p is the
    share of sign changes whose mean is at least as far from 0: of all 2^n, or of 9,999 random ones
    for n > 13, where n counts the differences that aren't 0. For right and wrong answers this is
    McNemar's exact test. For n > 1,000 a t test is as exact and much faster.

    Source: Fisher 1935, "The Design of Experiments"; `scipy.stats.permutation_test`.
    """
    from scipy.stats import permutation_test, ttest_1samp

    different = difference[difference != 0]
    if len(different) < 2:
        return 1.0  # both signs are as far from 0
    if len(different) > _MANY:
        return float(ttest_1samp(difference, 0).pvalue)
    result = permutation_test(
        (different,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=_RESAMPLES,
        batch=max(1, 1_000_000 // len(different)),
        random_state=np.random.default_rng(0),
    )
    return float(result.pvalue)
