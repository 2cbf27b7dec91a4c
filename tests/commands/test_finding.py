"""The run that `latest` means, for each command."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_folders import make_run

from attnlab.cli import main
from attnlab.commands.finding import (
    ANY,
    COMPLETED,
    INTERRUPTED,
    LONGER,
    WITH_WEIGHTS,
    find,
    find_trained,
)
from attnlab.encoders.opening import open_source
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
        (FORECASTING, "average", None, "killed forecast"),
        (FORECASTING, None, 2, "killed forecast"),
        (None, None, None, "forecast"),
    ],
)
def test_latest_is_the_newest_run_with_usable_weights(
    tmp_path, runs, capsys, kind, epoch, average, meant
):
    found = find_trained("latest", str(tmp_path), kind, epoch, average)
    assert found.path == runs[meant].path
    assert capsys.readouterr().err == f"attnlab: latest is {runs[meant].name}\n"


@pytest.mark.parametrize(
    ("usable", "meant"),
    [
        ([COMPLETED], "forecast"),
        ([WITH_WEIGHTS], "killed forecast"),
        ([INTERRUPTED, COMPLETED], "killed forecast"),
        ([LONGER], "killed forecast"),
    ],
)
def test_latest_is_the_newest_that_is_usable(tmp_path, runs, usable, meant):
    assert find("latest", tmp_path, *usable).path == runs[meant].path


def test_resume_latest_chooses_a_failed_run_with_a_checkpoint(tmp_path, runs):
    (runs["failed"].checkpoint / "step_000000001.ckpt").touch()
    assert find("latest", tmp_path, INTERRUPTED).path == runs["failed"].path


def test_runs_of_preferred_tasks_come_first(tmp_path, runs):
    def prefers(task: str) -> bool:
        return task == "masked_words"

    found = find_trained("latest", str(tmp_path), None, None, prefers=prefers)
    assert found.path == runs["masked words"].path


def test_without_a_usable_run_the_message_says_what_is_missing(tmp_path):
    make_run(tmp_path, "fib", state="failed")
    with pytest.raises(RequestError) as refused:
        find_trained("latest", str(tmp_path), TRANSLATION, None)
    assert str(refused.value).startswith(
        "RUN: latest: expected a completed run of translation with saved weights, but there is "
        f"none among the 1 runs in {str(tmp_path)!r}."
    )


def test_latest_reports_a_damaged_run(tmp_path, runs):
    with pytest.raises(RequestError, match="status.json: damaged"):
        find("latest", tmp_path, ANY)


def test_an_encoder_is_named_by_its_folder(tmp_path, runs, monkeypatch):
    monkeypatch.setenv("ATTNLAB_RUNS", str(tmp_path))
    with pytest.raises(RequestError, match=f"model.path={runs['masked words'].path}"):
        open_source("latest")


def test_a_command_reports_which_run_it_uses(tmp_path, runs, capsys):
    code = main(["fill", "latest", "[MASK]", "--epoch", "7", "--runs", str(tmp_path)])
    name = Path(runs["masked words"].path).name
    said = capsys.readouterr().err
    assert code == 2 and said.startswith(f"attnlab: latest is masked_words/none/{name}\n")
