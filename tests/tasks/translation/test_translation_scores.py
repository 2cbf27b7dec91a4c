"""BLEU and chrF, compared with sacreBLEU's published cases and numbers counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attnlab.tasks.translation.scores import bleu_tokens, score, sentence_scores

LONG = ["Ein kleiner Hund läuft über die Straße.", "Zwei Kinder spielen im Park!"]


@pytest.mark.parametrize(
    ("hypotheses", "low", "high"),
    [
        (LONG, 100, 100),
        ([LONG[0], ""], 1, 80),
        (["", ""], 0, 0),
        (["xx yy zz qq vv", "xx yy"], 0, 0),
    ],
)
def test_scores_reach_from_nothing_in_common_to_identical_text(hypotheses, low, high):
    assert low <= score(hypotheses, LONG)["bleu"] <= high
    for values in sentence_scores(hypotheses, LONG).values():
        equal = [text == reference for text, reference in zip(hypotheses, LONG, strict=True)]
        np.testing.assert_array_equal(values == 100, equal)
        assert values.dtype == np.float64


def test_bleu_counted_by_hand():
    # Matching: 8 of 9 tokens, 6 of 7 pairs, 4 of 5 triples, 2 of 3 quadruples.
    hypotheses = ["a b c d e x", "f g h"]
    references = ["a b c d e f", "f g h"]
    precisions = [8 / 9, 6 / 7, 4 / 5, 2 / 3]
    expected = 100 * math.prod(precisions) ** 0.25
    assert score(hypotheses, references)["bleu"] == pytest.approx(expected)


def test_chrf_and_the_bleu_of_a_sentence_are_sacrebleus():
    """Cases of its own tests: tests/test_chrf.py; tests/test_bleu.py with effective order."""
    assert score(["a", "b"], ["a", "c"])["chrf"] == pytest.approx(50)
    assert score(["aa"], ["ab"])["chrf"] == pytest.approx(25)
    scores = sentence_scores(["test", "a test", ""], ["a test"] * 3)["bleu"]
    assert scores == pytest.approx([36.78794411714425, 100, 0])


def test_text_without_spaces_is_cut_as_its_language_is():
    """Fixed: BLEU of right Chinese was 0, because the usual tokenizer doesn't split its words."""
    texts = ["这老狗今天睡得很好。", "我们明天去看电影吧。"]
    assert score(texts, texts)["bleu"] == 0 and score(texts, texts, "zh")["bleu"] == 100
    assert score(texts, texts, "zh-TW")["signatures"]["bleu"].count("tok:zh") == 1
    assert sentence_scores(texts, texts[::-1], "zh")["bleu"].max() < 50
    other = [texts[0].replace("今天", "昨天"), texts[1]]
    from sacrebleu import corpus_bleu

    expected = corpus_bleu(other, [texts], tokenize="zh").score
    assert score(other, texts, "zh")["bleu"] == pytest.approx(expected) and 0 < expected < 100
    codes = {"ja": "char", "THA": "char", "cmn": "zh", "de": "13a"}
    assert {code: bleu_tokens(code) for code in codes} == codes
