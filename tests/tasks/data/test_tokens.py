"""Tokens on disk, and folders of the cache that are made once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from attnlab.errors import RequestError
from attnlab.tasks.data.tokens import Tokens, TokenWriter, prepare_folder

ROWS = [[5, 3], [], [7, 11, 3], [65_535]]


def written(path, size, *pieces):
    with TokenWriter(path, size) as writer:
        for rows in pieces:
            writer.add(rows)
    return Tokens.open(path)


@pytest.mark.parametrize(("size", "dtype"), [(65_536, np.uint16), (65_537, np.int32)])
def test_rows_are_read_as_written_in_the_smallest_type(tmp_path, size, dtype):
    rows = written(tmp_path / "train", size, ROWS[:2], [], ROWS[2:])
    assert rows.tokens.dtype == dtype and len(rows) == 4
    assert [rows[number].tolist() for number in range(4)] == ROWS
    assert rows.lengths.tolist() == [2, 0, 3, 1]
    assert not rows.tokens.flags.writeable


def test_rows_are_padded_and_row_minus_one_is_padding(tmp_path):
    rows = written(tmp_path / "train", 8, [[5, 3], [7], [2, 4, 3]])
    assert rows.pad(np.array([2, -1, 1])).tolist() == [[2, 4, 3], [0, 0, 0], [7, 0, 0]]
    assert rows.pad(np.array([1]), 2).tolist() == [[7, 0]] and rows[-1].size == 0
    with pytest.raises(ValueError, match="width"):
        rows.pad(np.array([2]), 2)
    with pytest.raises(IndexError):
        rows[3]


def make(folder):
    with TokenWriter(folder / "train", 8) as writer:
        writer.add([[5, 3]])


def test_a_folder_is_made_once_and_a_damaged_one_again(tmp_path):
    folder, calls = tmp_path / "prepared" / "a", []

    def counted(unfinished):
        calls.append(1)
        make(unfinished)

    first = prepare_folder(folder, counted, "the tokens")
    assert prepare_folder(folder, counted, "the tokens") == first and len(calls) == 1
    content = folder / "train.tokens.bin"
    content.write_bytes(content.read_bytes()[::-1])
    assert prepare_folder(folder, counted, "the tokens") == first and len(calls) == 2
    assert {path.name for path in folder.parent.iterdir()} <= {"a", ".a.lock"}


def test_a_failure_leaves_no_folder(tmp_path):
    def fail(unfinished):
        make(unfinished)
        raise RequestError("no text")

    with pytest.raises(RequestError, match="no text"):
        prepare_folder(tmp_path / "a", fail, "the tokens")
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    (tmp_path / "file").touch()
    with pytest.raises(RequestError, match=r"paths.data: the tokens can't be written"):
        prepare_folder(tmp_path / "file" / "a", make, "the tokens")


KILLED = """
import os, signal, sys
from pathlib import Path
from attnlab.tasks.data.tokens import TokenWriter, prepare_folder

def make(folder):
    with TokenWriter(folder / "train", 8) as writer:
        writer.add([[7] * 100_000])
        os.kill(os.getpid(), signal.SIGKILL)

prepare_folder(Path(sys.argv[1]), make, "the tokens")
"""


def test_after_a_kill_the_next_call_starts_again(tmp_path):
    folder = tmp_path / "a"
    killed = subprocess.run([sys.executable, "-c", KILLED, folder], env=os.environ)
    assert killed.returncode == -signal.SIGKILL and not folder.exists()
    prepare_folder(folder, make, "the tokens")
    assert Tokens.open(folder / "train").tokens.tolist() == [5, 3]


TOGETHER = """
import sys, time
from pathlib import Path
from attnlab.tasks.data.tokens import prepare_folder

def make(folder):
    print("made")
    time.sleep(0.5)
    (folder / "text").write_text("text")

print(prepare_folder(Path(sys.argv[1]), make, "the text"))
"""


def test_of_two_processes_one_makes_a_folder(tmp_path):
    command = [sys.executable, "-c", TOGETHER, tmp_path / "a"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    lines = [process.communicate()[0].splitlines() for process in both]
    assert sorted(map(len, lines)) == [1, 2] and lines[0][-1] == lines[1][-1]
