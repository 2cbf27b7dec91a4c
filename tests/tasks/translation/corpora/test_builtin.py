"""The built-in corpus: its parts, its words, its links, and its German."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from attnlab.tasks.translation.corpora.builtin import VERSION, Builtin
from attnlab.tasks.translation.corpora.grammar.sentences import BEYOND, KINDS, sentences
from attnlab.text.words import split_words

ROOT = Path(__file__).parents[4]
PARTS = ("train", "validation", "test", "compositions")
# Of version 2. Where the sentences change, `VERSION` must, too: prepared copies depend on it.
DIGEST = (2, "c75bab0fb0d59c3141364285a852f699b6e4ed5450f677add05e5b26a55db30c")
STARTERS = set("that who whom because although when before whether why where".split())
ENGLISH_ADJECTIVES = set(
    "friendly clever good beautiful small big old young new hot cold red".split()
)


@pytest.fixture
def parts(builtin_parts):
    return builtin_parts


@pytest.fixture
def pairs(parts):
    return [pair for part in parts.values() for pair in part]


def text_digest(pairs):
    lines = "\n".join("\t".join(map(str, pair)) for pair in pairs)
    return hashlib.sha256(lines.encode()).hexdigest()


def test_parts_have_their_sizes(parts):
    assert {part: len(pairs) for part, pairs in parts.items()} == {
        "train": 20_000,
        "validation": 1000,
        "test": 1000,
        "compositions": 1000,
    }


def test_a_sentence_has_one_translation_and_is_in_one_part(pairs):
    assert len({pair.source for pair in pairs}) == len(pairs)
    assert len({pair.target for pair in pairs}) == len(pairs)


def test_the_grammar_itself_is_one_to_one():
    made = [*islice(sentences(KINDS, "more"), 9000), *islice(sentences(BEYOND, "more"), 3000)]
    english = {}
    german = {}
    for sentence in made:
        assert english.setdefault(sentence.english, sentence.german) == sentence.german
        assert german.setdefault(sentence.german, sentence.english) == sentence.english


def test_the_sentences_are_those_of_this_version(pairs):
    assert (VERSION, text_digest(pairs)) == DIGEST


@pytest.mark.parametrize(
    "odd",
    [
        r"\b(\w+) and (the|my|this)( [a-z]+){0,2} \1\b",  # the child and the small child
        r"^(Why|Where|When) cannot ",
        r"\bI (want to|can|must|will)\b[^,]* (with|to|for) me\b",
    ],
)
def test_sentences_have_no_odd_combinations(pairs, odd):
    assert [pair.source for pair in pairs if re.search(odd, pair.source)] == []


def test_another_process_makes_the_same(parts):
    code = (
        "import hashlib; from attnlab.tasks.translation.corpora.builtin import Builtin;"
        "lines = '\\n'.join('\\t'.join(map(str, pair)) for pair in Builtin(pairs=1).pairs('test'));"
        "print(hashlib.sha256(lines.encode()).hexdigest())"
    )
    environment = {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "71"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == text_digest(parts["test"])


def test_the_digest_changes_with_settings_that_change_the_pairs():
    settings = [{}, {"pairs": 101}, {"seed": 1}, {"reverse": True}]
    assert len({Builtin(**each).digest() for each in settings}) == len(settings)
    assert Builtin().digest() == Builtin(pairs=20_000, seed=0).digest()


def test_held_out_parts_dont_depend_on_the_size_of_train(parts):
    small = Builtin(pairs=107)
    assert list(small.pairs("test")) == parts["test"]
    assert list(small.pairs("compositions")) == parts["compositions"]
    assert list(small.pairs("train")) == parts["train"][:107]


def test_another_seed_makes_other_sentences(parts):
    assert list(Builtin(pairs=101, seed=5).pairs("test")) != parts["test"]


def test_reversed(parts):
    corpus = Builtin(pairs=101, reverse=True)
    assert (corpus.source_language, corpus.target_language) == ("de", "en")
    forward, backward = parts["test"][0], next(corpus.pairs("test"))
    assert (backward.source, backward.target) == (forward.target, forward.source)
    turned = {tuple(link.split("-")[::-1]) for link in backward.links.split()}
    assert turned == {tuple(link.split("-")) for link in forward.links.split()}


@pytest.mark.parametrize("part", ["train", "validation", "test"])
def test_lengths(parts, part):
    for pair in parts[part]:
        assert 4 <= len(split_words(pair.source)) <= 17
        assert 4 <= len(split_words(pair.target)) <= 17


@pytest.mark.parametrize("side", ["source", "target"])
def test_every_test_word_is_frequent_in_train(parts, side):
    seen, *asked = (
        Counter(word for pair in parts[part] for word in split_words(getattr(pair, side)))
        for part in PARTS
    )
    assert len(seen) < 400
    assert {word: seen[word] for words in asked for word in words if seen[word] < 20} == {}


def test_every_word_is_linked_and_every_link_in_range(pairs):
    for pair in pairs:
        words = split_words(pair.source), split_words(pair.target)
        links = [tuple(map(int, link.split("-"))) for link in pair.links.split()]
        for side in (0, 1):
            linked = {link[side] for link in links}
            free = {words[side][at] for at in set(range(len(words[side]))) - linked}
            assert linked <= set(range(len(words[side])))
            assert free <= {","}, pair  # German has commas that English doesn't have
        assert len(set(links)) == len(links)


def test_marks_are_linked_with_marks(pairs):
    for pair in pairs:
        source, target = split_words(pair.source), split_words(pair.target)
        for link in pair.links.split():
            one, other = link.split("-")
            marks = source[int(one)], target[int(other)]
            assert marks[0] == marks[1] or not set(marks) & set(",.?")


def test_sentences_have_capitals_and_marks(pairs):
    for pair in pairs:
        for text in (pair.source, pair.target):
            assert text[0].isupper() and text[-1] in ".?"
            assert not re.search(r"  | [,.?]|,[,.?]|^\W", text), text
        assert (pair.source[-1] == "?") == (pair.target[-1] == "?")


def features(source):
    """How many clauses are inside others, adjectives in a row at most, and owners."""
    words = source.lower().replace("out of", "out_of").split()
    inner = sum(word in STARTERS for word in words[source[-1] == "?" :])
    if source[-1] == "?" and words[0] in ("for", "with", "to"):
        inner -= 1  # "for whom" is the question itself
    adjectives = longest = 0
    for word in words:
        adjectives = adjectives + 1 if word in ENGLISH_ADJECTIVES else 0
        longest = max(longest, adjectives)
    chain = re.search(r"\bof (the|my)( \w+){1,2} of\b", " ".join(words))
    return inner, longest, bool(chain)


def test_compositions_are_more_complex_than_train(parts):
    for part in ("train", "validation", "test"):
        for pair in parts[part]:
            inner, adjectives, chain = features(pair.source)
            assert inner <= 1 and adjectives <= 2 and not chain, pair
    kinds = Counter()
    for pair in parts["compositions"]:
        inner, adjectives, chain = features(pair.source)
        assert inner == 2 or adjectives == 3 or chain, pair
        kinds[inner == 2, adjectives == 3, chain] += 1
    assert set(kinds) == {(True, False, False), (False, True, False), (False, False, True)}
    assert min(kinds.values()) > 100


def test_words_change_places(parts):
    """The order of words differs between the languages, which is the purpose of the corpus."""
    distances = [
        abs(int(one) - int(other))
        for pair in parts["test"]
        for one, other in (link.split("-") for link in pair.links.split())
    ]
    assert sum(distance >= 3 for distance in distances) > 0.1 * len(distances)
    assert max(distances) >= 8
