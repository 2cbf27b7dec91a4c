"""The run that `latest` means, for each command."""

from __future__ import annotations

import pytest
from run_folders import write_run

from attnlab.commands.options import find, find_trained, has_weights, is_completed, is_interrupted
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.forecasting.kind import KIND as FORECASTING
from attnlab.tasks.kinds import known_kind
from attnlab.tasks.translation.kind import KIND as TRANSLATION


@pytest.fixture
def runs(tmp_path) -> dict[str, RunDirectory]:
    """Runs in the order of their start, the last one damaged."""
    made = {
        "killed translation": write_run(tmp_path, task="translate", state="killed"),
        "translation": write_run(tmp_path, task="translate"),
        "masked words": write_run(tmp_path, task="masked_words"),
        "forecast": write_run(tmp_path, task="fib"),
        "killed forecast": write_run(tmp_path, task="sunspots", state="killed"),
        "failed": write_run(tmp_path, task="fib", state="failed"),
        "damaged": write_run(tmp_path, task="fib"),
    }
    for path in made["failed"].path.glob("weights/*"):
        path.unlink()
    (made["damaged"].path / "status.json").write_text("{")
    return made


def of(kind):
    return lambda task: known_kind(task) is kind


@pytest.mark.parametrize(
    ("kind", "epoch", "average", "meant"),
    [
        (TRANSLATION, None, None, "translation"),
        (FORECASTING, "best", None, "forecast"),
        (FORECASTING, "last", None, "killed forecast"),
        (FORECASTING, None, 2, "killed forecast"),
    ],
)
def test_latest_is_the_newest_run_with_usable_weights(
    tmp_path, runs, capsys, kind, epoch, average, meant
):
    run = find_trained("latest", tmp_path, epoch, average, of(kind))
    assert run.path == runs[meant].path
    assert capsys.readouterr().err == f"attnlab: latest is {runs[meant].name}\n"
    assert find_trained("latest", tmp_path, None).path == runs["forecast"].path


def test_latest_is_the_newest_that_fits(tmp_path, runs):
    for fits, meant in (
        ([is_completed], "forecast"),
        ([has_weights], "killed forecast"),
        ([is_interrupted, is_completed], "killed forecast"),
    ):
        assert find("latest", tmp_path, "a run", *fits).path == runs[meant].path
    (runs["failed"].checkpoint / "step_000000001.ckpt").touch()
    assert find("latest", tmp_path, "a run", is_interrupted).path == runs["failed"].path
    with pytest.raises(RequestError, match="status.json: damaged"):
        find("latest", tmp_path)


def test_a_run_that_a_command_cannot_use_is_refused(tmp_path, runs):
    with pytest.raises(RequestError, match="expected a run that .* use attnlab forecast"):
        find_trained(str(runs["forecast"].path), tmp_path, None, reads=of(TRANSLATION))
    with pytest.raises(RequestError, match="expected a completed run .* none among the 7 runs"):
        find_trained("latest", tmp_path, None, reads="translation".__eq__)
