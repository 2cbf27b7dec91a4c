"""`attnlab runs rm` and `attnlab runs sync` by the real command line; stores in trouble."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from command_line import TINY, CommandLine, Outcome

from attnlab.cli import main
from attnlab.errors import RequestError
from attnlab.records.files import read_json
from attnlab.records.lock import FolderLock
from attnlab.records.mlflow import tracking
from attnlab.records.mlflow.store import Store, own_uri
from attnlab.records.mlflow.tracker import store_uri
from attnlab.records.removal import finish_removals, remove_run
from attnlab.records.run_directory import RunDirectory

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own, when it reads back here


def make_run(runs, task="fib", attention="none", seed=0, state="completed", config=(), **entries):
    """A run's folder without a network, as far as these commands look at it."""
    document = {
        "task": {"name": task},
        "attention": {"name": attention},
        "model": {"name": "rnn", "units": 4},
        "tracking": {"enabled": True, "uri": None, "weights": "none"},
        "seed": seed,
        **dict(config),
    }
    run = RunDirectory.create(runs, task, attention, seed, document, config_hash="abc")
    for epoch in (1, 2):
        run.append_history({"epoch": epoch, "seconds": 0.5, "val_loss": 1 / epoch})
    if state == "completed":
        run.write_json(
            "metrics.json",
            {
                **{"test": {"rmse": 0.25, "mae": 0.125}, "metric": "rmse", "skill": 0.5},
                **{"best_epoch": 2, "best_value": 0.5, "monitor": "val_loss", "parameters": 7},
                **{"baselines": {"mean": {"rmse": 0.5}}, "seconds": 1.0},
            },
        )
    run.write_status(state, epoch=2, **entries)
    return run


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """Three runs that sync logged where no store was, the last of them failed; to be copied."""
    attnlab = CommandLine(tmp_path_factory.mktemp("logged"))
    make_run(attnlab.runs, "fib", "none", 0)
    make_run(attnlab.runs, "fib", "pooling", 1)
    make_run(attnlab.runs, "fib", "bahdanau", 2, "failed", error="RunFailed: it was nan")
    make = tracking.create_store

    def make_and_keep(uri, artifact_root):
        make(uri, artifact_root)
        if not (attnlab.folder / "empty.db").exists():  # each run that is logged asks again
            shutil.copy(attnlab.runs / "mlflow.db", attnlab.folder / "empty.db")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracking, "create_store", make_and_keep)
        assert main(["runs", "sync", "--runs", str(attnlab.runs)]) == 0
    assert len(in_mlflow(attnlab.runs)) == 3
    return attnlab


@pytest.fixture
def empty_store(logged):
    """A database that MLflow has just made, to be copied: making one takes seconds."""
    return logged.folder / "empty.db"


@pytest.fixture
def attnlab(logged, tmp_path):
    """A command line with a copy of these runs, store and artifacts, as after a move."""
    shutil.copytree(logged.runs, tmp_path / "runs")
    return CommandLine(tmp_path)


@pytest.fixture
def inside(tmp_path, monkeypatch, capsys):
    """The same command line within this process, which imports MLflow only once."""
    monkeypatch.setenv("ATTNLAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: SIM115

    def command(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        return Outcome(code, *capsys.readouterr())

    return command


def in_mlflow(runs, experiment="fib"):
    """What MLflow has of each run: folder's name -> run."""
    client = Store(store_uri(runs)).client
    found = client.get_experiment_by_name(experiment)
    runs_there = client.search_runs([found.experiment_id]) if found else []
    return {Path(run.data.tags["attnlab.folder"]).name: run for run in runs_there}


def put_in_trouble(path, trouble):
    """A database that is of an older MLflow, or none at all."""
    if trouble == "no database":
        path.write_text("nothing of the kind " * 100)
        return
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE alembic_version SET version_num = 'bd07f7e963c5'")
        database.commit()


@contextlib.contextmanager
def locked(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        yield


# rm


def test_rm_removes_the_folder_and_the_mlflow_run_together(attnlab, inside):
    gone, *kept = attnlab.run_folders()
    done = inside("runs", "rm", gone.name, "--yes", "--attention=bahdanau")
    assert (done.code, done.out) == (2, "")
    done = inside("runs", "rm", gone, "--yes")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "Removed 1 run."
    assert gone.name in done.out
    assert attnlab.run_folders() == kept
    assert set(os.listdir(gone.parent)) == {
        path.name for path in kept if path.parent == gone.parent
    }
    assert set(in_mlflow(attnlab.runs)) >= {path.name for path in kept}
    assert len(in_mlflow(attnlab.runs)) == 2


def test_rm_failed_removes_what_failed_and_nothing_else(attnlab, inside):
    states = {path: RunDirectory(path).state() for path in attnlab.run_folders()}
    done = inside("runs", "rm", "--failed", "--yes")
    assert done.code == 0, done.err
    assert attnlab.run_folders() == [path for path, state in states.items() if state != "failed"]
    assert {run.info.status for run in in_mlflow(attnlab.runs).values()} == {"FINISHED"}
    again = inside("runs", "rm", "--failed", "--yes")
    assert (again.code, again.out) == (0, "None of the 2 runs fits all filters.\n")


def test_rm_without_a_terminal_wants_yes(attnlab, inside):
    before = attnlab.run_folders()
    done = inside("runs", "rm", "latest")
    assert done.code == 2
    assert done.err == "attnlab: --yes: expected, as there is no terminal to ask on.\n"
    assert attnlab.run_folders() == before


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("answer", "left"), [("n", 3), ("y", 2)])
def test_rm_asks(attnlab, answer, left):
    import pty
    import subprocess

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "attnlab", "runs", "rm", "latest"]
    environment = attnlab.environment
    with subprocess.Popen(
        command, env=environment, cwd=attnlab.folder, stdin=theirs, stdout=subprocess.PIPE
    ) as process:
        os.write(ours, answer.encode() + b"\n")
        out = process.communicate(timeout=120)[0].decode()
    os.close(ours), os.close(theirs)
    assert process.returncode == 0
    assert "Remove 1 run (" in out
    assert "and what MLflow has of it? [y/N]" in out
    assert ("Nothing was removed." in out) == (answer == "n")
    assert len(attnlab.run_folders()) == left
    assert len(in_mlflow(attnlab.runs)) == left


def test_rm_wants_to_know_which(attnlab, inside):
    for words in ([], ["latest", "--failed"]):
        done = inside("runs", "rm", "--yes", *words)
        assert done.code == 2
        assert done.err.startswith("attnlab: RUN: expected runs or filters that choose them")
    done = inside("runs", "--failed", "rm", "--yes")
    assert done.code == 2
    assert "--failed: expected behind rm: attnlab runs rm --failed" in done.err
    assert len(attnlab.run_folders()) == 3


def test_rm_leaves_a_run_that_is_under_way(attnlab, inside):
    run = make_run(attnlab.runs, state="running")  # this process is its owner
    done = inside("runs", "rm", run.path, "--yes")
    assert done.code == 2
    assert done.err == f"attnlab: RUN: {run.path} is running: end it first.\n"
    done = inside("runs", "rm", "--attention", "none", "--yes")
    assert done.code == 0
    assert done.out.startswith("1 of them running: these stay.\n")
    assert run.path in attnlab.run_folders()
    assert len(attnlab.run_folders()) == 3


def test_rm_of_a_run_that_another_process_owns_changes_nothing(attnlab, inside):
    (path, *_) = attnlab.run_folders()
    with FolderLock(path):
        done = inside("runs", "rm", path, "--yes")
    assert done.code == 2
    assert f"process {os.getpid()}" in done.err
    assert path.is_dir()
    assert len(in_mlflow(attnlab.runs)) == 3


def test_rm_takes_damaged_and_half_deleted_folders(attnlab, inside):
    first, second, third = attnlab.run_folders()
    (first / "status.json").write_text("{")
    (second / "status.json").unlink()
    assert inside("runs", "--state", "damaged").out.count("damaged") >= 2
    done = inside("runs", "rm", first, second.relative_to(attnlab.runs), "--yes")
    assert done.code == 0, done.err
    assert attnlab.run_folders() == [third]
    assert set(in_mlflow(attnlab.runs)) == {third.name}


def test_a_store_that_refuses_gives_the_folder_its_name_back(attnlab, monkeypatch):
    def refuse(store, run_id):
        raise RequestError("MLflow: no.")

    monkeypatch.setattr(Store, "remove", refuse)
    (path, *_) = before = attnlab.run_folders()
    files = sorted(path.rglob("*"))
    with pytest.raises(RequestError, match="MLflow: no"):
        remove_run(path)
    assert attnlab.run_folders() == before
    assert sorted(path.rglob("*")) == files


def killed_half_way(monkeypatch, folder, **options):
    """Remove a run as a process does that gets no further than hiding its folder."""

    def kill(hidden, *_):
        FolderLock(hidden).release()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("attnlab.records.removal._remove_hidden", kill)
        remove_run(folder, **options)


def test_a_removal_that_was_killed_is_finished_by_the_next(attnlab, inside, monkeypatch):
    first, second, third = attnlab.run_folders()
    killed_half_way(monkeypatch, first)
    killed_half_way(monkeypatch, second)
    (hidden,) = second.parent.glob(f".removing-*{second.name}")
    (hidden / "status.json").unlink()  # MLflow's copy had gone
    assert first.name not in inside("runs").out
    assert finish_removals(attnlab.runs) == 2
    assert not list(attnlab.runs.glob("fib/*/.removing-*"))
    assert set(in_mlflow(attnlab.runs)) == {second.name, third.name}
    assert finish_removals(attnlab.runs) == 0


def test_a_killed_removal_of_the_folder_only_leaves_mlflow_alone(attnlab, inside, monkeypatch):
    first, second, third = attnlab.run_folders()
    killed_half_way(monkeypatch, first, keep_mlflow=True)
    assert inside("runs", "rm", second, "--yes").code == 0
    assert attnlab.run_folders() == [third]
    assert not list(attnlab.runs.glob("fib/*/.removing-*"))
    assert set(in_mlflow(attnlab.runs)) == {first.name, third.name}


# Stores in trouble


@pytest.mark.parametrize("trouble", ["older schema", "no database"])
def test_a_store_in_trouble_is_one_sentence_and_nothing_is_lost(attnlab, trouble):
    database, before = attnlab.runs / "mlflow.db", attnlab.run_folders()
    put_in_trouble(database, trouble)
    content = database.read_bytes()
    sentence = {
        "older schema": f"mlflow db upgrade sqlite:///{database}",
        "no database": f"{database} is no SQLite database: move it away",
    }[trouble]
    for words in (["sync"], ["rm", "--failed", "--yes"]):
        done = attnlab("runs", *words)
        assert done.code == 2
        assert done.err.startswith("attnlab: MLflow: ")
        assert sentence in done.err
        assert len(done.err.splitlines()) == 1
    assert "--keep-mlflow removes folders only" in done.err
    shown = attnlab("ui", "--port", 5999)
    assert shown.code == 2
    assert sentence in shown.err
    assert len(shown.err.splitlines()) == 1
    assert attnlab.run_folders() == before
    assert database.read_bytes() == content
    assert attnlab("runs", "rm", "--failed", "--yes", "--keep-mlflow").code == 0
    assert len(attnlab.run_folders()) == 2
    assert database.read_bytes() == content


def test_a_locked_store_is_one_sentence_and_nothing_is_lost(attnlab, inside, monkeypatch):
    monkeypatch.setattr("attnlab.records.mlflow.store_check.PATIENCE_SECONDS", 0.1)
    before = attnlab.run_folders()
    with locked(attnlab.runs / "mlflow.db"):
        done = inside("runs", "rm", "--failed", "--yes")
        assert done.code == 2
        assert "mlflow.db is locked by another process" in done.err
        assert len(done.err.splitlines()) == 1
    assert attnlab.run_folders() == before
    assert len(in_mlflow(attnlab.runs)) == 3
    assert inside("runs", "rm", "--failed", "--yes").code == 0


def test_ui_names_the_command_that_makes_a_missing_store_again(attnlab, inside):
    (attnlab.runs / "mlflow.db").unlink()  # as it was when sync logged the three runs
    shown = inside("ui")
    assert shown.code == 2
    assert "does not exist: attnlab runs sync makes it again" in shown.err


def test_a_run_trains_on_over_a_store_in_trouble_and_says_so_once(attnlab):
    put_in_trouble(attnlab.runs / "mlflow.db", "older schema")
    before = set(attnlab.run_folders())
    done = attnlab("task=fib", *TINY)
    assert done.code == 0
    (warning,) = done.err.splitlines()
    assert warning.startswith("attnlab: MLflow lacks some or all of this run (")
    assert f"mlflow db upgrade sqlite:///{attnlab.runs}/mlflow.db); the run folder" in warning
    assert warning.endswith("the run folder has all, and attnlab runs sync logs it again")
    (path,) = set(attnlab.run_folders()) - before
    assert RunDirectory(path).state() == "completed"


# sync


def contents(store, run_id):
    """All that MLflow has of a run, but ids and times of day."""
    client = store.client
    run = client.get_run(run_id)
    metrics = {
        key: sorted((point.step, point.value) for point in client.get_metric_history(run_id, key))
        for key in run.data.metrics
    }
    artifacts = set()
    for folder in (None, "plots", "weights"):
        artifacts |= {(e.path, e.file_size) for e in client.list_artifacts(run_id, folder)}
    models = [output.step for output in run.outputs.model_outputs]
    inputs = [
        (i.dataset.name, i.dataset.profile, i.tags[0].value) for i in run.inputs.dataset_inputs
    ]
    own = ("mlflow.source.name", "attnlab.config_hash", "mlflow.runName")
    tags = {key: run.data.tags[key] for key in own}
    info = (run.info.run_name, run.info.status)
    return info, run.data.params, tags, metrics, artifacts, models, sorted(inputs)


@pytest.fixture
def moved(trained, tmp_path, empty_store):
    """The folder of a whole run, alone in another runs folder, with a store that has no run."""
    task = trained.folder.parents[1].name
    shutil.copytree(trained.folder.parents[1], tmp_path / "runs" / task)
    shutil.copy(empty_store, tmp_path / "runs" / "mlflow.db")
    return CommandLine(tmp_path)


def test_sync_logs_all_that_the_run_itself_had_logged_and_only_once(trained, moved, inside):
    (path,) = moved.run_folders()
    done = inside("runs", "sync")
    assert done.code == 0, done.err
    run_id = read_json(path / "status.json")["mlflow_run_id"]
    task = "/".join(path.parts[-3:])
    assert done.out == f"{task}: logged as {run_id}\n1 logged.\n"
    original = read_json(trained.folder / "status.json")
    before = contents(Store(store_uri(trained.attnlab.runs)), original["mlflow_run_id"])
    after = contents(Store(store_uri(moved.runs)), run_id)
    for old, new in zip(before, after, strict=True):
        assert new == old
    info = Store(store_uri(moved.runs)).client.get_run(run_id).info
    then = Store(store_uri(trained.attnlab.runs)).client.get_run(original["mlflow_run_id"]).info
    assert abs(info.start_time - then.start_time) < 5000
    assert abs(info.end_time - then.end_time) < 5000
    assert read_json(path / "status.json")["updated"] == original["updated"]
    assert own_uri(path, {}) == store_uri(moved.runs)  # MLflow's environment is as it was

    assert inside("runs", "sync").out == "1 had everything already.\n"
    assert contents(Store(store_uri(moved.runs)), run_id) == after


def test_sync_adds_what_is_lacking(attnlab, inside):
    path = attnlab.run_folders()[0]
    run = RunDirectory(path)
    before = in_mlflow(attnlab.runs)
    run.append_history({"epoch": 3, "seconds": 0.5, "val_loss": 0.125})
    run.plots.joinpath("loss.png").write_bytes(b"png")
    done = inside("runs", "sync", path)
    assert done.code == 0, done.err
    assert "added" in done.out
    assert "2 metric values, 2 files" in done.out  # the figure and history.csv
    client = Store(store_uri(attnlab.runs)).client
    run_id = before[path.name].info.run_id
    history = client.get_metric_history(run_id, "val_loss")
    assert [(point.step, point.value) for point in history] == [(1, 1.0), (2, 0.5), (3, 0.125)]
    assert client.list_artifacts(run_id, "plots")[0].path == "plots/loss.png"
    assert client.get_run(run_id).info.status == before[path.name].info.status


def test_sync_brings_deleted_runs_back_and_finds_them_without_an_id(attnlab, inside):
    first, second, _ = attnlab.run_folders()
    assert inside("runs", "sync").code == 0  # the folders have moved: their tag is put right
    store, found = Store(store_uri(attnlab.runs)), in_mlflow(attnlab.runs)
    store.client.delete_run(found[first.name].info.run_id)
    status = RunDirectory(second).read_status()
    RunDirectory(second).write_json("status.json", {**status, "mlflow_run_id": None})
    assert inside("runs", "sync").out == "3 had everything already.\n"
    after = in_mlflow(attnlab.runs)
    assert {name: run.info.run_id for name, run in after.items()} == {
        name: run.info.run_id for name, run in found.items()
    }
    assert RunDirectory(second).read_status()["mlflow_run_id"] == found[second.name].info.run_id


def test_sync_says_what_is_wrong_with_a_folder_and_logs_the_others(attnlab, inside, empty_store):
    first, second, third = attnlab.run_folders()
    (first / "config.yaml").unlink()
    (second / "metrics.json").unlink()
    RunDirectory(second).write_status("completed")
    make_run(attnlab.runs, attention="luong_local", state="running")
    make_run(attnlab.runs, attention="luong_global", config={"tracking": {"enabled": False}})
    shutil.copy(empty_store, attnlab.runs / "mlflow.db")
    done = inside("runs", "sync")
    assert done.code == 2
    not_logged, without = sorted(done.err.splitlines(), key=lambda line: "without" in line)
    assert not_logged.startswith(f"attnlab: not logged: {first}/config.yaml: damaged or missing")
    assert without.startswith(f"attnlab: logged without it: {second}/metrics.json: missing")
    assert done.out.splitlines()[-3:] == [
        "2 logged, 1 not logged, see above.",
        "1 running: MLflow gets them from who runs them.",
        "1 trained with tracking.enabled=false: name them to log them.",
    ]
    assert set(in_mlflow(attnlab.runs)) == {second.name, third.name}
    assert first.is_dir()


def test_sync_to_another_store_leaves_the_own_one_alone(attnlab, inside, empty_store):
    before = [read_json(path / "status.json") for path in attnlab.run_folders()]
    other = attnlab.folder / "other"
    other.mkdir()
    shutil.copy(empty_store, other / "mlflow.db")
    done = inside("runs", "sync", "--uri", store_uri(other))
    assert done.out.splitlines()[-1] == "3 logged."
    assert len(in_mlflow(other)) == 3
    assert [read_json(path / "status.json") for path in attnlab.run_folders()] == before
    again = inside("runs", "sync", "--uri", store_uri(other))
    assert again.out == "3 had everything already.\n"
    down = inside("runs", "sync", "--uri", "http://127.0.0.1:9")
    assert (down.code, down.out) == (2, "")
    assert "the server http://127.0.0.1:9 does not answer" in down.err


def test_sync_puts_the_runs_of_a_sweep_below_a_run_of_its_own(tmp_path, inside, empty_store):
    everything = tmp_path / "runs"
    folder = everything / "sweeps" / "grid"
    folder.mkdir(parents=True)
    shutil.copy(empty_store, everything / "mlflow.db")
    sweep = {"command": ["seed=0,1"], "varying": {"seed": ["0", "1"]}, "fixed": {"task": "fib"}}
    RunDirectory(folder).write_json("sweep.json", {**sweep, "parents": {"fib": "gone"}})
    (folder / "table.csv").write_text("a\n1\n")
    runs = [make_run(everything, seed=seed, sweep="grid") for seed in (0, 1)]
    runs.append(make_run(everything, seed=2, state="killed", sweep="grid", pruned=True))
    assert inside("runs", "sync").out.splitlines()[-1] == "3 logged."
    found = in_mlflow(everything)
    parent = found.pop("grid")
    assert parent.info.run_name == "grid"
    assert parent.data.params == {"varies": "seed", "seed": "0, 1", "task": "fib"}
    assert set(found) == {run.path.name for run in runs}
    for run in found.values():
        assert run.data.tags["mlflow.parentRunId"] == parent.info.run_id
        assert run.data.tags["attnlab.sweep"] == "grid"
    pruned = found[runs[2].path.name]
    assert (pruned.info.status, pruned.data.tags["attnlab.pruned"]) == ("KILLED", "true")
    assert read_json(folder / "sweep.json")["parents"] == {"fib": parent.info.run_id}
    assert inside("runs", "sync").out == "3 had everything already.\n"
    assert len(in_mlflow(everything)) == 4
