"""The identity of a sweep, and the content of its folder."""

from __future__ import annotations

import threading

import pytest

from attnlab.errors import RequestError
from attnlab.records.status import flocked
from attnlab.sweeps.sweep_folder import GRID, SEARCH, SweepFolder


@pytest.fixture
def folder(tmp_path) -> SweepFolder:
    folder = SweepFolder.named(tmp_path, "mine")
    folder.create()
    folder.update(
        kind=GRID, fixed={"task": "fib", "seed": "0"}, varying={"attention": ["none", "pooling"]}
    )
    return folder


@pytest.mark.parametrize(
    ("fixed", "varying"),
    [
        ({"task": "fib", "seed": "0"}, {"attention": ["none", "pooling"]}),
        ({"task": "fib", "seed": "0"}, {"attention": ["multi_head"]}),  # grown
        ({"task": "fib", "seed": "0", "attention": "none"}, {}),  # a part
        ({"task": "fib"}, {"seed": ["0", "1"], "attention": ["none"]}),  # another dimension
        ({"seed": "0"}, {"task": ["fib", "sunspots"], "attention": ["none"]}),
        ({"task": "fib", "seed": "0"}, {"model.units": ["4", "8"]}),
    ],
)
def test_a_grid_may_grow_and_shrink(folder, fixed, varying):
    before = folder.read()
    folder.require_same(GRID, fixed, varying)
    assert folder.read() == before


@pytest.mark.parametrize(
    ("kind", "fixed", "words"),
    [
        (GRID, {"task": "sunspots", "seed": "0"}, "task=fib, but this command has sunspots"),
        (GRID, {"task": "fib"}, "seed=0, but this command has its default"),
        (GRID, {"task": "fib", "seed": "0", "model": "rnn"}, "model=its default, but .* has rnn"),
        (SEARCH, {"task": "fib", "seed": "0"}, "mine is a grid, but this command is a search"),
    ],
)
def test_another_command_is_refused(folder, kind, fixed, words):
    with pytest.raises(RequestError, match=f"^sweep.name: .*{words}"):
        folder.require_same(kind, fixed, {"attention": ["none", "pooling"]})


def test_a_damaged_sweep_is_reported(folder):
    (folder.path / "sweep.json").write_text("{")
    with pytest.raises(RequestError, match="sweep.json: damaged"):
        folder.require_same(GRID, {}, {})


def test_launches_are_counted_and_varied_keys_are_added(folder):
    first = folder.begin_launch({"kind": GRID}, {"attention": ["none"], "seed": ["0"]})
    second = folder.begin_launch({"kind": GRID}, {"seed": ["1"]})
    assert (first, second) == (1, 2)
    known = folder.read()
    assert known["varying"] == {"attention": ["none", "pooling"], "seed": ["0", "1"]}
    assert (known["launches"], known["finished"], known["fixed"]["task"]) == (2, False, "fib")
    folder.stop_launch(1)
    assert folder.is_stopped(1) and not folder.is_stopped(2)


def test_parents_are_added(folder):
    folder.add_parent("fib", "1a")
    folder.add_parent("sunspots", "2b")
    assert folder.read()["parents"] == {"fib": "1a", "sunspots": "2b"}


def test_processes_dont_overwrite_each_other(folder):
    def add(which: str) -> None:
        own = SweepFolder(folder.path)  # as another process has it
        for number in range(20):
            own.add_parent(f"{which}{number}", which)

    threads = [threading.Thread(target=add, args=(which,)) for which in "abc"]
    with flocked(folder.path):  # while somebody begins the sweep's runs
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(folder.read()["parents"]) == 60


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", ".hidden"])
def test_invalid_folder_names_are_refused(tmp_path, name):
    with pytest.raises(RequestError, match="^sweep.name=.*: can't be the name of a folder"):
        SweepFolder.named(tmp_path, name)
