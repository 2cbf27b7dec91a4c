"""`attnlab resume`: the same bits, the same folder, the same MLflow run; what it refuses."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from pathlib import Path

import pytest
from same_runs import assert_same_run

from attnlab.cli import main
from attnlab.errors import Pruned, RequestError, RunFailed
from attnlab.internals import import_tensorflow
from attnlab.records.run_directory import RunDirectory, hold
from attnlab.runner.resume import resume, run
from attnlab.runner.train import SweepMember
from attnlab.tasks.forecasting.models import ForecastLearner, RecurrentForecaster

import_tensorflow()

pytestmark = pytest.mark.usefixtures("no_figures")

SMALL = (
    *("task=fib", "task.count=61", "task.history=5", "model.units=3", "trainer.batch_size=7"),
    *("trainer.epochs=4", "trainer.jit=false", "model.dropout=0.3", "attention.dropout=0.2"),
    "model.cell=simple",
)


COPIES = itertools.count()


class Stopped(BaseException):
    """Ends a run like a kill: no code of the program handles it."""


def interrupted(config, epochs: int) -> RunDirectory:
    """The folder of an interrupted run, as a dead process leaves it."""

    def stop(row):
        if row["epoch"] == epochs:
            raise Stopped

    return stopped_run(config, SweepMember("stopping", on_epoch=stop))


def stopped_run(config, sweep: SweepMember | None = None) -> RunDirectory:
    """The folder of a stopped run among runs of its own, for `run` reuses a completed run."""
    runs = Path(config.paths.runs) / f"stopped{next(COPIES)}"
    with pytest.raises((Stopped, Pruned)):
        run(config.with_values({"paths.runs": str(runs)}), sweep)
    (folder,) = runs.glob("*/*/*")
    return RunDirectory.open(folder)


@pytest.fixture(scope="module")
def config(compose):
    return compose(*SMALL)


@pytest.fixture(scope="module")
def whole(config, no_figures) -> Path:
    """The same run, never interrupted."""
    return run(config)


def copied(path: Path) -> RunDirectory:
    """A copy of a run's folder next to it, which a test may change.

    Its name is none that a run takes: a second run of one second is called ``..._2``.
    """
    copy = path.with_name(f"copy{next(COPIES)}_{path.name}")
    return RunDirectory.open(shutil.copytree(path, copy))


@pytest.fixture(scope="module")
def stopped(config, no_figures) -> RunDirectory:
    """The run, stopped after two of four epochs; tests copy it."""
    return interrupted(config, 2)


@pytest.fixture
def folder(stopped) -> RunDirectory:
    """A copy of a run's folder that a test resumes."""
    return copied(stopped.path)


@pytest.mark.parametrize("epochs", [1, 4])
def test_a_resumed_run_ends_with_the_same_bits(config, whole, epochs):
    folder = interrupted(config, epochs)
    assert resume(folder) == folder.path
    assert_same_run(folder.path, whole)


def test_a_run_is_resumed_with_the_compiler_that_it_started_with(compose, whole, monkeypatch):
    """The processor may be another one by then; `whole` trained as a graph."""
    monkeypatch.setattr(RecurrentForecaster, "faster_with_xla", False)
    folder = interrupted(compose(*SMALL, "trainer.jit=auto"), 2)
    assert folder.status.read()["xla"] is False
    monkeypatch.setattr(RecurrentForecaster, "faster_with_xla", True)
    assert_same_run(resume(folder), whole)


DECODER = ("task=sunspots", "task.horizon=3", "model.at_once=2", "model.layers=2")


@pytest.mark.parametrize(
    "settings",
    [
        # Schedule and stopping look at the scores, optimizers have states.
        ("schedule=plateau", "optimizer=rmsprop", "optimizer.learning_rate=0.05"),
        ("trainer.patience=1", "optimizer.learning_rate=0.05", "trainer.epochs=6"),
        pytest.param(
            (*DECODER, "trainer.batch_size=997", "attention.dropout=0"), marks=pytest.mark.slow
        ),
    ],
)
def test_runs_of_other_settings_resume_exactly(compose, settings):
    config = compose(*(SMALL[2:] if settings[0] == "task=sunspots" else SMALL), *settings)
    whole, folder = run(config), interrupted(config, 1)
    assert_same_run(resume(folder), whole)


def test_without_a_checkpoint_the_run_restarts(folder, whole):
    for path in folder.checkpoint.iterdir():
        path.unlink()
    assert_same_run(resume(folder), whole)


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(compose, whole, caplog):
    folder = interrupted(compose(*SMALL, "trainer.checkpoint_every_seconds=0"), 3)
    before, newest = sorted(folder.checkpoint.iterdir())
    newest.write_bytes(newest.read_bytes()[:-10])
    assert_same_run(resume(folder), whole)
    assert f"{newest}: damaged" in caplog.text
    log = (folder.path / "run.log").read_text()
    assert f"{newest}: damaged" in log and re.search("resumed after epoch [12], chunk", log)


def test_a_finished_run_can_be_trained_longer(compose):
    settings = (*SMALL, "schedule=constant")
    whole = run(compose(*settings, "trainer.epochs=5"))
    folder = RunDirectory.open(run(compose(*settings, "trainer.epochs=2")))
    (folder.path / "report.html").write_text("of two epochs")
    resume(folder, {"trainer.epochs": "5"})
    assert_same_run(folder.path, whole)
    assert not (folder.path / "report.html").exists()
    assert folder.read_config()["trainer"]["epochs"] == 5
    status = json.loads((whole / "status.json").read_text())
    assert folder.status.read()["config_hash"] == status["config_hash"]


def test_a_run_trained_longer_counts_as_another_if_earlier_rates_differ(compose):
    """Fixed: a sweep confused it with a run that had the larger number of epochs from its start."""
    settings = (*SMALL, "schedule=cosine")
    folder = RunDirectory.open(run(compose(*settings, "trainer.epochs=1")))
    for epochs in ("2", "3"):
        resume(folder, {"trainer.epochs": epochs})
    digest = folder.status.read()["config_hash"]
    (folder.path / "metrics.json").unlink()
    resume(folder)
    status = folder.status.read()
    assert status["earlier_epochs"] == [1, 2]
    assert digest == status["config_hash"] != compose(*settings, "trainer.epochs=3").digest
    assert "first trained with trainer.epochs=1 and 2," in " ".join(folder.read_metrics()["notes"])


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_finished_run_is_shown_and_any_other_change_is_refused(whole, capsys):
    before = contents(whole)
    resume(RunDirectory.open(whole))
    assert "test, one step ahead on 17 values, in units" in capsys.readouterr().out
    for change, text in (
        ("optimizer=sgd", "optimizer: only trainer.epochs and trainer.devices may change"),
        ("trainer.epochs=2", "trainer.epochs=2: must be at least 4"),
        ("trainer.epochs=many", "trainer.epochs: expected a whole number"),
        ("seed", "seed: expected trainer.epochs=N"),
    ):
        assert main(["resume", str(whole), change]) == 2
        assert text in capsys.readouterr().err
    with hold(whole):
        assert main(["resume", str(whole), "trainer.epochs=9"]) == 2
    assert "another process is working in this folder" in capsys.readouterr().err
    assert contents(whole) == before


def test_a_finished_run_without_its_weights_is_left_as_it_is(whole):
    folder = copied(whole)
    for path in folder.path.glob("weights/*"):
        path.unlink()
    before = contents(folder.path)
    with pytest.raises(RequestError, match="the weights of epoch . are missing"):
        resume(folder, {"trainer.epochs": "9"})
    assert contents(folder.path) == before


def test_a_stopped_run_of_another_model_or_without_its_weights_is_refused(folder, stopped):
    shutil.rmtree(folder.path / "weights")
    with pytest.raises(RequestError, match="can't read the best weights"):
        resume(folder)
    other = copied(stopped.path)
    document = other.read_config()
    document["model"]["units"] = 4
    other.write_config(document)
    with pytest.raises(RequestError, match="checkpoint and of the model have different shapes"):
        resume(other)


def test_a_run_that_stopped_early_stays_as_it_is_with_more_epochs(compose):
    settings = (*SMALL, "trainer.patience=1", "trainer.min_delta=10", "schedule=constant")
    folder = RunDirectory.open(run(compose(*settings, "trainer.epochs=6")))
    before = folder.read_metrics()
    resume(folder, {"trainer.epochs": "8"})
    assert before["epochs"] == 2
    assert {**folder.read_metrics(), "seconds": before["seconds"]} == before


def test_a_result_of_fewer_epochs_is_not_that_of_a_run_trained_longer(compose, monkeypatch):
    """Fixed: on a full disk the run was completed with its old result."""
    settings = (*SMALL, "schedule=constant")
    folder = RunDirectory.open(run(compose(*settings, "trainer.epochs=1")))

    def full(self, name, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RunDirectory, "write_json", full)
    with pytest.raises(RunFailed, match="the result could not be written"):
        resume(folder, {"trainer.epochs": "2"})
    monkeypatch.undo()
    assert folder.read_metrics()["epochs"] == 1
    resume(folder)
    assert folder.read_metrics()["epochs"] == 2
    assert_same_run(folder.path, run(compose(*settings, "trainer.epochs=2")))


def test_a_run_resumes_at_another_place_and_warns_of_another_environment(
    folder, whole, tmp_path, caplog
):
    new = RunDirectory(tmp_path.joinpath("elsewhere", *folder.path.parts[-3:]))
    new.path.parent.mkdir(parents=True)
    shutil.move(folder.path, new.path)
    environment = new.read_environment()
    environment["packages"]["numpy"] = "1.0"
    environment |= {"processor_model": "Abacus 3000", "gpu": True, "xla_flags": "--xla_other"}
    new.write_json("environment.json", environment)
    assert_same_run(resume(new), whole)
    for text in ("numpy 1.0", "processor_model Abacus 3000", "gpu true", "xla_flags --xla_other"):
        assert f"{text}, now " in caplog.text
    environment = new.read_environment()
    assert environment["packages"]["numpy"] == "1.0" and len(environment["resumed"]) == 1
    assert new.read_config()["paths"]["runs"] == str(tmp_path / "elsewhere")


def test_a_pruned_run_keeps_its_files(config, whole):
    def give_up(row):
        if row["epoch"] == 2:
            raise Pruned("hopeless")

    folder = stopped_run(config, SweepMember("search", on_epoch=give_up))
    status = folder.status.read()
    assert (status["state"], status["pruned"], status["sweep"]) == ("killed", True, "search")
    assert folder.weights_epochs() == [1, 2]
    assert_same_run(resume(folder), whole)
    assert folder.status.read()["pruned"] is False


def test_a_long_epoch_resumes_in_its_middle(compose, monkeypatch):
    # A divisor of the 32 windows: a shorter last chunk would be compiled, too.
    monkeypatch.setattr("attnlab.tasks.in_memory._CHUNK", 8)
    every = ("trainer.batch_size=1", "trainer.epochs=2", "trainer.checkpoint_every_seconds=0")
    config = compose(*SMALL, *every)
    whole, train, calls = run(config), ForecastLearner.train, itertools.count()

    def stop_in_second_chunk(self, *arguments):
        if next(calls) == 1:
            raise Stopped
        return train(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(ForecastLearner, "train", stop_in_second_chunk)
        folder = stopped_run(config)
    (checkpoint,) = folder.checkpoint.iterdir()
    assert checkpoint.name == "step_000000008.ckpt"
    assert_same_run(resume(folder), whole)
    assert "resumed after epoch 0, chunk 1" in (folder.path / "run.log").read_text()
