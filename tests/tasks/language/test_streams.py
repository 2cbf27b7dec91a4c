"""The tokens of a long text, in files of the cache."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attnlab.errors import RequestError, explained
from attnlab.records import worker_processes
from attnlab.tasks.language.text import streams, vocabulary
from attnlab.tasks.language.text.streams import Reading
from attnlab.tasks.texts.text import TextFiles
from attnlab.text import raw_text

HERE = Path(__file__).parent
KINDS = ("char", "bytes", "bpe", "word")
TEXT = "".join(f"Zeile {number} über {number % 7} Bären,\nund weiter.\n" for number in range(90))


@pytest.fixture(autouse=True)
def _short_blocks(monkeypatch):
    monkeypatch.setattr(raw_text, "_BLOCK", 500)
    monkeypatch.setattr(worker_processes, "processors", lambda: 1)


@pytest.fixture
def corpus(tmp_path):
    return opened(tmp_path)


def opened(folder: Path, text: str = TEXT) -> TextFiles:
    (folder / "a.txt").write_text(text)
    corpus = TextFiles(path=str(folder / "a.txt"), validation=0.2, test=0.1)
    corpus.open(folder)
    return corpus


def read(corpus, cache: Path, kind: str = "char", progress=None, size: int = 300):
    settings = {"kind": kind, "size": size, "min_count": 1}
    return Reading(corpus, settings, progress or (lambda *_: None)).streams(cache)


@pytest.mark.parametrize("kind", KINDS)
def test_files_have_the_tokens_of_memory(corpus, tmp_path, monkeypatch, kind):
    expected = read(corpus, tmp_path, kind)
    assert not (tmp_path / "prepared").exists()
    monkeypatch.setattr(streams, "_IN_MEMORY", 0)
    for _ in range(2):  # made, and found again
        found = read(corpus, tmp_path, kind)
        for name, part in expected.parts.items():
            own = found.parts[name]
            ids = [each.vocabulary.ids[each.parts[name].tokens] for each in (expected, found)]
            np.testing.assert_array_equal(*ids)
            np.testing.assert_allclose(own.sizes, part.sizes, rtol=1e-6)
            assert (own.words, own.size) == (part.words, part.size)
            assert not own.tokens.flags.owndata and not own.tokens.flags.writeable
        if kind != "word":
            assert found.vocabulary.size == expected.vocabulary.size
        monkeypatch.setattr(streams, "fit", None)


def test_two_processes_find_what_one_finds(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_IN_MEMORY", 0)
    read(corpus, tmp_path, "bpe")
    monkeypatch.setattr(worker_processes, "processors", lambda: 2)
    (tmp_path / "two").mkdir()
    read(corpus, tmp_path / "two", "bpe")
    assert files_of(tmp_path / "two") == files_of(tmp_path)


def test_unknown_characters_are_tokens_if_they_occur(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_IN_MEMORY", 0)
    corpus = opened(tmp_path, TEXT + "☃")
    assert read(corpus, tmp_path).vocabulary.has_unknown
    assert not read(corpus, tmp_path, "bytes").vocabulary.has_unknown


def test_a_tokenizer_is_fitted_on_blocks_from_all_over_a_long_text(monkeypatch):
    monkeypatch.setattr(raw_text, "_MOST_FITTED", 1500)
    text = raw_text.RawText(TEXT.encode())
    found = [*raw_text.fitted(text.blocks(), len(text))]
    assert 1000 <= sum(map(len, found)) <= 2500
    assert b"Zeile 0" in found[0] and b"Zeile 6" in found[-1]


KILLED = """
import os, signal
from test_streams import Path, opened, raw_text, read, streams, worker_processes
raw_text._BLOCK, streams._IN_MEMORY = 500, 0
worker_processes.processors = lambda: 1
def progress(done, total, what):
    if (what, done >= {done}) == ({what!r}, True):
        os.kill(os.getpid(), signal.SIGKILL)
folder = Path({folder!r})
read(opened(folder), folder, {kind!r}, progress)
"""


def killed(folder: Path, kind: str, what: str, done: int) -> Path:
    """Kill a preparation; return its unfinished folder."""
    code = KILLED.format(what=what, done=done, kind=kind, folder=str(folder))
    ended = subprocess.run([sys.executable, "-c", code], cwd=HERE, timeout=120)
    assert ended.returncode == -signal.SIGKILL
    return next((folder / "prepared").glob(".unfinished-*"))


def files_of(cache: Path) -> dict[str, bytes]:
    (folder,) = (cache / "prepared").glob("text-*")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("kind", "what", "done"),
    [("bpe", "fitting", 0), ("word", "encoding", 9), ("char", "encoding", 3200)],
)
def test_a_killed_preparation_continues_after_its_last_block(
    tmp_path, monkeypatch, kind, what, done
):
    unfinished = killed(tmp_path, kind, what, done)
    skipped = sum(
        json.loads(path.read_bytes()).get("blocks", 0) for path in unfinished.glob("*.json")
    )
    assert (skipped > 0) == (what == "encoding")
    if skipped:  # what a process has written when it is killed within a block
        with open(unfinished / "train.tokens", "ab") as stream:
            stream.write(b"half")
    monkeypatch.setattr(streams, "_IN_MEMORY", 0)
    blocks = []
    encode = vocabulary.block_tokens
    monkeypatch.setattr(
        streams, "block_tokens", lambda block, **kw: blocks.append(block) or encode(block, **kw)
    )
    read(opened(tmp_path), tmp_path, kind)
    resumed, blocks[:] = len(blocks), []
    (tmp_path / "whole").mkdir()
    read(opened(tmp_path / "whole"), tmp_path / "whole", kind)
    assert files_of(tmp_path) == files_of(tmp_path / "whole")
    assert resumed == len(blocks) - skipped


@pytest.mark.parametrize("name", ["train.tokens", "train.json", "test.sizes", "tokenizer.json"])
def test_damage_is_made_good(corpus, tmp_path, monkeypatch, caplog, name):
    monkeypatch.setattr(streams, "_IN_MEMORY", 0)
    read(corpus, tmp_path)
    expected = files_of(tmp_path)
    (folder,) = (tmp_path / "prepared").glob("text-*")
    (folder / name).write_bytes((folder / name).read_bytes()[:-2])
    read(corpus, tmp_path)
    assert "made again" in caplog.text and files_of(tmp_path) == expected


def test_a_shorter_file_of_a_killed_preparation_is_written_again(tmp_path, monkeypatch):
    unfinished = killed(tmp_path, "char", "encoding", 2000)
    os.truncate(unfinished / "train.tokens", 7)
    monkeypatch.setattr(streams, "_IN_MEMORY", 0)
    read(opened(tmp_path), tmp_path)
    assert len(files_of(tmp_path)["train.tokens"]) > 2000


def test_a_source_that_cannot_be_read_for_a_while_leaves_what_is_done(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_IN_MEMORY", 0)
    corpus = opened(tmp_path)

    def lost(done, total, what):
        if (what, done > 2000) == ("encoding", True):
            with explained("a.txt can't be read"):
                raise OSError(5, "Input/output error")

    with pytest.raises(RequestError, match="a.txt can't be read .Input/output error"):
        read(corpus, tmp_path, progress=lost)
    (unfinished,) = (tmp_path / "prepared").glob(".unfinished-*")
    assert (unfinished / "train.tokens").stat().st_size > 0
    read(corpus, tmp_path)
    (tmp_path / "whole").mkdir()
    read(opened(tmp_path / "whole"), tmp_path / "whole")
    assert files_of(tmp_path) == files_of(tmp_path / "whole")


def test_a_file_that_changes_meanwhile_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_IN_MEMORY", 0)
    corpus = opened(tmp_path)

    def change(done, total, what):
        os.utime(tmp_path / "a.txt", (1, 1))

    with pytest.raises(RequestError, match="a.txt: changed while it was read"):
        read(corpus, tmp_path, progress=change)
    assert [path.suffix for path in (tmp_path / "prepared").iterdir()] == [".lock"]
