"""Generated passages: the promises about texts, questions and answers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import pytest

from attnlab.tasks.answering.baselines import baselines
from attnlab.tasks.answering.corpora.corpus import divided
from attnlab.tasks.answering.corpora.passages import Passages
from attnlab.tasks.answering.report import measured
from attnlab.text.cleaning import text_key


@pytest.fixture(scope="module")
def parts():
    return divided(Passages(questions=1200), seed=0)


def test_parts_have_the_promised_sizes_and_share_no_text(parts):
    assert {name: len(part) for name, part in parts.items()} == {
        **{"train": 1200, "validation": 1000, "test": 1000}
    }
    texts = [{text_key(each.text) for each in part} for part in parts.values()]
    assert not texts[0] & texts[1] and not texts[0] & texts[2] and not texts[1] & texts[2]
    assert len({each.id for part in parts.values() for each in part}) == 3200


def test_answers_are_at_their_positions(parts):
    for each in parts["train"]:
        (answer,) = each.answers
        assert each.text[answer.start : answer.end] == answer.text


def test_each_passage_has_one_question_per_question_word(parts):
    by_text = defaultdict(Counter)
    for each in parts["test"]:
        by_text[each.text][each.group] += 1
    assert {tuple(sorted(counts.items())) for counts in by_text.values()} == {
        (("when", 1), ("where", 1), ("who", 1), ("whom", 1))
    }


def test_only_one_sentence_contains_all_parts_of_a_question(parts):
    """Each part of it is also in another sentence, so no single word identifies the sentence."""
    for each in parts["train"]:
        named = re.sub(r"^\w+ (did |was )?|\?$| by\b", "", each.question.lower())
        words = set(named.split()) - {"the"}
        sentences = re.findall(r"[^.]+\.", each.text)
        holding = [place for place, text in enumerate(sentences) if _has_all(text, words)]
        start = each.answers[0].start
        (right,) = holding
        before = sum(len(text) for text in sentences[:right])
        assert before <= start < before + len(sentences[right])


def _has_all(sentence: str, words: set[str]) -> bool:
    """Whether a sentence has all words, verbs in any form."""
    found = set(re.findall(r"\w+", sentence.lower()))
    return all(any(_same(word, other) for other in found) for word in words)


def _same(word: str, other: str) -> bool:
    forms = [("met", "meet"), ("saw", "seen", "see"), ("found", "find"), ("paid", "pay")]
    forms += [("heard", "hear"), ("chose", "chosen", "choose"), ("forgot", "forgotten", "forget")]
    if any(word in group and other in group for group in forms):
        return True
    return other in (word, f"{word}d", f"{word}ed") or word in (f"{other}d", f"{other}ed")


def test_baselines_answer_few_questions(parts):
    found = baselines(parts["train"], parts["test"])
    scores = {name: 100 * measured(parts["test"], own)["exact_match"].mean()
              for name, own in found.items()}  # fmt: skip
    assert scores.keys() == {"position", "sentence", "phrase"}
    assert max(scores.values()) < 20


def test_seeds_give_other_passages_and_larger_corpora_start_alike():
    some, more = (list(Passages(questions=size).items()) for size in (100, 140))
    assert more[:100] == some
    assert [*Passages(questions=100, seed=1).items()][0].text != some[0].text
    assert Passages(seed=1).digest() != Passages().digest()
