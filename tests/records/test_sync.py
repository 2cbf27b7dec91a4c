"""`attnlab runs sync`: MLflow gets the missing entries of old and new run folders."""

from __future__ import annotations

import shutil

import pytest
from command_line import CommandLine
from run_folders import in_mlflow, make_run, three_logged

from attnlab.records.files import read_json
from attnlab.records.mlflow.settings import own_uri, store_uri
from attnlab.records.mlflow.store import Store
from attnlab.records.run_directory import RunDirectory

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own, when it reads back here


@pytest.fixture(scope="module")
def logged(tmp_path_factory, empty_store):
    """Three runs that sync logged, the last one failed; tests copy them."""
    return three_logged(tmp_path_factory.mktemp("logged"), empty_store)


@pytest.fixture
def attnlab(logged, tmp_path):
    """A command line with a copy of these runs, store and artifacts, as after a move."""
    shutil.copytree(logged.runs, tmp_path / "runs")
    return CommandLine(tmp_path)


def contents(store, run_id):
    """Everything MLflow has of a run, except ids and times."""
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
    tags = {key: run.data.tags.get(key) for key in own}
    info = (run.info.run_name, run.info.status)
    return info, run.data.params, tags, metrics, artifacts, models, sorted(inputs)


@pytest.fixture
def moved(trained, tmp_path, empty_store):
    """The folder of a complete run in another runs folder, with an empty store."""
    task = trained.folder.parents[1].name
    shutil.copytree(trained.folder.parents[1], tmp_path / "runs" / task)
    shutil.copy(empty_store, tmp_path / "runs" / "mlflow.db")
    return CommandLine(tmp_path)


def test_sync_logs_all_that_the_run_itself_had_logged_and_only_once(trained, moved, here):
    (path,) = moved.run_folders()
    done = here("runs", "sync")
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

    assert here("runs", "sync").out == "1 had everything already.\n"
    assert contents(Store(store_uri(moved.runs)), run_id) == after


def test_sync_adds_missing_entries(attnlab, here):
    path = attnlab.run_folders()[0]
    run = RunDirectory(path)
    before = in_mlflow(attnlab.runs)
    run.history.append({"epoch": 3, "seconds": 0.5, "val_loss": 0.125})
    run.plots.joinpath("loss.png").write_bytes(b"png")
    done = here("runs", "sync", path)
    assert done.code == 0, done.err
    assert "added" in done.out
    # The loss and the seconds; the figure and history.csv.
    assert "2 metric values, 2 files" in done.out
    client = Store(store_uri(attnlab.runs)).client
    run_id = before[path.name].info.run_id
    history = client.get_metric_history(run_id, "val_loss")
    assert [(point.step, point.value) for point in history] == [(1, 1.0), (2, 0.5), (3, 0.125)]
    assert client.list_artifacts(run_id, "plots")[0].path == "plots/loss.png"
    assert client.get_run(run_id).info.status == before[path.name].info.status


def test_sync_brings_deleted_runs_back_and_finds_them_without_an_id(attnlab, here):
    first, second, _ = attnlab.run_folders()
    assert here("runs", "sync").code == 0  # the folders have moved: their tag is put right
    store, found = Store(store_uri(attnlab.runs)), in_mlflow(attnlab.runs)
    store.client.delete_run(found[first.name].info.run_id)
    status = RunDirectory(second).status.read()
    RunDirectory(second).write_json("status.json", {**status, "mlflow_run_id": None})
    assert here("runs", "sync").out == "3 had everything already.\n"
    after = in_mlflow(attnlab.runs)
    assert {name: run.info.run_id for name, run in after.items()} == {
        name: run.info.run_id for name, run in found.items()
    }
    assert RunDirectory(second).status.read()["mlflow_run_id"] == found[second.name].info.run_id


def test_sync_reports_a_damaged_folder_and_logs_the_others(attnlab, here, empty_store):
    first, second, third = attnlab.run_folders()
    (first / "config.yaml").unlink()
    (second / "metrics.json").unlink()
    RunDirectory(second).status.write("completed")
    make_run(attnlab.runs, attention="luong_local", state="running")
    make_run(attnlab.runs, attention="luong_global", config={"tracking": {"enabled": False}})
    shutil.copy(empty_store, attnlab.runs / "mlflow.db")
    done = here("runs", "sync")
    assert done.code == 2
    not_logged, without = sorted(done.err.splitlines(), key=lambda line: "without" in line)
    assert not_logged.startswith(f"attnlab: not logged: {first}/config.yaml: damaged or missing")
    assert without.startswith(f"attnlab: logged without it: {second}/metrics.json: missing")
    assert done.out.splitlines()[-3:] == [
        "2 logged, 1 not logged, see above.",
        "1 still running: their own processes log them.",
        "1 trained with tracking.enabled=false: name them to log them.",
    ]
    assert set(in_mlflow(attnlab.runs)) == {second.name, third.name}
    assert first.is_dir()


def test_sync_to_another_store_doesnt_change_the_runs_own(attnlab, here, empty_store):
    before = [read_json(path / "status.json") for path in attnlab.run_folders()]
    other = attnlab.folder / "other"
    other.mkdir()
    shutil.copy(empty_store, other / "mlflow.db")
    done = here("runs", "sync", "--uri", store_uri(other))
    assert done.out.splitlines()[-1] == "3 logged."
    assert len(in_mlflow(other)) == 3
    assert [read_json(path / "status.json") for path in attnlab.run_folders()] == before
    again = here("runs", "sync", "--uri", store_uri(other))
    assert again.out == "3 had everything already.\n"
    down = here("runs", "sync", "--uri", "http://127.0.0.1:9")
    assert (down.code, down.out) == (2, "")
    assert "the server http://127.0.0.1:9 does not answer" in down.err


def test_sync_puts_the_runs_of_a_sweep_below_a_run_of_its_own(tmp_path, here, empty_store):
    everything = tmp_path / "runs"
    folder = everything / "sweeps" / "grid"
    folder.mkdir(parents=True)
    shutil.copy(empty_store, everything / "mlflow.db")
    sweep = {"command": ["seed=0,1"], "varying": {"seed": ["0", "1"]}, "fixed": {"task": "fib"}}
    RunDirectory(folder).write_json("sweep.json", {**sweep, "parents": {"fib": "gone"}})
    (folder / "table.csv").write_text("a\n1\n")
    runs = [make_run(everything, seed=seed, sweep="grid") for seed in (0, 1)]
    runs.append(make_run(everything, seed=2, state="killed", sweep="grid", pruned=True))
    assert here("runs", "sync").out.splitlines()[-1] == "3 logged."
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
    assert here("runs", "sync").out == "3 had everything already.\n"
    assert len(in_mlflow(everything)) == 4


def test_sync_restores_a_sweep(tmp_path, here, empty_store):
    everything = tmp_path / "runs"
    folder = everything / "sweeps" / "found"
    folder.mkdir(parents=True)
    shutil.copy(empty_store, everything / "mlflow.db")
    run = make_run(everything, sweep="found")
    moments = [f"2026-01-02T03:04:0{second}+00:00" for second in range(4)]
    results = {
        "jobs": "1 failed",
        "by": "validation",
        "best": "seed=0",
        "monitored": "val_loss 0.5",
    }
    sweep = {"parents": {"fib": "gone"}, "results": {"fib": results}, "finished": True}
    times = {"started": moments[0], "ended": moments[2], "updated": moments[3]}
    RunDirectory(folder).write_json("sweep.json", {**sweep, **times, "state": "failed"})
    assert here("runs", "sync").out.splitlines()[1:] == ["1 logged."]
    parent = in_mlflow(everything)["found"]
    first = 1767323040000
    assert (parent.info.start_time, parent.info.end_time) == (first, first + 2000)
    assert (parent.info.status, parent.data.metrics) == ("FAILED", {})  # so it has no charts
    assert parent.data.tags["attnlab.jobs"] == "1 failed"
    assert parent.data.tags["attnlab.best"] == "by validation: seed=0 with val_loss 0.5"
    note = parent.data.tags["mlflow.note.content"]
    assert note.startswith("**best run by validation: seed=0** with val_loss 0.5. `attnlab report ")
    # What MLflow missed of it is added, to the same run.
    more = {**results, "jobs": "2 failed"}
    sweep = read_json(folder / "sweep.json")
    RunDirectory(folder).write_json("sweep.json", {**sweep, "results": {"fib": more}})
    assert here("runs", "sync", run.path).code == 0
    found = in_mlflow(everything)["found"]
    assert found.info.run_id == parent.info.run_id
    assert found.data.tags["attnlab.jobs"] == "2 failed"


def test_an_edited_description_is_not_overwritten(attnlab, here):
    assert here("runs", "sync").code == 0
    store, (first, *_) = Store(store_uri(attnlab.runs)), attnlab.run_folders()
    run_id = in_mlflow(attnlab.runs)[first.name].info.run_id

    def described():
        return store.client.get_run(run_id).data.tags["mlflow.note.content"]

    text = described()
    assert text.startswith("**failed** after epoch 2: RunFailed: it was nan\n\n")
    RunDirectory(first).status.write("failed", error="RunFailed: it was inf")
    assert here("runs", "sync").code == 0
    assert described() == text.replace("nan", "inf")
    store.client.set_tag(run_id, "mlflow.note.content", "mine")
    assert here("runs", "sync").out == "3 had everything already.\n"
    assert described() == "mine"


MOVED = (
    ("runs", "artifact_uri"),
    ("experiments", "artifact_location"),
    ("logged_models", "artifact_location"),
)
