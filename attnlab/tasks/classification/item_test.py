"""McNemar's exact test of groups of classifiers; see `attnlab.tasks.right_answers`."""

from __future__ import annotations

from collections.abc import Sequence

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.base import ItemTest
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.report import noun_of
from attnlab.tasks.right_answers import Answers, Runs, right_answers_test


def item_test(metric: str, pairs: Sequence[tuple[Runs, Runs]], always: bool) -> list[ItemTest]:
    """Test groups of classifiers against a reference: an `ItemTester`.

    What is tested are right answers, also where the metric is another one than accuracy. `pairs`
    has of each group its runs and those of the reference, of the same seeds; it takes no time, so
    `always` makes no difference.

    Raises:
        NoItemTest: the items differ.
        RequestError: a predictions.csv is missing or damaged.
    """
    return right_answers_test(pairs, _answers, whole=metric == "accuracy")


def _answers(run: RunDirectory) -> Answers:
    """The items with their classes, and whether the run has each right."""
    table = run.read_predictions(KIND.text_columns)
    try:
        noun = noun_of(table)
        items = list(zip(table[noun].tolist(), table["label"].tolist(), strict=True))
        return Answers(items, table["prediction"] == table["label"], f"{noun}s")
    except KeyError as error:
        path = run.path / "predictions.csv"
        raise RequestError(f"{path}: damaged: it has no column {error}") from error
