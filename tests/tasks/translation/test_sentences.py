"""Translating sentences: any text, any length, greedily or by beam search."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from attnlab.attention import BahdanauAttention, LuongGlobalAttention, MultiHeadAttention
from attnlab.attention.none import NoAttention
from attnlab.tasks.translation import sentences
from attnlab.tasks.translation.models.build import build_translator
from attnlab.tasks.translation.sentences import SentenceTranslator
from attnlab.text.cleaning import book_cleaning, cleaner
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


@pytest.fixture(scope="module", autouse=True)
def compiled_once():
    """Let translators with the same model and settings share their search, which is compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentences, "Search", functools.cache(sentences.Search))
        yield


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
    name="transformer", attention=MULTI_HEAD, changes=(), kind="word", most=None, **settings
) -> SentenceTranslator:
    """An untrained model, which no test changes, its tokenizers, and a list of its warnings."""
    model = opinionated(name, attention, kind, most, changes)
    translator = SentenceTranslator(model, tokenizers(kind), extra_length=9, **settings)
    translator.warnings = []
    translator.warn = translator.warnings.append
    return translator


LINES = [
    *("The cat sees a dog.", "", "   \t ", "cat", "xyzzy 你好 🙂", "A dog\x00sees\x07 the cat."),
    *("  The   cat\u00a0sees a dog. ", "<pad> [UNK] </s>", "The cat " * 40, "\ud800 cat", "\r"),
]


@pytest.mark.parametrize("kind", [pytest.param("char", marks=pytest.mark.slow), "bpe"])
def test_any_text_gives_one_line_and_nothing_gives_nothing(kind):
    translator = make_translator(kind=kind)
    found = translator.translate(LINES)
    assert [len(best) for best in found] == [1] * len(LINES)
    for line, (best,) in zip(LINES, found, strict=True):
        assert len(best.text.splitlines()) <= 1 and "\t" not in best.text
        assert (best.source[-1], not line.strip()) == (END, len(best.source) == 1)
        assert not {PAD, START, END} & set(best.target.tolist())
    assert [found[place][0].text for place in (1, 2, 10)] == ["", "", ""]
    assert found[6][0].text == found[0][0].text
    assert translator.translate([]) == []


def test_text_is_cleaned_as_in_training():
    translator = make_translator(clean=book_cleaning)
    found = translator.translate(["the cat sees", "THE cat, sees!", "?! 42"])
    assert found[0][0].text == found[1][0].text
    assert (found[2][0].text, len(found[2][0].source)) == ("", 1)
    small = make_translator(clean=cleaner(lowercase=True)).translate(["the cat", "THE CAT"])
    assert small[0][0].text == small[1][0].text


# --- lengths -----------------------------------------------------------------------------------


def test_a_longer_sentence_than_in_training_gets_one_warning():
    translator = make_translator(longest=7)
    translator.translate(["The cat sees a dog."])
    assert translator.warnings == []
    found = translator.translate(["The cat " * 6, "A man " * 7])
    assert [len(best[0].source) for best in found] == [13, 15]
    assert translator.warnings == [
        "a sentence has 14 tokens, the longest in training had 6: its translation may be poor"
    ]


CUT = [
    ("transformer", MULTI_HEAD, (("positions", "learned"),)),
    ("rnn", functools.partial(LuongGlobalAttention, score="location"), ()),
]


@pytest.mark.parametrize("name, attention, changes", CUT, ids=["learned positions", "location"])
def test_a_sentence_too_long_for_the_model_is_cut_with_a_warning(name, attention, changes):
    translator = make_translator(name, attention, changes, most=8)
    long, cut = translator.translate(["The cat " * 6, "The cat The cat The cat The"])
    assert len(long[0].source) == 8 and long[0].source[-1] == END
    assert long[0].text == cut[0].text
    assert translator.warnings == ["a sentence has 12 tokens; only the first 7 are read"]


def test_memory_bounds_a_sentence():
    translator = make_translator("rnn", BahdanauAttention)
    (best,) = translator.translate(["cat " * 5000])[0]
    assert len(best.source) == 2048
    assert translator.warnings == ["a sentence has 5000 tokens; only the first 2047 are read"]


def test_each_unknown_word_gets_one_warning():
    translator = make_translator(kind="word")
    translator.translate(["The cat sees Zeus.", "Hera sees Zeus."])
    translator.translate(["Zeus sees the cat."])
    assert translator.warnings == ["not in the model's vocabulary, and read as unknown: Zeus, Hera"]
    assert translator.unknown("Hera sees a Zeus.") == ["Hera", "Zeus"]


# --- looking inside ----------------------------------------------------------------------------


def test_maps_are_of_the_translation_that_was_chosen():
    translator = make_translator(beam=3, n_best=3)
    best = translator.translate(["A dog doesn't eat."])[0][0]
    looked = translator.maps(best)
    source, target = (
        ["A", "dog", "doesn't", "eat", ".", "<end>"],
        [*translator.pieces(best)[1], "<end>"],
    )
    assert (looked.source, looked.target) == (source, target)
    sizes = {"source": len(source), "target": len(target)}
    shapes = {name: weights.shape for name, weights in looked.maps.items()}
    assert shapes == {
        "cross": (1, 2, sizes["target"], sizes["source"]),
        "encoder": (1, 2, sizes["source"], sizes["source"]),
        "decoder": (1, 2, sizes["target"], sizes["target"]),
    }
    for weights in looked.maps.values():
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)


def test_maps_equal_the_weights_of_the_search():
    """Stepping through the translation gives the attention weights of the map."""
    translator = make_translator("rnn", BahdanauAttention)
    (best,) = translator.translate(["The cat sees a dog."])[0]
    weights = translator.maps(best).maps["cross"][0, 0]
    memory = translator.model.encode(best.source[None])
    state = translator.model.initial_state(memory, None)
    for index, token in enumerate([START, *best.target]):
        step = translator.model.step(np.array([token], np.int32), np.int32(index), memory, state)
        state = step.state
        np.testing.assert_allclose(step.weights[0, 0], weights[index], atol=1e-5)


def test_a_model_without_attention_has_no_maps():
    translator = make_translator("rnn", NoAttention)
    assert translator.maps(translator.translate(["cat"])[0][0]).maps == {}
