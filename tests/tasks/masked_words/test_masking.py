"""The choice of words to predict and of their replacements, in tests and in training."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from fillers import small_model, some_rows

from attnlab.tasks.masked_words.masking import choose, kinds_of, marked
from attnlab.text.tokenizers import END

WORDS = 50
ROWS = some_rows(WORDS, 30, 4000)
NUMBERS = (ROWS > END).sum(axis=1)
COUNTS = np.minimum(np.maximum(np.round(0.15 * NUMBERS), 1), NUMBERS)  # ties to even


def of_training(rows: np.ndarray):
    """Tokens, places and counts of a training step."""
    model = small_model(WORDS, rows.shape[1])
    keras.utils.set_random_seed(5)
    places, counts = model._chosen(rows)
    return tuple(np.asarray(each) for each in (model._hidden(rows, places, counts), places, counts))


@pytest.fixture(params=["tests", "training"])
def asked(request):
    return choose(ROWS, WORDS, seed=0) if request.param == "tests" else of_training(ROWS)


def test_fifteen_percent_of_each_row_are_chosen_and_nothing_else_changes(asked):
    tokens, places, counts = asked
    assert counts.tolist() == COUNTS.tolist()
    for row, read, own, count in zip(ROWS, tokens, places, counts, strict=True):
        chosen = own[:count]
        assert len({*chosen.tolist()}) == count and (row[chosen] > END).all()
        others = np.delete(np.arange(len(row)), chosen)
        assert np.array_equal(read[others], row[others])


def test_80_percent_are_masked_and_10_replaced(asked):
    tokens, places, counts = asked
    known = np.arange(places.shape[1]) < counts[:, None]
    read, own = (np.take_along_axis(each, places, axis=1)[known] for each in (tokens, ROWS))
    kinds = kinds_of(read, own, WORDS)
    shares = {kind: np.mean(np.array(kinds) == kind) for kind in ("masked", "replaced", "kept")}
    error = 3.5 * np.sqrt(0.16 / len(kinds))
    # One of the 46 words in place of another is at times the same.
    assert shares["masked"] == pytest.approx(0.8, abs=error)
    assert shares["replaced"] == pytest.approx(0.1 * 45 / 46, abs=0.75 * error)
    assert (read > END).all() and {*read.tolist()} >= {*range(4, 50)}


def test_rows_without_words_have_no_chosen_places():
    rows = np.array([[2, 1, 1, 3, 0], [2, 7, 1, 3, 0]], np.int32)
    for _, places, counts in (choose(rows, WORDS, 0), of_training(rows)):
        assert counts.tolist() == [0, 1] and places[1, 0] == 1


def test_the_seed_determines_the_choice():
    first, same, other = (choose(ROWS, WORDS, seed) for seed in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(first, same, strict=True))
    assert not np.array_equal(first.tokens, other.tokens)
    assert first.known.sum() == COUNTS.sum()


def test_kinds_and_marks():
    assert kinds_of(np.array([50, 7, 7]), np.array([7, 8, 7]), 50) == ["masked", "replaced", "kept"]
    assert (marked("[MASK]"), marked("dog")) == ("»[MASK]«", "»dog«")
