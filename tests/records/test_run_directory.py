"""Run folders: unique, readable at any moment, found by what a user types."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from attnlab.errors import RequestError
from attnlab.records.run_directory import (
    RunDirectory,
    find_run,
    hold,
    list_runs,
)


@pytest.fixture
def run(tmp_path):
    return RunDirectory.create(tmp_path, "fib", "bahdanau", 3)


def test_folder_is_named_by_task_attention_time_and_seed(tmp_path, run):
    place = run.path.relative_to(tmp_path)
    assert place.parts[:2] == ("fib", "bahdanau")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d_\d{6}_s3", place.name)
    assert run.name == place.as_posix()


def test_twenty_threads_get_twenty_folders(tmp_path):
    with ThreadPoolExecutor(20) as pool:
        runs = list(pool.map(lambda _: RunDirectory.create(tmp_path, "a", "b", 0), range(20)))
    assert len({run.path for run in runs}) == 20
    assert len(list_runs(tmp_path)) == 20


def test_the_newest_run_is_called_latest_if_latest_finds_it(tmp_path, run, monkeypatch):
    assert run.word == str(run.path)  # it lies somewhere else than verbs look
    monkeypatch.setenv("ATTNLAB_RUNS", str(tmp_path))
    assert run.word == "latest"
    newer = RunDirectory.create(tmp_path, "fib", "none", 0)
    assert (run.word, newer.word) == (str(run.path), "latest")


def test_a_new_run_is_running_while_it_is_held(run):
    with hold(run.path):
        status = run.status.read()
    assert (status["state"], status["epoch"]) == ("running", 0)
    assert run.status.state() == "killed"


def test_runs_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match=r"paths\.runs: expected a folder .*file"):
        RunDirectory.create(tmp_path / "file", "fib", "none", 0)


def test_a_damaged_file_is_named(run):
    for text in (None, "a: [", "- 1", "\x00"):
        if text is not None:
            (run.path / "config.yaml").write_text(text)
        with pytest.raises(RequestError, match=r"config\.yaml: damaged"):
            run.read_config()
    for content in ("{", "[]", '{"format": 2, "state": "dancing"}'):
        (run.path / "status.json").write_text(content)
        with pytest.raises(RequestError, match=r"status\.json: damaged"):
            RunDirectory.open(run.path)


# Opening


def test_a_folder_that_is_not_a_run_or_of_another_format_is_refused(tmp_path, run):
    for place in ("", "nothing", "fib/none"):
        with pytest.raises(RequestError, match=r"expected a folder FOLDER/TASK/ATTENTION/RUN"):
            RunDirectory.open(tmp_path / place)
    path = run.path / "status.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 1}))
    with pytest.raises(RequestError, match=r"format: expected 2, got 1\. .* train it again"):
        RunDirectory.open(run.path)
    (listed,) = list_runs(tmp_path)
    assert listed.status["state"] == "damaged"


def test_an_unfinished_run_is_refused_with_its_state(run):
    run.status.write("failed", epoch=4)
    with pytest.raises(RequestError, match=r"is not completed but failed \(epoch 4\): "):
        run.status.require_completed()
    run.status.write("completed")
    run.status.require_completed()


def test_threads_of_a_run_lose_no_entry_of_its_status(run):
    """One writes the epochs, while another writes the end after an interrupt."""
    with ThreadPoolExecutor(4) as threads:
        writes = [threads.submit(run.status.write, **{f"entry_{i}": i}) for i in range(100)]
    assert not any(write.exception() for write in writes)
    status = run.status.read()
    assert [status.get(f"entry_{i}") for i in range(100)] == [*range(100)]


# Finding


@pytest.fixture
def runs(tmp_path):
    """Three runs with known ids and starts, and MLflow's files next to them."""
    made = [RunDirectory.create(tmp_path, "fib", name, 0) for name in ("none", "pooling", "luong")]
    for number, (run, run_id) in enumerate(zip(made, ("abc123", "abd456", "ffe789"), strict=True)):
        run.status.write(mlflow_run_id=run_id, started=f"2024-05-0{number + 1}T00:00:00+00:00")
    (tmp_path / "artifacts" / "fib" / "abc123").mkdir(parents=True)
    (tmp_path / "mlflow.db").write_text("")
    return made


def test_runs_are_listed_in_order_of_start(tmp_path, runs):
    runs[0].status.write(started="2025-01-01T00:00:00+00:00")
    assert [entry.path for entry in list_runs(tmp_path)] == [
        run.path for run in (runs[1], runs[2], runs[0])
    ]
    assert list_runs(tmp_path / "nothing") == []


def test_a_run_is_found_by_its_path_its_name_and_the_start_of_its_id(tmp_path, runs, monkeypatch):
    wanted = runs[1].path
    assert find_run(str(wanted), tmp_path / "elsewhere").path == wanted
    for text in (runs[1].name, "abd456", "abd"):
        assert find_run(text, tmp_path).path == wanted
    renamed = wanted.rename(wanted.with_name("mine"))
    assert find_run("mine", tmp_path).path == renamed
    monkeypatch.chdir(wanted.parent)
    assert find_run("mine", tmp_path / "elsewhere").path == renamed


def test_ambiguous_prefix_lists_the_runs(tmp_path, runs):
    with pytest.raises(RequestError, match="'ab' fits 2 runs") as caught:
        find_run("ab", tmp_path)
    assert runs[0].name in str(caught.value)
    assert runs[1].name in str(caught.value)


def test_a_failed_search_names_the_folder(tmp_path, runs):
    for text in ("xyz", "", "~nobody_at_all/x", "x" * 300, "a\0b"):
        with pytest.raises(RequestError, match="none of the 3 runs in") as caught:
            find_run(text, tmp_path)
        assert str(tmp_path) in str(caught.value)


def test_damaged_run_is_listed_and_hides_no_other(tmp_path, runs):
    (runs[0].path / "status.json").write_text("{")
    listed = {entry.run.path: entry.status for entry in list_runs(tmp_path)}
    status = listed[runs[0].path]
    assert (status["state"], status["task"], status["seed"]) == ("damaged", "fib", 0)
    assert "status.json" in status["error"]
    assert find_run("abd", tmp_path).path == runs[1].path
