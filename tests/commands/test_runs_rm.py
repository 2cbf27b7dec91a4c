"""`attnlab runs rm`; stores in trouble."""

from __future__ import annotations

import os
import shutil

import pytest
from command_line import CommandLine, assert_refused
from run_folders import mlflow_runs, write_run

from attnlab.records.mlflow import connect, copy, store_uri
from attnlab.records.run_directory import RunDirectory, hold

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own, when it reads back here


@pytest.fixture(scope="module")
def logged(tmp_path_factory, empty_store):
    """Three runs in a store, the last one failed; tests copy them."""
    attnlab = CommandLine(tmp_path_factory.mktemp("logged"), empty_store)
    client = connect(store_uri(attnlab.runs), attnlab.runs)
    endings = {"none": "completed", "pooling": "completed", "bahdanau": "failed"}
    for seed, (attention, state) in enumerate(endings.items()):
        copy(write_run(attnlab.runs, attention, seed, state=state).path, client)
    return attnlab


@pytest.fixture
def attnlab(logged, tmp_path):
    """A command line with a copy of these runs, store and artifacts, as after a move."""
    shutil.copytree(logged.runs, tmp_path / "runs")
    return CommandLine(tmp_path)


def test_rm_removes_the_folder_and_the_mlflow_run_together(attnlab, here):
    states = {path: RunDirectory(path).status.state() for path in attnlab.run_folders()}
    here.run("runs", "rm", "--failed", "--yes")
    left = [path for path, state in states.items() if state != "failed"]
    names = {"/".join(path.parts[-2:]) for path in left}
    assert attnlab.run_folders() == left and {*mlflow_runs(attnlab.runs)} == names
    again = here("runs", "rm", "--failed", "--yes")
    assert again.code == 0
    assert again.out.startswith("None of the 2 runs satisfies all filters.")
    done = here("runs", "rm", left[0], "--yes")
    assert "Removed 1 run." in done.out and "mlflow gc" in done.out and left[0].name in done.out
    assert attnlab.run_folders() == left[1:] and len(mlflow_runs(attnlab.runs)) == 1


def test_rm_asks_for_confirmation(attnlab, here):
    for answer, left in ((b"n\n", 3), (b"y\n", 2)):
        person, terminal = os.openpty()
        os.write(person, answer)
        with open(terminal) as stdin:
            done = here("runs", "rm", "latest", stdin=stdin)
        os.close(person)
        assert done.code == 0 and "Remove 1 run?" in done.out
        assert ("Nothing was removed." in done.out) == (left == 3)
        assert len(attnlab.run_folders()) == len(mlflow_runs(attnlab.runs)) == left


def test_rm_refuses_what_is_unclear(attnlab, here):
    first, *_ = before = attnlab.run_folders()
    for words, said in (
        (["latest"], "--yes: give it, because there is no terminal on which to ask."),
        (["--yes"], "RUN: name runs, or give filters"),
        (["--yes", "latest", "--failed"], "RUN: name runs, or give filters"),
    ):
        assert_refused(here("runs", "rm", *words), said)
    (first / "status.json").write_text("{")
    shutil.copytree(first, first.parents[1] / "dot" / first.name)
    assert_refused(here("runs", "rm", first.name, "--yes"), "fits 2 runs")
    assert {*before} < {*attnlab.run_folders()} and len(mlflow_runs(attnlab.runs)) == 3


def test_rm_refuses_a_run_on_which_a_process_works(attnlab, here):
    (path, *_) = attnlab.run_folders()
    with hold(path):
        done = here("runs", "rm", path, "--yes")
    assert done.code == 2 and "another process is working in this folder" in done.err
    run = write_run(attnlab.runs, state="running")  # this process is its owner
    for words in ([run.path], ["--attention", "none"]):
        done = here("runs", "rm", *words, "--yes")
        assert done.code == 2
        assert done.err == f"attnlab: RUN: {run.path} is running: stop it first.\n"
    assert len(attnlab.run_folders()) == 4 and len(mlflow_runs(attnlab.runs)) == 3


def test_rm_removes_damaged_and_half_deleted_folders_once(attnlab, here):
    first, second, third = attnlab.run_folders()
    (first / "status.json").write_text("{")
    (second / "status.json").unlink()
    again = third.parent / ".." / third.parent.name / third.name
    words = [first, second.relative_to(attnlab.runs), third, again]
    done = here.run("runs", "rm", *words, "--yes")
    assert "Removed 3 runs." in done.out
    assert attnlab.run_folders() == [] and mlflow_runs(attnlab.runs) == {}


def test_a_removal_that_was_killed_is_finished_by_the_next(attnlab, here):
    first, second, _ = attnlab.run_folders()
    hidden = first.rename(first.with_name(f".removing-{first.name}"))
    assert first.name not in here("runs").out
    shutil.copytree(second, first.with_name("next"))
    assert here("runs", "rm", first.with_name("next"), "--yes").code == 0
    assert not hidden.exists()


def test_a_broken_store_is_reported_in_one_sentence_and_nothing_is_lost(attnlab, here):
    database, before = attnlab.runs / "mlflow.db", attnlab.run_folders()
    connect.cache_clear()
    database.write_text("nothing of the kind " * 100)
    content = database.read_bytes()
    for words in (["runs", "rm", "--failed", "--yes"], ["ui", "--port", "5999"]):
        done = here(*words)
        assert done.code == 2
        assert done.err.startswith("attnlab: MLflow: ") and len(done.err.splitlines()) == 1
    assert here("runs", "sync").code == 2
    assert attnlab.run_folders() == before and database.read_bytes() == content
