"""Source words in place of unknown tokens, by the attention at their steps."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from attnlab.tasks.translation.report import search_rows
from attnlab.tasks.translation.search import Hypothesis
from attnlab.tasks.translation.sentences import copied_words
from attnlab.text.tokenizers import END, UNKNOWN, Tokenizer

ENGLISH = Tokenizer.fit(["I see Tom ."], kind="word")
GERMAN = Tokenizer.fit(["Ich sehe."], kind="word")
TEXTS = ["I see Zeus .", "Zeus and Hera see I .", "I see ."]


class Looking:
    """A model whose layers and heads all attend to the source from its end to its start.

    It needs whole batches: no row may be all padding.
    """

    fixed_length = max_positions = None

    def attention_weights(self, source, target):
        assert (source[:, 0] > 0).all() and (target[:, 0] > 0).all()
        steps, width = target.shape[1], source.shape[1]
        weights = np.zeros((len(source), steps, width))
        for row, length in enumerate((source > 0).sum(axis=1)):
            weights[row, :length, :length] = np.eye(length)[::-1][:steps]
        return np.tile(weights[:, None, None], (1, 2, 3, 1, 1))


def ids(text: str) -> np.ndarray:
    return np.array([*ENGLISH.encode([text])[0], END], np.int32)


def written(*unknown: bool) -> np.ndarray:
    return np.where(unknown, UNKNOWN, 4).astype(np.int32)


def copied(targets, texts=TEXTS, model=None, tokenizer=ENGLISH):
    sources = [ids(text) for text in texts]
    return copied_words(model or Looking(), tokenizer, texts, sources, targets)


def test_the_word_with_the_largest_weight_at_the_step_is_copied():
    targets = [
        written(False, False, True),
        written(False, False, True, False, True, False, True),
        written(),
    ]
    # Step t looks at the word t before END.
    assert copied(targets) == [["Zeus"], ["I", "Hera", "Zeus"], []]


def test_the_mean_over_layers_and_heads_decides():
    model, cross = Looking(), np.zeros((1, 1, 3, 2, 5))
    cross[0, 0, :, 0] = [[0.9, 0.1, 0, 0, 0], [0, 0.6, 0.4, 0, 0], [0, 0.6, 0.4, 0, 0]]
    model.attention_weights = lambda source, target: cross
    assert copied([written(True)], TEXTS[:1], model) == [["see"]]
    cross[..., 3] = 1  # punctuation is no word
    assert copied([written(True)], TEXTS[:1], model) == [["see"]]


def test_nothing_is_copied_without_attention_or_word_tokens():
    model = SimpleNamespace(attention_weights=lambda source, target: None)
    assert copied([written(True)], TEXTS[:1], model) == [[]]
    characters = Tokenizer.fit(["I see"], kind="char")
    assert copied([written(True)], TEXTS[:1], tokenizer=characters) == [[]]


@pytest.mark.parametrize("copy", [True, False])
def test_scored_translations_have_copied_words_if_the_task_says_so(copy):
    tokens = np.array(GERMAN.encode(["Ich sehe Zeus."])[0], np.int32)

    def search(rows):
        return [[Hypothesis(tokens, -1.0, -1.0)] for _ in rows]

    search.model = Looking()
    part = SimpleNamespace(source=[ids(TEXTS[0])], texts=lambda: (TEXTS, TEXTS, None))
    task = SimpleNamespace(copy_unknown=copy, tokenizers=(ENGLISH, GERMAN))
    texts = search_rows(task, search, part, np.array([0]))
    assert texts == ["Ich sehe Zeus." if copy else "Ich sehe ⁇."]
