"""Masked words of a text that stays on the disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attnlab.errors import RequestError
from attnlab.records import worker_processes
from attnlab.tasks.masked_words import long_texts
from attnlab.tasks.masked_words.data import MaskedPart, StoredPart
from attnlab.tasks.masked_words.long_texts import read_long_texts
from attnlab.tasks.masked_words.rows import packed
from attnlab.tasks.masked_words.task import MaskedWords
from attnlab.tasks.texts import text
from attnlab.tasks.texts.text import TextFiles
from attnlab.text.cleaning import normalized

HERE = Path(__file__).parent
SETTINGS = {
    **{"tokenizer": "word", "vocabulary": 500, "min_count": 1, "lowercase": True},
    **{"max_length": 16, "next_sentence": False},
}
WORDS = "rain falls all night and the river rises while nobody in the old town sleeps".split()
DOCUMENTS = [  # each occurs twice
    f"On day {n} {' '.join(WORDS[n % 5 : n % 9 + 7])}. Then {WORDS[n % 14]} again. It was day {n}."
    for n in [*range(90), *range(90)]
]


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(text, "_IN_MEMORY", 1000)
    monkeypatch.setattr(text, "_PIECE", 2000)
    monkeypatch.setattr(long_texts, "_ENOUGH", 4)
    monkeypatch.setattr(worker_processes, "processors", lambda: 1)


def opened(folder: Path, **settings) -> TextFiles:
    (folder / "a.txt").write_text("\n\n".join(DOCUMENTS))
    corpus = TextFiles(path=str(folder / "a.txt"), validation=0.1, test=0.2, **settings)
    corpus.open(folder)
    return corpus


def read(folder: Path, progress=lambda *_: None, **changes):
    return read_long_texts(opened(folder), SETTINGS | changes, 0, folder, progress)


def test_each_document_is_in_one_part_and_has_the_rows_of_any_text(tmp_path):
    found = read(tmp_path, tokenizer="char", max_length=300)
    texts = {
        part: found.tokenizer.decode(rows[number][1:] for number in range(len(rows)))
        for part, rows in found.parts.items()
    }
    documents = [*opened(tmp_path).items()]
    assert len(documents) == sum(map(len, texts.values())) == 180
    assert len(texts["test"]) > 10 and len(texts["validation"]) > 5
    for each in documents:
        places = [part for part, own in texts.items() if "".join(each).lower() in own]
        assert len(places) == 1  # also of a repeated one


def test_sentences_share_rows_as_in_any_text(tmp_path):
    found, documents = read(tmp_path), [*opened(tmp_path).items()]
    tokens = [found.tokenizer.encode([normalized(own) for own in each]) for each in documents]
    expected, cut = packed(tokens, SETTINGS["max_length"])
    lengths = sorted(row.length for row in expected)
    assert sorted(np.concatenate([rows.lengths for rows in found.parts.values()])) == lengths
    counts = {name: found.counts[name] for name in ("rows", "cut", "tokens")}
    assert counts == {"rows": len(lengths), "cut": cut, "tokens": sum(lengths)}


def test_the_tokenizer_is_fitted_on_train_alone(tmp_path):
    found = read(tmp_path)
    train = found.parts["train"].counts(found.tokenizer.size)
    assert (train[4:] > 0).all()


def test_a_text_is_held_out_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(long_texts, "MOST_HELD_OUT", len("\n\n".join(DOCUMENTS)) * 0.05)
    sizes = {part: len(rows) for part, rows in read(tmp_path).parts.items()}
    assert 0 < sizes["test"] < 0.12 * sizes["train"]


class Divided(TextFiles):
    """A corpus with parts of its own."""

    own_parts = ("train", "validation", "test")


def test_the_seed_matters_only_if_it_divides_the_text(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("\n\n".join(DOCUMENTS))
    corpus = Divided(path=str(tmp_path / "a.txt"))
    corpus.open(tmp_path)
    for seed in (0, 1):
        read_long_texts(corpus, SETTINGS, seed, tmp_path, lambda *_: None)
    (one,) = (tmp_path / "prepared").glob("text-*")
    corpus = opened(tmp_path)
    for seed in (0, 1):
        read_long_texts(corpus, SETTINGS, seed, tmp_path, lambda *_: None)
    assert len([*(tmp_path / "prepared").glob("text-*")]) == 3 and one.exists()


def files_of(cache: Path) -> dict[str, bytes]:
    (folder,) = (cache / "prepared").glob("text-*")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_two_processes_find_what_one_finds_and_the_cache_is_used(tmp_path, monkeypatch):
    read(tmp_path)
    (tmp_path / "two").mkdir()
    monkeypatch.setattr(worker_processes, "processors", lambda: 2)
    read(tmp_path / "two")
    assert files_of(tmp_path / "two") == files_of(tmp_path)
    monkeypatch.setattr(long_texts, "_write", lambda *_, **__: pytest.fail("made again"))
    read(tmp_path)


KILLED = """
import os, signal, sys
from test_long_texts import Path, long_texts, read, text, worker_processes
text._IN_MEMORY, text._PIECE, long_texts._ENOUGH = 1000, 2000, 4
worker_processes.processors = lambda: 1
def progress(done, total, what):
    if (what, done >= {done}) == ({what!r}, True):
        os.kill(os.getpid(), signal.SIGKILL)
read(Path(sys.argv[1]), progress)
"""


@pytest.mark.parametrize("is_damaged", [False, True])
@pytest.mark.parametrize(("what", "done"), [("fitting", 0), ("encoding", 1), ("encoding", 9000)])
def test_a_killed_preparation_continues(tmp_path, monkeypatch, what, done, is_damaged):
    code = KILLED.format(what=what, done=done)
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=HERE, timeout=120)
    assert ended.returncode == -signal.SIGKILL
    (unfinished,) = (tmp_path / "prepared").glob(".unfinished-*")
    skipped = 0
    if what == "encoding":
        skipped = json.loads((unfinished / "test.json").read_text())["blocks"]
        assert skipped > 0
        if is_damaged:
            os.truncate(unfinished / "test.tokens", 0)
            skipped = 0
    pieces = []
    rows = long_texts._rows
    monkeypatch.setattr(
        long_texts, "_rows", lambda job, **kw: pieces.append(job) or rows(job, **kw)
    )
    read(tmp_path)
    resumed, pieces[:] = len(pieces), []
    (tmp_path / "whole").mkdir()
    read(tmp_path / "whole")
    assert files_of(tmp_path) == files_of(tmp_path / "whole")
    assert resumed == len(pieces) - skipped


def test_a_preparation_that_was_killed_before_its_last_step_is_not_damaged(tmp_path, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(RequestError, match="can't be written"):
        patched.setattr("os.rename", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
        read(tmp_path)
    read(tmp_path)
    monkeypatch.setattr(long_texts, "_write", lambda *_, **__: pytest.fail("made again"))
    read(tmp_path)


def test_bytes_that_are_not_utf8_are_found_first_with_their_line(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.DOCUMENTS", [*DOCUMENTS, "bad"])
    corpus, said = opened(tmp_path), []
    content = (tmp_path / "a.txt").read_bytes()
    (tmp_path / "a.txt").write_bytes(content.replace(b"bad", b"b\xffd"))
    line = content.count(b"\n") + 1
    corpus.open(tmp_path)
    with pytest.raises(RequestError, match=f"line {line}"):
        read_long_texts(corpus, SETTINGS, 0, tmp_path, lambda *found: said.append(found[2]))
    assert {*said} == {"fitting"}


def test_pairs_of_sentences_are_refused(tmp_path):
    with pytest.raises(RequestError, match="task.next_sentence: expected false for a long text"):
        read(tmp_path, next_sentence=True)


def loaded(folder: Path, most: int, monkeypatch, **settings) -> MaskedWords:
    """A task on DOCUMENTS, which has read texts of more than `most` bytes from the disk."""
    monkeypatch.setattr(text, "_IN_MEMORY", most)
    (folder / "a.txt").write_text("\n\n".join(DOCUMENTS))
    corpus = TextFiles(path=str(folder / "a.txt"), validation=0.1, test=0.1)
    task = MaskedWords(corpus=corpus, cache=folder, **settings)
    task.load(0)
    return task


def test_a_text_above_the_limit_is_read_from_the_disk(tmp_path, monkeypatch):
    size = len("\n\n".join(DOCUMENTS))
    whole = loaded(tmp_path, size, monkeypatch)
    assert not (tmp_path / "prepared").exists()
    assert whole.data.notes()[0].startswith("90 of 180 documents are left out: they repeat")
    monkeypatch.setattr(TextFiles, "items", lambda *_: pytest.fail("all are in memory"))
    stored = loaded(tmp_path, size - 1, monkeypatch)
    assert isinstance(stored.data.parts["train"], StoredPart)
    assert sum(stored.data.counts().values()) == 2 * sum(whole.data.counts().values())
    assert stored.data.digest != whole.data.digest  # their parts differ


def test_pairs_of_sentences_are_read_into_memory_up_to_a_gigabyte(tmp_path, monkeypatch):
    found = [loaded(tmp_path, most, monkeypatch, next_sentence=True) for most in (10**6, 1000)]
    one, other = (task.data for task in found)
    assert one.notes() == other.notes()
    for part, own in one.parts.items():
        np.testing.assert_array_equal(own.tokens, other.parts[part].tokens)
        np.testing.assert_array_equal(own.follows, other.parts[part].follows)


def test_what_is_left_out_is_noted(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.DOCUMENTS", [*DOCUMENTS, "***", "A day. -- ", "..."])
    whole, stored = (loaded(tmp_path, most, monkeypatch).data.said for most in (10**6, 1000))
    assert stored == (
        "2 documents without a letter or digit are left out.",
        "In 1 documents, marks that belong to no sentence are left out.",
    )
    assert (whole[0].replace(", such as '***'", ""), whole[1]) == stored


def test_shares_that_leave_nothing_to_train_on_are_refused(tmp_path):
    corpus = opened(tmp_path)
    corpus.validation = 0.8
    with pytest.raises(RequestError, match=r"data.validation \+ data.test: expected a sum below 1"):
        read_long_texts(corpus, SETTINGS, 0, tmp_path, lambda *_: None)


def test_fewer_documents_than_parts_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("A document.\n\nAnother one.")
    corpus = TextFiles(path=str(tmp_path / "a.txt"))
    corpus.open(tmp_path)
    with pytest.raises(RequestError, match="at least 3 different documents, .* got 2; empty lines"):
        read_long_texts(corpus, SETTINGS, 0, tmp_path, lambda *_: None)


@pytest.mark.parametrize("seed", range(8))
def test_of_few_documents_each_part_gets_one(tmp_path, monkeypatch, seed):
    """Fixed: for most seeds, none of 24 documents was in validation, or none in test."""
    monkeypatch.setattr(f"{__name__}.DOCUMENTS", DOCUMENTS[:24] * 2)
    corpus = opened(tmp_path)
    corpus.validation = corpus.test = 0.05
    found = read_long_texts(corpus, SETTINGS | {"max_length": 99}, seed, tmp_path, lambda *_: None)
    texts = {part: {*map(tuple, own)} for part, own in found.parts.items()}
    assert {part: len(own) for part, own in texts.items()} == {
        **{"train": 22, "validation": 1, "test": 1}
    }
    assert len(set.union(*texts.values())) == 24


@pytest.mark.parametrize("jit", [pytest.param("true", marks=pytest.mark.slow), "false"])
def test_training_from_the_disk_has_the_bits_of_training_from_memory(
    tmp_path, monkeypatch, learner_of, jit
):
    opened(tmp_path)
    words = (
        *("task=masked_words", "data=text", f"data.path={tmp_path / 'a.txt'}", "model.units=16"),
        *("model.layers=1", "attention.heads=2", "model.feed_forward=16", "model.dropout=0.1"),
        *(f"paths.data={tmp_path}", "trainer.batch_size=16", f"trainer.jit={jit}"),
    )
    stored = learner_of(*words)
    read_rows = MaskedWords._read_long

    def in_memory(*args):
        counts, parts = read_rows(*args)
        rows = parts["train"].rows(np.arange(len(parts["train"])))
        return counts, {**parts, "train": MaskedPart(rows, np.ones(len(rows), np.int32), None)}

    monkeypatch.setattr(MaskedWords, "_read_long", in_memory)
    found = []
    for learner in (stored, learner_of(*words)):
        losses = []
        for epoch in (1, 2):
            for chunk in learner.chunks(epoch):
                losses += [*learner.train(chunk, np.full(chunk.steps, 0.01), len(losses)).values]
        found.append([np.array(losses), *learner.model.get_weights()])
    assert len(found[0][0]) == 20
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
