"""One paired test over test items, for every kind whose runs have a loss per item."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.declaration import ItemTest, ItemTester, Kind, NoItemTest, Pairs

_RESAMPLES, _MANY = 9999, 1000
_METHOD = "paired permutation test over {count} test {noun}{seeds}"
_SEEDS = " (losses averaged over shared seeds)"


class Losses(NamedTuple):
    """The test items of a run and its loss on each, such as 1 for a wrong answer and 0 for a right.

    Attributes:
        items: what identifies each item, (N,), so that runs can be compared.
        values: (N,) losses.
        noun: the items in a sentence, in the plural.
    """

    items: Sequence[Hashable]
    values: np.ndarray
    noun: str


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
        values: dict[object, np.ndarray] = {}
        first: Losses | None = None
        for path, run in runs.items():
            try:
                run_losses = losses(run.read_predictions(kind.scoring.text_columns), metric)
            except KeyError as error:
                raise RequestError(
                    f"{path / 'predictions.csv'}: damaged: it has no column {error}."
                ) from error
            first = first or run_losses
            if [*run_losses.items] != [*first.items]:
                raise NoItemTest(
                    f"no test over test items: {run.name} has other test items than the others"
                )
            values[path] = run_losses.values
        assert first is not None
        tests: list[ItemTest | None] = []
        for pair in pairs:
            group, reference = (
                np.mean([values[run.path] for run in side], axis=0) for side in pair
            )
            difference = group - reference
            count = len(difference)
            seeds = _SEEDS if len(pair[0]) > 1 else ""
            method = _METHOD.format(count=count, noun=first.noun, seeds=seeds)
            name, p = "permutation test", paired_p(difference)
            statistic = float(difference.mean())
            tests.append(ItemTest(name, "item test p", method, count, p, statistic))
        return tests

    return item_test


def paired_p(difference: np.ndarray) -> float:
    """Return the two-sided p value of a mean difference of 0 between paired losses (N,).

    If both sides are equally good, each difference could as well have the other sign. p is the
    share of sign changes whose mean is at least as far from 0: of all 2^n, or of 9,999 random ones
    for n > 13, where n counts the differences that aren't 0. For n > 1,000 a t test is as exact and
    much faster. For right and wrong answers this is
    McNemar's exact test; it needs no normal distribution, which a t test on a few discordant
    answers would.

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
