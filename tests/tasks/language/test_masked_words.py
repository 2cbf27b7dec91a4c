"""Masked words: masks in texts, the choice of words, the model, baselines."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from language_models import GivenText

from attnlab.attention import MultiHeadAttention
from attnlab.errors import RequestError
from attnlab.tasks.language.baselines import Neighbours, word_baselines
from attnlab.tasks.language.corpora import Sentences
from attnlab.tasks.language.data import PADDING, Rows
from attnlab.tasks.language.masked_words import MaskedWords
from attnlab.tasks.language.models.masked import Guesses, MaskedWordModel
from attnlab.tasks.language.text.masking import (
    best_words,
    choose,
    fill_in,
    labels,
    tokens_of,
)
from attnlab.text.tokenizers import END, Tokenizer

TEXTS = ["The keys to the cabinet are old.", "A key is old, and singing."] * 3
WORDS, WIDTH = 50, 30


def some_rows(count: int = 7) -> np.ndarray:
    """Rows (N, S) of any words, of different lengths; some of the words are unknown."""
    draw = np.random.default_rng(1)
    rows = np.zeros((count, WIDTH), np.int32)
    for number, length in enumerate(draw.integers(1, WIDTH - 1, count)):
        rows[number, : length + 2] = [2, *draw.integers(4, WORDS, length), 3]
        rows[number, 1] = 1 if number else rows[number, 1]
    return rows


ROWS, MANY = some_rows(), some_rows(4000)


def small_model() -> MaskedWordModel:
    """Two layers of multi-head attention, without dropout."""
    keras.utils.set_random_seed(3)
    layers = [MultiHeadAttention(units=6, heads=2) for _ in range(2)]
    sizes = {"vocabulary": WORDS, "most": WIDTH, "units": 6, "feed_forward": 11}
    model = MaskedWordModel(attention=layers, **sizes)
    model.build((None, WIDTH))
    return model


def task_of(text: str = "", **settings) -> MaskedWords:
    return MaskedWords(corpus=GivenText(text), cache=Path("."), **settings)


# Masks in texts


def fitted(kind: str) -> Tokenizer:
    return Tokenizer.fit(TEXTS, kind=kind, lowercase=True, size=300 if kind == "bpe" else None)


@pytest.mark.parametrize(
    "text",
    [
        "The [MASK] to the  cabinet are old.",
        "The keys to the cabinet are [MASK].",
        "[MASK] key is [MASK], and singing.",
    ],
)
def test_masks_dont_change_the_tokens_around_them(text):
    """The mask replaces the token of the whole text."""
    for kind in ["word", "bpe"]:
        tokenizer = fitted(kind)
        tokens = tokens_of(tokenizer, text)
        whole = next(item for item in TEXTS if item.startswith("The") == ("cabinet" in text))
        whole_tokens = tokenizer.encode([whole])[0]
        first, last = tokens.index(tokenizer.size), tokens[::-1].index(tokenizer.size)
        assert tokens.count(tokenizer.size) == text.count("[MASK]")
        assert (
            tokens[:first] == whole_tokens[:first]
            and tokens[len(tokens) - last :] == whole_tokens[-last:]
        )


def test_the_best_words_exclude_special_tokens_and_have_probabilities():
    tokenizer = fitted("word")
    logits = np.zeros((1, tokenizer.size))
    logits[0, :4] = 9
    logits[0, 5], logits[0, 7] = np.log(3), np.log(2)
    ((words, shares),) = (
        zip(*result, strict=True) for result in best_words(tokenizer, logits, 1000)
    )
    assert len(words) == tokenizer.size - 4
    assert [*words[:2]] == labels(tokenizer, [5, 7])
    assert shares[0] == pytest.approx(3 / (5 + tokenizer.size - 6)) and sum(
        shares
    ) == pytest.approx(1)
    assert logits[0, 0] == 9  # it is left as it was


def test_filled_in_texts_are_otherwise_unchanged():
    for text, words, expected in [
        ("the [MASK] is [MASK].", ["key", "old"], "the key is old."),
        ("[MASK]", ["key"], "key"),
        ("it is sing [MASK] now", ["·ing"], "it is singing now"),
        ("a [MASK] b", ["·"], "a · b"),
    ]:
        assert fill_in(text, [[(word, 0.5)] for word in words]) == expected


# The choice of words


def of_training(rows: np.ndarray) -> Rows:
    """The rows and words of a training step."""
    model = small_model()
    keras.utils.set_random_seed(5)
    places, counts = model._choose(rows)
    targets = np.full_like(rows, PADDING)
    for row, (columns, count) in enumerate(
        zip(np.asarray(places), np.asarray(counts), strict=True)
    ):
        targets[row, columns[:count]] = rows[row, columns[:count]]
        assert len({*columns[:count].tolist()}) == count
    return Rows(np.asarray(model._hide(rows, places, counts)), targets)


@pytest.fixture(params=["tests", "training"])
def chosen(request):
    return choose(MANY, WORDS, seed=0) if request.param == "tests" else of_training(MANY)


def test_fifteen_percent_of_each_row_are_chosen_and_nothing_else_changes(chosen):
    numbers = (MANY > END).sum(axis=1)
    expected = np.minimum(np.maximum(np.round(0.15 * numbers), 1), numbers)  # ties to even
    is_chosen = chosen.targets != PADDING
    assert is_chosen.sum(axis=1).tolist() == expected.tolist()
    assert (MANY[is_chosen] > END).all() and np.array_equal(
        chosen.targets[is_chosen], MANY[is_chosen]
    )
    assert np.array_equal(chosen.tokens[~is_chosen], MANY[~is_chosen])


def test_80_percent_are_masked_and_10_replaced(chosen):
    is_chosen = chosen.targets != PADDING
    tokens, words = chosen.tokens[is_chosen], MANY[is_chosen]
    error = 3.5 * np.sqrt(0.16 / len(words))
    # One of the 46 words in place of another is at times the same.
    assert np.mean(tokens == WORDS) == pytest.approx(0.8, abs=error)
    replaced = (tokens != WORDS) & (tokens != words)
    assert np.mean(replaced) == pytest.approx(0.1 * 45 / 46, abs=0.75 * error)
    assert (tokens > END).all() and {*tokens.tolist()} >= {*range(4, 50)}


def test_rows_without_words_have_no_chosen_places():
    rows = np.zeros((2, WIDTH), np.int32)
    rows[:, :5] = [[2, 1, 1, 3, 0], [2, 7, 1, 3, 0]]
    for result in (choose(rows, WORDS, 0), of_training(rows)):
        assert np.argwhere(result.targets != PADDING).tolist() == [[1, 1]]


# The model


def test_the_output_is_tied_to_the_embeddings_except_the_masks():
    model = small_model()
    model.bias.assign(np.linspace(-1, 1, WORDS))
    vectors = model.encoder(ROWS).vectors
    dense = keras.ops.gelu(
        vectors @ model.transform.kernel + model.transform.bias, approximate=False
    )
    embeddings = np.asarray(model.encoder.embedding.embeddings)
    expected = np.asarray(model.norm(dense)) @ embeddings[:WORDS].T + np.linspace(-1, 1, WORDS)
    np.testing.assert_allclose(model(ROWS), expected, rtol=1e-5, atol=1e-6)
    places = np.array([[1, 2]] * len(ROWS), np.int32)
    np.testing.assert_allclose(model.logits_at(ROWS, places), expected[:, 1:3], atol=1e-5)
    shapes = [tuple(weight.shape) for weight in model.weights]
    assert sorted(shape for shape in shapes if {WORDS, WORDS + 1} & {*shape}) == [
        *((WORDS,), (WORDS + 1, 6))
    ]


def test_padding_changes_nothing():
    model = small_model()
    shorter = ROWS[ROWS[:, 20] == 0][:, :20]
    assert len(shorter)
    whole = np.asarray(model(np.pad(shorter, ((0, 0), (0, 7)))))[:, :20]
    np.testing.assert_allclose(np.asarray(model(shorter)), whole, atol=1e-6)


def test_the_loss_is_the_mean_cross_entropy_over_the_words_that_count():
    draw = np.random.default_rng(0)
    logits = draw.normal(size=(3, 2, 7)).astype(np.float32)
    places, counts = np.array([[3, 1], [2, 4], [1, 2]]), np.array([2, 1, 0])
    target = draw.integers(4, 7, (3, 5))
    losses = np.asarray(MaskedWords.loss(target, Guesses(logits, places, counts)))
    logs = np.log(np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True))
    logarithms = [-logs[0, 0, target[0, 3]], -logs[0, 1, target[0, 1]], -logs[1, 0, target[1, 2]]]
    np.testing.assert_allclose(
        losses, [(logarithms[0] + logarithms[1]) / 2, logarithms[2], 0], rtol=1e-5
    )


def test_training_draws_new_words_and_all_weights_learn():
    model = small_model()
    with tf.GradientTape() as tape:
        first = model(ROWS, training=True)
        loss = tf.reduce_sum(MaskedWords.loss(ROWS, first))
    assert all(g is not None for g in tape.gradient(loss, model.trainable_variables))
    assert not np.array_equal(first.places, model(ROWS, training=True).places)


# Baselines

# Words 4 to 7; START 2, END 3, PAD 0, unknown 1.
TRAIN = np.array([[2, 4, 5, 4, 3, 0], [2, 4, 6, 1, 3, 0], [2, 4, 5, 3, 0, 0]])
MASK = 8


def by_hand(left: int | None, right: int | None) -> np.ndarray:
    """P of words 4 to 7, by counting."""
    rows = [[token for token in row if token] for row in TRAIN.tolist()]
    total = sum(map(len, rows))
    result = []
    for word in range(4, 8):
        count = sum(row.count(word) for row in rows)
        share = (count + 1) / (7 + 4)
        for beside, step in ((left, -1), (right, 1)):
            if beside is None:
                continue
            pairs = sum(
                row[at] == word and row[at + step] == beside
                for row in rows
                for at in range(1, len(row) - 1)
            )
            near = sum(row.count(beside) for row in rows) / total
            share *= (pairs + 0.1 * near) / (count + 0.1)
        result.append(share)
    return np.array(result) / np.sum(result)


def test_neighbours_are_naive_bayes():
    for left, right in [(4, 3), (2, 5), (4, MASK), (MASK, 4), (MASK, MASK)]:
        model = Neighbours(TRAIN, MASK)
        (result,) = np.exp(model.log_shares(np.array([left]), np.array([right])))
        sides = (None if side == MASK else side for side in (left, right))
        assert result[4:] == pytest.approx(by_hand(*sides), rel=1e-6)
        assert result[:4].sum() == pytest.approx(0, abs=1e-9)


def test_baselines_are_scored_at_the_chosen_places():
    tokens = np.array([[2, 4, MASK, 4, 3], [2, MASK, 6, 3, 0]], np.int32)
    targets = np.full_like(tokens, PADDING)
    targets[0, 2], targets[1, 1] = 5, 4
    result = word_baselines(TRAIN, Rows(tokens, targets).scored(), MASK)
    words, losses = result["frequency"]
    assert words.tolist() == [4, 4] and losses == pytest.approx(-np.log([3 / 11, 5 / 11]))
    words, losses = result["neighbours"]
    expected = [by_hand(4, 4), by_hand(2, 6)]
    assert words.tolist() == [4 + int(shares.argmax()) for shares in expected] == [5, 4]
    assert losses == pytest.approx(-np.log([expected[0][1], expected[1][0]]))


# The task


def test_the_words_to_predict_dont_depend_on_the_seed():
    tasks = [MaskedWords(corpus=Sentences(sentences=100), cache=Path(".")) for _ in range(2)]
    first, second = (task.load(seed).parts["test"] for seed, task in enumerate(tasks))
    assert np.array_equal(first.tokens, second.tokens)
    assert tasks[0].data.digest == tasks[1].data.digest
    assert tasks[0].data.counts() == {"train": 100, "validation": 500, "test": 500}


def test_unknown_words_are_noted_and_not_predicted():
    task = task_of("a b c d e f g\n" * 20, vocabulary=8)
    data = task.load()
    assert any("none is predicted" in note for note in data.notes)
    targets = data.parts["test"].targets
    assert (targets[targets != PADDING] > END).all()


def test_a_saved_task_needs_the_same_settings(tmp_path):
    text = "the old dog sleeps\n" * 20
    task = task_of(text)
    task.load()
    task.save(tmp_path)
    other = task_of(text)
    other.load_from(tmp_path)
    rows = other.rows(["the [MASK] dog"])
    assert other.width == task.width and np.array_equal(rows, task.rows(["the [MASK] dog"]))
    assert other.names[rows[0]].tolist() == ["<start>", "the", "[MASK]", "dog", "<end>", ""]
    with pytest.raises(RequestError, match="expected the settings"):
        task_of(text, max_length=9).load_from(tmp_path)
    (tmp_path / "masked_words.json").unlink()
    with pytest.raises(RequestError, match="damaged or missing: "):
        other.load_from(tmp_path)
