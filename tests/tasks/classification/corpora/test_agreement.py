"""The sentences of data=agreement: balanced, twins in one part, and no shortcut to the class."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from typing import NamedTuple

import pytest

from attnlab.tasks.classification.corpora.agreement import Agreement
from attnlab.text.agreement import VERSION
from attnlab.text.cleaning import text_key

# Independent of the grammar: none of its tables is used here.
PLURALS = {"men", "women", "children", "people", "mice"}
PRESENT = set("is are was were looks look seems seem appears appear stays stay".split())
PRESENT |= set("remains remain becomes become stands stand waits wait".split())
PRESENT |= set("sleeps sleep sits sit runs run lives live plays play works work".split())


class Parsed(NamedTuple):
    """The numbers in a sentence; True is plural."""

    first: bool  # the first noun
    subject: bool
    between: list[bool]  # the nouns between subject and verb
    verb: bool

    @property
    def attractors(self) -> int:
        return sum(noun != self.subject for noun in self.between)


def is_plural(noun: str) -> bool:
    return noun in PLURALS or noun.endswith("s")


def parse(text: str) -> Parsed:
    """Subject: the first noun, after a comma if there is one. Verb: the first in the present."""
    assert re.fullmatch(r"[A-Z][a-z]+( [a-z]+,?)+\.", text), text
    words = text.lower().rstrip(".").replace(",", " ,").split()
    nouns = [at + 1 for at, word in enumerate(words) if word == "the"]
    clause = words.index(",") + 1 if "," in words else 0
    subject = next(at for at in nouns if at > clause)
    (verb,) = [at for at in range(subject, len(words)) if words[at] in PRESENT]
    between = [is_plural(words[at]) for at in nouns if subject < at < verb]
    singular = words[verb] in ("is", "was") or words[verb].endswith("s")
    return Parsed(is_plural(words[nouns[0]]), is_plural(words[subject]), between, not singular)


@pytest.fixture(scope="module")
def parts():
    corpus = Agreement()
    return {part: list(corpus.items(part)) for part in corpus.own_parts}


@pytest.fixture(scope="module")
def parsed(parts):
    """The right sentences to train on."""
    return [parse(each.text) for each in parts["train"] if each.label == "right"]


def test_a_right_text_has_a_verb_that_agrees_with_its_subject(parts):
    for each in parts["test"]:
        found = parse(each.text)
        assert each.label == ("right" if found.verb == found.subject else "wrong"), each
        assert each.group == f"{found.attractors} attractor{'s' * (found.attractors != 1)}"


def test_classes_attractors_and_numbers_are_balanced(parts, parsed):
    sizes = {"train": 20_000, "validation": 1000, "test": 1000}
    for part, size in sizes.items():
        counts = Counter((each.label, each.group) for each in parts[part])
        assert len(counts) == 8 and set(counts.values()) == {size // 8}
    numbers = Counter((each.attractors, each.subject) for each in parsed)
    assert set(numbers.values()) == {20_000 // 16}


def test_texts_are_unique_and_twins_are_in_one_part(parts):
    keys = [text_key(each.text) for texts in parts.values() for each in texts]
    assert len({*keys}) == len(keys)
    for texts in parts.values():
        for right, wrong in zip(texts[::2], texts[1::2], strict=True):
            assert (right.label, wrong.label) == ("right", "wrong")
            words = zip(right.text.split(), wrong.text.split(), strict=True)
            assert sum(one != other for one, other in words) == 1


def test_the_set_of_words_doesnt_reveal_the_class(parts):
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    counter = CountVectorizer()
    train = counter.fit_transform([each.text for each in parts["train"]])
    model = LogisticRegression(max_iter=200).fit(train, [each.label for each in parts["train"]])
    test = counter.transform([each.text for each in parts["test"]])
    accuracy = model.score(test, [each.label for each in parts["test"]])
    assert 0.4 < accuracy < 0.6


def test_counts_and_places_of_nouns_dont_reveal_a_subject_with_attractors(parsed):
    with_attractors = [each for each in parsed if each.attractors]
    plural_by_counts = defaultdict(list)
    for each in with_attractors:
        nouns = [each.subject, *each.between]
        plural_by_counts[sum(nouns), len(nouns)].append(each.subject)
    assert len(plural_by_counts) == 9  # 1 to 3 nouns of either number
    for subjects in plural_by_counts.values():
        plural, size = sum(subjects), len(subjects)
        assert abs(plural - size / 2) < 4 * size**0.5 / 2
    as_last = [each.between[-1] == each.subject for each in with_attractors]
    assert abs(sum(as_last) / len(as_last) - 0.5) < 0.02
    as_first = [each.first == each.subject for each in with_attractors]
    assert abs(sum(as_first) / len(as_first) - 0.9) < 0.02  # most begin with the subject


def test_sentences_without_attractors_also_have_nouns_in_between(parts, parsed):
    counts = Counter(len(each.between) for each in parsed if not each.attractors)
    assert set(counts) == {0, 1, 2, 3} and min(counts.values()) > 200
    assert counts[0] > sum(counts.values()) / 2  # simple ones
    for group in {each.group for each in parts["train"]}:
        texts = [each.text for each in parts["train"] if each.group == group]
        clauses = sum(" that " in text for text in texts) / len(texts)
        assert 0.2 < clauses < 0.6
        assert any(re.search(r"that the \w+ \w+", text) for text in texts)


def test_seeds_give_other_sentences_and_larger_corpora_start_alike(parts):
    fewer, other = Agreement(texts=500), Agreement(texts=500, seed=1)
    assert list(fewer.items()) == parts["train"][:500] != list(other.items())
    assert list(fewer.items("test")) == parts["test"] != list(other.items("test"))
    digests = {Agreement().digest(), fewer.digest(), other.digest()}
    assert len(digests) == 3 and Agreement().digest() in digests


def test_other_sentences_have_another_version(parts):
    """If the sentences change, `VERSION` must change too, because prepared copies depend on it."""
    text = "\n".join(each.text for each in parts["test"])
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert (VERSION, digest) == (2, "939d69baa4a10d8b")


def test_words_that_people_try_first_are_known(parts):
    text = " ".join(each.text.lower() for each in parts["train"])
    known = set(re.findall(r"[a-z]+", text))
    tried = "dog dogs cat cats king queen horse car tree house book child people man woman friend"
    prepositions = "to in of on from for at with by near under behind"
    verbs = "is are was were sleeps sleep runs run sits sit lives live works work plays play"
    assert not set(f"the {tried} {prepositions} {verbs} happy big good old".split()) - known
