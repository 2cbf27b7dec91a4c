"""Attention maps of sentences: their word alignments, and what a run records of them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.tasks.translation.attention_maps import (
    _LONGER,
    alignment,
    error_rate,
    predicted_links,
    recorded_examples,
)
from attnlab.text.tokenizers import END, START, Tokenizer


def links_of(table, *words, shift=0):
    return predicted_links(np.array(table), *words, shift)


@st.composite
def alignments(draw):
    """A source word for each target word, with the tokens of each word."""
    pieces = st.lists(st.integers(1, 3), min_size=1, max_size=5)
    source, target = draw(pieces), draw(pieces)
    chosen = [draw(st.integers(0, len(source) - 1)) for _ in target]
    return (
        np.repeat(np.arange(len(source)), source),
        np.repeat(np.arange(len(target)), target),
        chosen,
    )


@given(alignments(), st.integers(0, 1))
def test_a_perfect_map_gives_the_links_of_its_words(case, shift):
    """Each token attends to all pieces of the right word, a little to the others, most to END."""
    source_words, target_words, chosen = case
    noise = np.random.default_rng(0).random((len(target_words) + 1 + shift, len(source_words) + 1))
    table = 0.01 * noise
    table[:, -1] = 5
    for token, word in enumerate(target_words):
        right = source_words == chosen[word]
        table[token + shift, :-1][right] = 1 / right.sum()
    gold = {(source, target) for target, source in enumerate(chosen)}
    assert links_of(table, source_words, target_words, shift=shift) == gold


def test_neither_end_and_padding_nor_empty_sentences_have_links():
    table = [[0.1, 0.2, 0.7, 0.0], [0.0, 0.0, 0.9, 0.1], [0.5, 0.5, 0.0, 0.0]]
    assert links_of(table, [0, 1], [0, 1]) == {(1, 0)}  # the second word looks at END alone
    assert links_of([[1.0]], [], []) == links_of([[1.0], [1.0]], [], [0]) == set()


def test_error_rates_counted_by_hand():
    # A = {00, 11, 21}, S = {00, 12}: 1 - 2 * 1 / (3 + 2).
    first = {(0, 0), (1, 1), (2, 1)}, frozenset({(0, 0), (1, 2)})
    assert error_rate([first]) == pytest.approx(0.6)
    # Links are counted over all sentences.
    assert error_rate([first, ({(0, 0)}, {(0, 0)})]) == pytest.approx(1 - 4 / 7)
    assert error_rate([]) == error_rate([(set(), frozenset())]) == 0


# --- a whole part ------------------------------------------------------------------------------

PAIRS = [("a b c", "x y z", "0-2 1-1 2-0"), ("b a", "y x", "0-1 1-0")]
SOURCES, TARGETS, LINKED = map(list, zip(*PAIRS, strict=True))
TOKENIZERS = Tokenizer.fit(SOURCES, kind="word"), Tokenizer.fit(TARGETS, kind="word")


class Rows(list):
    """Rows of tokens, as a part has them."""

    @property
    def lengths(self):
        return np.array([*map(len, self)])

    def pad(self, numbers, width):
        return np.array([np.pad(self[n], (0, width - len(self[n]))) for n in numbers])


def part(linked=True):
    """The test part of PAIRS."""
    sources, targets = (
        tokenizer.encode(texts)
        for tokenizer, texts in zip(TOKENIZERS, (SOURCES, TARGETS), strict=True)
    )
    return SimpleNamespace(
        source=Rows(np.array([*row, END], np.int32) for row in sources),
        target=Rows(np.array([START, *row, END], np.int32) for row in targets),
        texts=lambda: (SOURCES, TARGETS, LINKED if linked else None),
    )


def looking(*, late: int = 0, layers: int = 1):
    """A model that attends to the right word, `late` steps after predicting it."""

    def attend(source, target):
        steps = target.shape[1]
        weights = np.full((len(source), layers, 1, steps, source.shape[1]), 1e-3)
        for row, ids in enumerate(source):
            words = np.count_nonzero(ids) - 1
            for step in range(min(words, steps - late)):
                weights[row, -1, 0, step + late, words - 1 - step] = 1.0
        return weights

    return SimpleNamespace(attention_weights=attend, fixed_length=None, max_positions=None)


BLIND = SimpleNamespace(attention_weights=lambda *_: None, fixed_length=None, max_positions=None)


@pytest.mark.parametrize(
    ("late", "right", "wrong"),
    [(0, "error_rate", "shifted_error_rate"), (1, "shifted_error_rate", "error_rate")],
)
def test_right_maps_have_no_error_at_their_step(late, right, wrong):
    rates = alignment(TOKENIZERS, looking(late=late), part())
    assert set(rates) == {right, wrong}
    assert rates[right] == 0 and rates[wrong] > 0.3


def test_without_gold_links_or_attention_there_is_no_alignment():
    assert alignment(TOKENIZERS, looking(), part(linked=False)) is None
    assert alignment(TOKENIZERS, BLIND, part()) is None


# --- what a run records ------------------------------------------------------------------------


def saying(text):
    """A search that translates everything alike."""
    tokens = np.array(TOKENIZERS[1].encode([text])[0], np.int32)
    return lambda rows: [[SimpleNamespace(tokens=tokens)] for _ in rows]


def test_recorded_examples_have_labels_weights_and_gold_links():
    arrays = recorded_examples(TOKENIZERS, looking(layers=2), saying("y x"), part())
    assert arrays["source"].tolist() == [["b", "a", "<end>"]] * 2  # the shorter one, twice
    assert arrays["target"].tolist() == [["y", "x", "<end>"]] * 2
    assert arrays["reference"].tolist() == [["y", "x"]] * 2
    assert np.argwhere(arrays["links"][0]).tolist() == [[0, 1], [1, 0]]
    assert arrays["cross"].shape == (2, 2, 1, 3, 3) and arrays["cross"].dtype == np.float16
    assert arrays["cross"][0, 1, 0].argmax(axis=1)[:2].tolist() == [1, 0]
    assert "links" not in recorded_examples(TOKENIZERS, looking(), saying("x"), part(False))
    assert recorded_examples(TOKENIZERS, BLIND, saying("x"), part()) is None


def test_a_translation_without_end_is_cut():
    arrays = recorded_examples(TOKENIZERS, looking(), saying("x " * 50), part())
    assert arrays["target"].shape[1] == arrays["cross"].shape[3] == 3 + _LONGER
    assert "<end>" not in arrays["target"]
