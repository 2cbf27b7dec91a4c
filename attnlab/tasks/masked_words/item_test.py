"""McNemar's exact test of groups of runs; see `attnlab.tasks.right_answers`."""

from __future__ import annotations

from collections.abc import Sequence

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.base import ItemTest
from attnlab.tasks.masked_words.kind import KIND
from attnlab.tasks.right_answers import Answers, Runs, right_answers_test


def item_test(metric: str, pairs: Sequence[tuple[Runs, Runs]], always: bool) -> list[ItemTest]:
    """Test groups of runs against a reference: an `ItemTester`.

    Raises:
        NoItemTest: the words differ.
        RequestError: a predictions.csv is missing or damaged.
    """
    return right_answers_test(pairs, _answers, whole=metric == "accuracy")


def _answers(run: RunDirectory) -> Answers:
    """The words that were asked for, and whether the run has each right."""
    table = run.read_predictions(KIND.text_columns)
    try:
        columns = (table[name].tolist() for name in ("text", "word"))
        items = list(zip(*columns, strict=True))
        return Answers(items, table["right"] > 0, "words")
    except KeyError as error:
        path = run.path / "predictions.csv"
        raise RequestError(f"{path}: damaged: it has no column {error}") from error
