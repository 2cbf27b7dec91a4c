"""Texts become tokens: in memory, in the cache, as streams and as rows."""

from __future__ import annotations

import numpy as np
import pytest
from language_models import tokens_of, vocabulary_of

from attnlab.errors import RequestError
from attnlab.tasks.language.corpora import TextFiles
from attnlab.tasks.language.text import reading
from attnlab.tasks.language.text.reading import (
    documents_of,
    encode_documents,
    encode_stream,
    fit_stream,
    tokenize,
)
from attnlab.text.tokenizers import END, START, UNKNOWN, Tokenizer

KINDS = ("char", "bpe", "word")
TEXT = "".join(f"Zeile {number} über {number % 7} Bären,\nund weiter.\n" for number in range(90))


def opened(folder, text=TEXT):
    (folder / "a.txt").write_text(text)
    corpus = TextFiles(path=str(folder / "a.txt"), validation=0.2, test=0.1)
    corpus.open(folder)
    return corpus


def read(corpus, cache, kind="char", size=300, progress=None):
    return tokenize(
        corpus,
        [kind, size],
        lambda: fit_stream(corpus, kind, size, 1),
        encode_stream,
        cache,
        progress,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_cache_has_the_tokens_of_memory(tmp_path, monkeypatch, kind):
    corpus, seen = opened(tmp_path), []
    expected = read(corpus, tmp_path, kind)
    assert not (tmp_path / "prepared").exists()
    monkeypatch.setattr(reading, "_IN_MEMORY", 0)
    monkeypatch.setattr(reading, "_BLOCK", 500)
    for _ in range(2):  # made, and found again
        result = read(corpus, tmp_path, kind, progress=lambda *state: seen.append(state))
        assert result[0].vocabulary == expected[0].vocabulary
        for name, part in expected[1].items():
            assert np.array_equal(result[1][name].tokens, part.tokens)
    done = [state[0] for state in seen]
    assert done == sorted(done) and done[-1] <= len(TEXT.encode()) and len(done) > 5
    assert len([*(tmp_path / "prepared").glob("text-*")]) == 1


def test_other_settings_and_texts_have_their_own_tokens(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_IN_MEMORY", 0)
    read(opened(tmp_path), tmp_path)
    read(opened(tmp_path), tmp_path, "bpe")
    read(opened(tmp_path, TEXT + "x"), tmp_path)
    assert len([*(tmp_path / "prepared").glob("text-*")]) == 3


def test_a_file_that_changes_while_it_is_read_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_IN_MEMORY", 0)
    corpus = opened(tmp_path)
    with pytest.raises(RequestError, match="data=text: a file changed while it was read"):
        read(corpus, tmp_path, progress=lambda *_: (tmp_path / "a.txt").write_text(TEXT.upper()))
    assert not [*(tmp_path / "prepared").glob("text-*")]


@pytest.mark.parametrize("kind", KINDS)
def test_long_lines_have_the_tokens_of_short_pieces(kind, monkeypatch):
    text = TEXT + TEXT.replace("\n", " ") + "  weiter\n\nund  😀 Ende"
    vocabulary = vocabulary_of(kind, text)
    expected = tokens_of(vocabulary, text).tolist()
    monkeypatch.setattr(reading, "_LONGEST", 9)
    assert tokens_of(vocabulary, text).tolist() == expected
    assert vocabulary_of(kind, text).tokenizer.vocabulary == vocabulary.tokenizer.vocabulary


def test_the_tokenizer_is_fitted_on_train_alone(tmp_path):
    tokenizer, parts = read(opened(tmp_path, TEXT + "Ωμέγα" * 30), tmp_path)
    assert "Ω" not in tokenizer.vocabulary.tokens
    assert UNKNOWN in parts["test"].tokens and UNKNOWN not in parts["train"].tokens


def test_a_file_that_is_no_text_is_refused_by_the_line(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one\n" * 99 + b"\xff\n" + b"two\n" * 50)
    corpus = TextFiles(path=str(tmp_path / "a.txt"))
    corpus.open(tmp_path)
    with pytest.raises(RequestError, match=r"data.path: .*a.txt, train: .*0xff in line 100"):
        read(corpus, tmp_path)


def test_documents_are_lines_or_what_is_between_empty_lines():
    text = "a  b\nc\n \nd\n\n\ne "
    assert [*documents_of(text, by_line=True)] == ["a b", "c", "d", "e"]
    assert [*documents_of(text, by_line=False)] == ["a b c", "d", "e"]


def test_a_long_document_has_several_rows():
    tokenizer = Tokenizer.fit(["a b c d e"], kind="word")
    ids = tokenizer.encode(["a b c d e"])[0]
    rows = encode_documents(tokenizer, ["a b c d e", "", "b", "?"], 5)
    assert rows == [
        [START, *ids[:3], END],
        [START, *ids[3:], END],
        [START, ids[1], END],
        [START, UNKNOWN, END],
    ]
