"""`attnlab vocabulary`: the words that runs know."""

from __future__ import annotations

import pytest
from run_folders import write_run

from attnlab.text.tokenizers import Tokenizer

SENTENCES = ["the old dog", "the dogs and the king", "the king"]


@pytest.fixture
def run(tmp_path):
    """A run without a vocabulary."""
    return write_run(tmp_path)


def test_unknown_words_have_nearest_known_words(run, here):
    Tokenizer.fit(SENTENCES, kind="word").save(run.assets / "tokenizer.json")
    assert here.run("vocabulary", run.path, "king", "Dog", "moon", "the king").out.splitlines() == [
        *("king\tknown", "Dog\tunknown; nearest: dog, dogs", "moon\tunknown"),
        "the king\tknown as 2 tokens: the king",
    ]
    (line,) = here.run("vocabulary", run.path).out.splitlines()
    assert line.startswith("10 entries, tokenizer word; most frequent: the, king, ")


def test_each_language_has_its_own_vocabulary(run, here):
    Tokenizer.fit(SENTENCES, kind="word").save(run.assets / "source_tokenizer.json")
    Tokenizer.fit(["der Hund"], kind="bpe").save(run.assets / "target_tokenizer.json")
    assert here.run("vocabulary", run.path, "dog").out.splitlines() == [
        *("source\tdog\tknown", "target\tdog\tknown as 4 tokens: ␣ d ·o ·g"),
    ]
