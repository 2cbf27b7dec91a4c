"""`attnlab vocabulary`: the words that runs know."""

from __future__ import annotations

import pytest
from compared_runs import write_group

from attnlab.cli import main
from attnlab.records.run_directory import RunDirectory
from attnlab.text.tokenizers import Tokenizer

SENTENCES = ["the old dog", "the dogs and the king", "the king"]


@pytest.fixture
def run(tmp_path):
    """A run without a vocabulary."""
    write_group(tmp_path, "bahdanau", [0.5])
    (folder,) = tmp_path.glob("*/*/*")
    run = RunDirectory.open(folder)
    run.assets.mkdir(exist_ok=True)
    return run


def said(capsys, *words) -> list[str]:
    assert main(["vocabulary", *map(str, words)]) == 0
    return capsys.readouterr().out.splitlines()


def test_unknown_words_have_nearest_known_words(run, capsys):
    Tokenizer.fit(SENTENCES, kind="word").save(run.assets / "tokenizer.json")
    assert said(capsys, run.path, "king", "Dog", "moon", "the king") == [
        *("king\tknown", "Dog\tunknown; nearest: dog, dogs", "moon\tunknown"),
        "the king\tknown as 2 tokens: the king",
    ]
    (line,) = said(capsys, run.path)
    assert line.startswith("10 entries, tokenizer word; most frequent: the, king, ")


def test_each_language_has_its_own_vocabulary(run, capsys):
    Tokenizer.fit(SENTENCES, kind="word").save(run.assets / "source_tokenizer.json")
    Tokenizer.fit(["der Hund"], kind="bpe").save(run.assets / "target_tokenizer.json")
    assert said(capsys, run.path, "dog") == [
        *("source\tdog\tknown", "target\tdog\tknown as 4 tokens: ␣ d ·o ·g"),
    ]
