"""McNemar's exact test of groups of runs that answer; see `attnlab.tasks.right_answers`."""

from __future__ import annotations

from collections.abc import Sequence

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.answering.kind import KIND
from attnlab.tasks.base import ItemTest
from attnlab.tasks.right_answers import Answers, Runs, right_answers_test


def item_test(metric: str, pairs: Sequence[tuple[Runs, Runs]], always: bool) -> list[ItemTest]:
    """Test groups of runs against a reference: an `ItemTester`.

    What is tested are exact matches, also where the metric is another one. It takes no time, so
    `always` makes no difference.

    Raises:
        NoItemTest: the questions differ.
        RequestError: a predictions.csv is missing or damaged.
    """
    return right_answers_test(pairs, _answers, whole=metric == "exact_match")


def _answers(run: RunDirectory) -> Answers:
    """The questions with an answer each, and whether the run has it."""
    table = run.read_predictions(KIND.text_columns)
    try:
        columns = (table[name].tolist() for name in ("id", "question", "answer"))
        items = list(zip(*columns, strict=True))
        return Answers(items, table["exact_match"] > 0, "questions")
    except KeyError as error:
        path = run.path / "predictions.csv"
        raise RequestError(f"{path}: damaged: it has no column {error}") from error
