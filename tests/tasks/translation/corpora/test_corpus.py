"""The base class of corpora: parts, limit, reversal, empty corpora, digest."""

from __future__ import annotations

import pytest

from attnlab.errors import RequestError
from attnlab.tasks.translation.corpora.corpus import Corpus, reversed_pair
from attnlab.tasks.translation.pair import Pair


class Made(Corpus):
    """A corpus from a dictionary of parts."""

    name = "made"

    def __init__(self, parts, **settings):
        self.parts = parts
        self.own_parts = tuple(part for part in parts if part)
        for name, value in settings.items():
            setattr(self, name, value)

    def _read(self, part, dropped):
        dropped["odd ones"] = 1
        return iter(self.parts[part])

    def _content(self):
        return repr(self.parts)


PAIRS = [
    Pair("one", "eins", "0-0"),
    Pair("two", "zwei"),
    Pair("a red house", "ein Haus", "0-0 2-1"),
]
PARTS = {"train": PAIRS, "validation": PAIRS[:1], "test": PAIRS[1:]}


def test_each_call_restarts_the_stream():
    corpus = Made({None: PAIRS})
    assert list(corpus.pairs()) == list(corpus.pairs()) == PAIRS


def test_parts_one_by_one_or_all_after_each_other():
    corpus = Made(PARTS)
    assert list(corpus.pairs("test")) == PAIRS[1:]
    assert list(corpus.pairs()) == [*PAIRS, *PAIRS[:1], *PAIRS[1:]]


@pytest.mark.parametrize(
    ("parts", "named"), [(PARTS, "train, validation, test"), ({None: PAIRS}, "none")]
)
def test_an_unknown_part_is_refused(parts, named):
    with pytest.raises(
        RequestError, match=rf"made: expected one of its parts \({named}.*got 'dev'"
    ):
        list(Made(parts).pairs("dev"))


def test_the_limit_applies_to_train():
    corpus = Made(PARTS, limit=1)
    assert [len(list(corpus.pairs(part))) for part in PARTS] == [1, 1, 2]
    assert list(Made({None: PAIRS}, limit=2).pairs()) == PAIRS[:2]


def test_the_other_direction_reverses_the_links():
    assert reversed_pair(PAIRS[2]) == ("ein Haus", "a red house", "0-0 1-2")
    assert list(Made({None: PAIRS}, reverse=True).pairs())[0] == ("eins", "one", "0-0")


@pytest.mark.parametrize(
    ("parts", "where"), [({None: []}, "made"), ({"train": []}, "made, part train")]
)
def test_an_empty_corpus_is_refused(parts, where):
    with pytest.raises(RequestError, match=f"{where}: expected pairs of sentences, got an empty"):
        list(Made(parts).pairs())


def test_left_out_pairs_are_counted_once_for_several_passes():
    corpus = Made(PARTS)
    list(corpus.pairs("train"))
    list(corpus.pairs())
    assert corpus.dropped == {"odd ones": 3}


def test_the_digest_follows_content_and_settings():
    made = [Made({None: PAIRS}), Made({None: PAIRS[:2]}), Made(PARTS)]
    made += [Made({None: PAIRS}, **{key: value}) for key, value in OTHER_SETTINGS.items()]
    assert len({corpus.digest() for corpus in made}) == len(made)
    assert Made({None: PAIRS}).digest() == made[0].digest()


OTHER_SETTINGS = {"limit": 2, "reverse": True, "validation": 0.2, "test": 0.2, "split": "pair"}
