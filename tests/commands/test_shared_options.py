"""The run that `latest` means, for each command."""

from __future__ import annotations

import pytest
from run_folders import make_run

from attnlab.commands.options import find, find_trained, has_weights, is_completed, is_interrupted
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.forecasting.kind import KIND as FORECASTING
from attnlab.tasks.translation.kind import KIND as TRANSLATION


@pytest.fixture
def runs(tmp_path) -> dict[str, RunDirectory]:
    """Runs in the order of their start, the last one damaged."""
    made = {
        "killed translation": make_run(tmp_path, "translate", state="killed"),
        "translation": make_run(tmp_path, "translate"),
        "masked words": make_run(tmp_path, "masked_words"),
        "forecast": make_run(tmp_path, "fib"),
        "killed forecast": make_run(tmp_path, "sunspots", state="killed"),
        "failed": make_run(tmp_path, "fib", state="failed"),
        "damaged": make_run(tmp_path, "fib"),
    }
    for path in made["failed"].path.glob("weights/*"):
        path.unlink()
    for number, run in enumerate(made.values()):
        run.status.write(started=f"2026-01-0{number + 1}T00:00:00+00:00")
    (made["damaged"].path / "status.json").write_text("{")
    return made


@pytest.mark.parametrize(
    ("kind", "epoch", "average", "meant"),
    [
        (TRANSLATION, None, None, "translation"),
        (FORECASTING, "best", None, "forecast"),
        (FORECASTING, "last", None, "killed forecast"),
        (FORECASTING, None, 2, "killed forecast"),
        (None, None, None, "forecast"),
    ],
)
def test_latest_is_the_newest_run_with_usable_weights(
    tmp_path, runs, capsys, kind, epoch, average, meant
):
    run = find_trained("latest", str(tmp_path), kind, epoch, average)
    assert run.path == runs[meant].path
    assert capsys.readouterr().err == f"attnlab: latest is {runs[meant].name}\n"


@pytest.mark.parametrize(
    ("fits", "meant"),
    [
        ([is_completed], "forecast"),
        ([has_weights], "killed forecast"),
        ([is_interrupted, is_completed], "killed forecast"),
    ],
)
def test_latest_is_the_newest_that_fits(tmp_path, runs, fits, meant):
    assert find("latest", tmp_path, "a run", *fits).path == runs[meant].path
    (runs["failed"].checkpoint / "step_000000001.ckpt").touch()
    assert find("latest", tmp_path, "a run", is_interrupted).path == runs["failed"].path


def test_latest_is_of_a_task_that_the_command_reads(tmp_path, runs):
    reads = "masked_words".__eq__
    run = find_trained("latest", str(tmp_path), None, None, reads=reads)
    assert run.path == runs["masked words"].path
    with pytest.raises(RequestError, match="can't use a run of task=fib"):
        find_trained(str(runs["forecast"].path), str(tmp_path), None, None, reads=reads)


def test_without_a_usable_run_the_message_says_what_is_missing(tmp_path):
    make_run(tmp_path, "fib", state="failed")
    with pytest.raises(RequestError) as refused:
        find_trained("latest", str(tmp_path), TRANSLATION, None)
    assert str(refused.value).startswith(
        "RUN: latest: expected a completed run of translation with saved weights that this "
        f"command can use, but there is none among the 1 runs in {str(tmp_path)!r}."
    )


def test_latest_reports_a_damaged_run(tmp_path, runs):
    with pytest.raises(RequestError, match="status.json: damaged"):
        find("latest", tmp_path)
