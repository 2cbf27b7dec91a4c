"""Tokens of texts and of generated tasks, windows of a stream, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from language_models import Echo, GivenText, rows_scored, task_of, tokens_of, vocabulary_of

from attnlab.errors import RequestError
from attnlab.tasks.language.data import PADDING, Rows, Stream
from attnlab.tasks.language.text.vocabulary import Symbols

TEXT = "Ein Bär, dann\nnoch ein Bär.\n\nUnd Schluss: der Bär geht.\n" * 7
KINDS = ("char", "bpe", "word")


class Padded(Echo):
    """Rows of five tokens whose last one is padding."""

    def part(self, part: str) -> Rows:
        tokens = (np.arange(400 * 6).reshape(400, 6) % 4).astype(np.int32)
        return rows_scored(tokens, np.arange(5) == 3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_becomes_tokens_and_back(kind):
    vocabulary = vocabulary_of(kind, TEXT)
    tokens = tokens_of(vocabulary, TEXT)
    assert 0 <= tokens.min() and tokens.max() < vocabulary.size
    assert vocabulary.decode(tokens) == TEXT
    start = vocabulary.encode("Ein Bär,")
    assert start == tokens[: len(start)].tolist() and "↵" in vocabulary.labels(tokens[:30])
    sizes = {"char": len(set(TEXT)), "word": 13}
    assert vocabulary.size == sizes.get(kind, vocabulary.size)
    stream = Stream(vocabulary.ids[tokens], vocabulary, len(TEXT.encode()), 7)
    assert stream.sizes[tokens].sum() == pytest.approx(len(TEXT.encode()))
    scored = stream.scored()
    first = stream.sizes[tokens[0]]
    assert stream.bytes_of(scored).sum() == pytest.approx(len(TEXT.encode()) - first)
    if kind != "word":  # exact: the bytes of each token's text
        contents = [vocabulary.tokenizer.content([token]) for token in vocabulary.ids]
        assert stream.sizes.tolist() == [*map(len, contents)]


def test_a_character_outside_of_the_vocabulary_is_refused_in_a_prompt():
    for has_unknown in (False, True):
        with pytest.raises(RequestError, match="PROMPT: expected tokens of the model .*got 'X'"):
            vocabulary_of("char", TEXT, has_unknown).encode("Ein X")
    words = vocabulary_of("word", TEXT, has_unknown=True)
    assert words.encode("Ein X")[-1] == words.size - 2
    with pytest.raises(RequestError, match="got 'X'"):
        vocabulary_of("word", TEXT).encode("Ein X")


def test_characters_that_only_later_parts_have_are_one_unknown_token():
    task = task_of(GivenText("abcabcabcabcabcxyc" + "ab"), context=4)
    assert task.vocabulary.size == 4 and task.vocabulary.has_unknown
    assert task.data.parts["validation"].tokens().max() == 3


def test_symbols_are_names_with_spaces_between():
    symbols = Symbols(["a", "b", "go"])
    assert symbols.encode("go a") == [2, 0] and symbols.decode([2, 0]) == "go a"
    with pytest.raises(RequestError, match="expected symbols among a, b, go, got 'c'"):
        symbols.encode("a c")
    for empty in ("", " "):
        with pytest.raises(RequestError, match="expected symbols among a, b, go, got none"):
            symbols.encode(empty)


# Windows


@pytest.mark.parametrize(("count", "context"), [(23, 5), (21, 5), (4, 7)])
def test_windows_score_each_token_but_the_first_once(count, context):
    text = "".join(map(chr, range(65, 65 + count)))
    vocabulary = vocabulary_of("char", text)
    stream = Stream(vocabulary.ids[np.arange(count)], vocabulary, count, context)
    scored = stream.scored()
    assert sorted(scored.targets[scored.has_target].tolist()) == [*range(1, count)]
    assert (scored.targets == scored.tokens + 1)[scored.has_target].all()
    assert scored.has_target.any(axis=1).all() and scored.tokens.shape[1] == context
    assert set(np.diff(scored.tokens[:, 0]).tolist()) <= {context}
    assert stream.bytes_of(scored).tolist() == scored.has_target.sum(axis=1).tolist()


def test_rows_have_their_scored_places():
    rows = Echo().part("test")
    scored = rows.scored()
    assert scored.targets.shape == (7, 5) and (scored.places == np.arange(4, 9)).all()
    fewer = rows.targets.copy()
    fewer[0, 5:] = PADDING
    scored = rows._replace(targets=fewer).scored()
    assert scored.targets[0].tolist() == [rows.targets[0, 4], *[PADDING] * 4]
    chosen = np.take_along_axis(rows.targets, scored.places, 1)
    assert (chosen == scored.targets)[scored.has_target].all()


# The task


def test_heads_are_measured_up_to_the_last_scored_place():
    task = task_of(GivenText("abcdef" * 50), context=8)
    inputs, tokens = task.head_inputs(None, "test", 99)
    count = task.scored_rows("test").has_target.sum()
    assert (tokens[:-1] == inputs[:-1]).all() and (tokens >= 0).sum() == count < inputs.size
    rows = task_of(Padded())
    inputs, tokens = rows.head_inputs(None, "test", 3)
    assert inputs.shape == tokens.shape == (3, 5)
    assert (tokens[:, :4] == inputs[:, :4]).all() and (tokens[:, 4] == PADDING).all()


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        (
            "abcde " * 10,
            {"context": 64},
            "at least 65 tokens in train, one more than task.context, got 36",
        ),
        ("hello there", {"context": 4, "tokenizer": "word"}, "at least 5 tokens in train"),
        (b"\xff" * 300, {}, "0xff in line 1"),
    ],
)
def test_texts_that_cannot_be_learned_are_refused(text, settings, message):
    with pytest.raises(RequestError, match=f"data=given.*: .*{message}"):
        task_of(GivenText(text), **settings)


@pytest.mark.parametrize("corpus", [GivenText("the cat sat. " * 30, 0.2, 0.2), Echo()])
def test_a_saved_task_converts_texts_without_its_corpus(tmp_path, corpus):
    task = task_of(corpus, context=8)
    task.save(tmp_path)
    again = type(task)(corpus=corpus, cache=tmp_path, context=8)
    again.load_from(tmp_path)
    assert again.context == task.context
    prompt = "a b" if corpus.name == "echo" else "the"
    assert again.vocabulary.encode(prompt) == task.vocabulary.encode(prompt)
