"""Translating sentences: any text, any length, greedily or by beam search."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import pytest

from attnlab.attention import LuongGlobalAttention, MultiHeadAttention
from attnlab.tasks.translation.models.build import build_translator
from attnlab.tasks.translation.search import Search
from attnlab.tasks.translation.sentences import SentenceTranslator
from attnlab.tasks.translation.tokenized import TextSettings
from attnlab.text.tokenizers import END, PAD, START, Tokenizer

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

ENGLISH = ["The cat sees a dog.", "A man doesn't sleep!", "Two dogs eat the old bread, I think."]
GERMAN = ["Die Katze sieht einen Hund.", "Ein Mann schläft nicht!", "Wie geht's, großer Hund?"]
RNN = {"cell": "simple", "units": 8, "embedding": 8, "encoder_units": 4}
TRANSFORMER = {"units": 8, "layers": 1, "heads": 2, "feed_forward": 16}
MULTI_HEAD = functools.partial(MultiHeadAttention, heads=2)


@functools.cache
def tokenizers(kind: str) -> tuple[Tokenizer, Tokenizer]:
    size = 300 if kind == "bpe" else None
    return tuple(Tokenizer.fit(texts, kind=kind, size=size) for texts in (ENGLISH, GERMAN))


class Task(NamedTuple):
    """What a translator of sentences uses of its task."""

    tokenizers: tuple[Tokenizer, Tokenizer]
    text: TextSettings
    copy_unknown: bool = False


@functools.cache
def search_by(model, **settings) -> Search:
    """A search, which is compiled."""
    return Search(model, extra_length=9, **settings)


@functools.cache
def opinionated(name: str, attention, kind: str, most: int | None, changes: tuple = ()):
    """An untrained model with clearly different logits."""
    source, target = tokenizers(kind)
    sizes = {"source_size": source.size, "target_size": target.size}
    settings = {**(RNN if name == "rnn" else TRANSFORMER), **dict(changes)}
    model = build_translator(name, settings, attention, max_source=most, max_target=most, **sizes)
    draw = np.random.default_rng(5)
    for weight in model.trainable_variables:
        weight.assign(weight + 0.5 * draw.normal(size=weight.shape))
    return model


def make_translator(
    name="transformer",
    attention=MULTI_HEAD,
    changes=(),
    kind="word",
    most=None,
    text=None,
    **settings,
) -> SentenceTranslator:
    """A translator with an untrained model, which no test changes."""
    model = opinionated(name, attention, kind, most, changes)
    task = Task(tokenizers(kind), TextSettings(**text or {}))
    return SentenceTranslator(task, search_by(model, **settings))


LINES = [
    *("The cat sees a dog.", "", "   \t ", "cat", "xyzzy 你好 🙂", "A dog\x00sees\x07 the cat."),
    *("  The   cat\u00a0sees a dog. ", "<pad> [UNK] </s>", "The cat " * 40, "\ud800 cat", "\r"),
]


@pytest.mark.parametrize("kind", [pytest.param("char", marks=pytest.mark.slow), "bpe"])
def test_any_text_gives_one_line_and_nothing_gives_nothing(kind):
    translator = make_translator(kind=kind)
    translated = translator.translate(LINES)
    assert [len(best) for best in translated] == [1] * len(LINES)
    for line, (best,) in zip(LINES, translated, strict=True):
        assert len(best.text.splitlines()) <= 1 and "\t" not in best.text
        assert (best.source[-1], not line.strip()) == (END, len(best.source) == 1)
        assert not {PAD, START, END} & set(best.target.tolist())
    assert [translated[place][0].text for place in (1, 2, 10)] == ["", "", ""]
    assert translated[6][0].text == translated[0][0].text
    assert translator.translate([]) == []


def test_text_is_cleaned_as_in_training():
    book = make_translator(text={"clean": "book"})
    (one,), (other,), (empty,) = book.translate(["the cat sees", "THE cat, sees!", "?! 42"])
    assert one.text == other.text and (empty.text, len(empty.source)) == ("", 1)
    (one,), (other,) = make_translator(text={"lowercase": True}).translate(["the cat", "THE CAT"])
    assert one.text == other.text


CUT = [
    ("transformer", MULTI_HEAD, (("positions", "learned"),)),
    ("rnn", functools.partial(LuongGlobalAttention, score="location"), ()),
]


@pytest.mark.parametrize("name, attention, changes", CUT, ids=["learned positions", "location"])
def test_a_sentence_too_long_for_the_model_is_cut(name, attention, changes):
    translator = make_translator(name, attention, changes, most=8)
    (long,), (cut,) = translator.translate(["The cat " * 6, "The cat The cat The cat The"])
    assert len(long.source) == translator.longest == 8 and long.source[-1] == END
    assert long.text == cut.text


# --- looking inside ----------------------------------------------------------------------------


def test_weights_are_of_the_translation_that_was_chosen():
    translator = make_translator(beam=3, n_best=3)
    best = translator.translate(["A dog doesn't eat."])[0][0]
    source, target = translator.pieces(best)
    assert source == ["A", "dog", "doesn't", "eat", ".", "<end>"] and target[-1] == "<end>"
    weights = translator.weights(best)
    assert weights.shape == (1, 2, len(target), len(source))
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
