"""Complete small runs: their files, numbers and reproducibility."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from command_line import some_pairs
from mechanisms import mechanisms_for
from same_runs import assert_same_run

from attnlab.cli import main
from attnlab.config.options import options
from attnlab.config.sections import RunConfig, parse
from attnlab.internals import import_tensorflow
from attnlab.records.run_directory import RunDirectory
from attnlab.runner.loading import TrainedRun
from attnlab.runner.resume import run
from attnlab.tasks.attention import read_attention
from attnlab.tasks.forecasting.models import ForecastLearner
from attnlab.tasks.kinds import kind_of

import_tensorflow()

# With the smallest cell.
FIB = (
    *("task=fib", "task.count=61", "task.history=5", "model.units=3", "trainer.batch_size=7"),
    "model.cell=simple",
)
# As a plain graph: fast to build.
PLAIN = (*FIB, "trainer.jit=false")
DROPPING = ("attention=bahdanau", "attention.dropout=0.2", "model.dropout=0.3")
# One step of a few numbers, as a plain graph: fast to build, and the same code.
QUICK = ("trainer.epochs=1", "trainer.batch_size=997", "trainer.jit=false")


def read_json(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def config(compose):
    return compose(*FIB, *DROPPING, "trainer.epochs=3", "seed=5")


@pytest.fixture(scope="module")
def folder(config) -> Path:
    return run(config)


def test_a_run_folder_has_all_that_users_rely_on(config, folder):
    assert folder.parent == Path(config.paths.runs) / "fib" / "bahdanau"
    assert folder.name.endswith("_s5")
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {
        *(
            ".lock",
            ".drawn",
            "status.json",
            "config.yaml",
            "history.csv",
            "metrics.json",
            "predictions.csv",
        ),
        *("environment.json", "run.log", "served.json", "attention.npz", "assets/scaler.json"),
        *(f"weights/epoch_{epoch:03d}.weights.h5" for epoch in (1, 2, 3)),
        *("plots/attention.png", "plots/forecast.png", "plots/loss.png"),
        "checkpoint/step_000000015.ckpt",
    }
    status = read_json(folder / "status.json")
    assert (status["state"], status["epoch"], status["error"]) == ("completed", 3, None)
    assert status["config_hash"] == config.digest
    assert parse(RunDirectory(folder).read_config(), {}) == config


def test_its_numbers_are_consistent(folder):
    metrics = read_json(folder / "metrics.json")
    columns = RunDirectory(folder).history.read()
    assert {*columns} == {"epoch", "seconds", "learning_rate", "train_loss", "val_loss"}
    assert columns["epoch"] == [1, 2, 3]
    losses = columns["val_loss"]
    assert metrics["best_value"] == min(losses) == losses[metrics["best_epoch"] - 1]
    predictions = RunDirectory(folder).read_predictions()
    error = predictions["prediction"] - predictions["target"]
    assert metrics["test"]["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
    for name, scores in metrics["baselines"].items():
        error = predictions[name] - predictions["target"]
        assert scores["mae"] == pytest.approx(np.mean(np.abs(error))), name
    skills, persistence = metrics["skills"], metrics["baselines"]["persistence"]["rmse"]
    assert skills["persistence"] == pytest.approx(1 - metrics["test"]["rmse"] / persistence)
    assert metrics["skill"] == skills[metrics["best_baseline"]]
    recorded = read_attention(RunDirectory(folder))
    assert recorded.best == metrics["best_epoch"] and recorded.best in recorded.epochs
    for epoch in recorded.epochs:
        arrays = recorded.at(epoch)
        np.testing.assert_allclose(arrays["weights"].sum(axis=-1, dtype=float), 1, rtol=2e-3)
        assert len(arrays["weights"]) == len(arrays["history"])


def test_the_same_seed_gives_the_same_bits(config, folder, no_figures, tmp_path):
    again = run(config.with_values({"paths.runs": str(tmp_path)}))
    assert_same_run(again, folder)


def test_early_stopping_ends_the_run_and_tests_the_best_weights(
    compose, monkeypatch, no_figures, capsys
):
    losses = iter((5.0, 3.0, 4.0, 3.0))
    monkeypatch.setattr(ForecastLearner, "validate", lambda *_: {"val_loss": next(losses)})
    folder = run(compose(*PLAIN, "trainer.epochs=9", "trainer.patience=2"))
    metrics = read_json(folder / "metrics.json")
    assert (metrics["epochs"], metrics["best_epoch"], metrics["best_value"]) == (4, 2, 3.0)
    capsys.readouterr()
    assert main(["evaluate", str(folder), "--epoch", "2", "--json"]) == 0
    evaluated = json.loads(capsys.readouterr().out)
    assert evaluated["metrics"] == pytest.approx(metrics["test"], rel=1e-4)


def test_without_a_validation_part_the_last_epoch_counts(compose, no_figures):
    folder = run(compose(*PLAIN, "task.validation=0", "trainer.epochs=2"))
    metrics = read_json(folder / "metrics.json")
    assert (metrics["best_epoch"], metrics["best_value"], metrics["monitor"]) == (2, None, None)
    assert any("There are no validation data" in note for note in metrics["notes"])
    assert "val_loss" not in RunDirectory(folder).history.read()


def test_evaluating_the_best_epoch_gives_the_reported_metrics(folder, capsys):
    metrics = read_json(folder / "metrics.json")
    assert main(["evaluate", str(folder), "--json"]) == 0
    evaluated = json.loads(capsys.readouterr().out)
    assert evaluated["epoch"] == metrics["best_epoch"]
    assert evaluated["metrics"] == pytest.approx(metrics["test"], rel=1e-4)
    assert evaluated["baselines"] == metrics["baselines"]
    for words in (["--epoch", "1"], ["--part", "validation"]):
        assert main(["evaluate", str(folder), "--json", *words]) == 0
        assert json.loads(capsys.readouterr().out)["metrics"] != evaluated["metrics"]


def test_a_file_is_found_from_another_working_folder(trained, tmp_path, monkeypatch, capsys):
    """It is the file of the training, not another file with that name."""
    file = trained.attnlab.folder / "rain.csv"
    text = file.read_text(encoding="utf-8-sig")
    (tmp_path / "rain.csv").write_text(text.replace(",50", ",51"))
    (tmp_path / "copy.csv").write_text(text)
    evaluate = ["evaluate", str(trained.folder), "--json"]
    monkeypatch.chdir(trained.attnlab.folder)
    assert main(evaluate) == 0
    before = capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    for words in ([], ["task.path=copy.csv"], [f"task.path={file}"]):
        assert main([*evaluate, *words]) == 0
        assert capsys.readouterr() == (before, "")
    assert main([*evaluate, "task.path=rain.csv"]) == 2
    assert "have changed since the run was trained" in capsys.readouterr().err
    assert main([*evaluate, "task.path=none.csv"]) == 2
    assert "task.path: expected a file or folder that exists" in capsys.readouterr().err


# ett is series with borders of its own.
TASKS = [name for name in options("task") if kind_of(name).name == "forecasting" and name != "ett"]
# A task knows nothing of mechanisms, nor they of it: by default, every task with one of them.
PAIRS = [
    *(
        pytest.param(TASKS[at % len(TASKS)], name, marks=[pytest.mark.slow] * (at >= len(TASKS)))
        for at, name in enumerate(mechanisms_for("sunspots"))
    ),
    ("fib_random", "pooling"),
]


@pytest.mark.parametrize(("task", "attention"), PAIRS)
def test_every_forecasting_task_runs_with_every_mechanism(
    compose, no_figures, tmp_path, task, attention
):
    (tmp_path / "rain.csv").write_text("\n".join(["rain", *(str(n % 13) for n in range(97))]))
    needed = {
        "series": [f"task.path={tmp_path / 'rain.csv'}"],
        "fib_random": [f"task.{part}_windows=41" for part in ("train", "validation", "test")],
    }.get(task, [])
    words = (f"task={task}", f"attention={attention}", "task.history=5", "model.units=4")
    # Two heads of differential attention need four numbers each.
    words += ("model.cell=simple", *(("attention.heads=1",) if attention == "differential" else ()))
    folder = run(compose(*words, *QUICK, *needed))
    metrics = read_json(folder / "metrics.json")
    assert (metrics["task"], metrics["attention"]) == (task, attention)
    assert all(np.isfinite(value) for value in metrics["test"].values())
    # Weights tied to one length can't read the longer windows, and the report says so.
    for report in metrics["extra"].values():
        assert (report is None) == (attention == "pooling")


def small_translation(config: RunConfig, folder: Path) -> list[str]:
    """A preset's model in miniature, on 60 pairs in a file."""
    lines = [f"{pair.source}\t{pair.target}\n" for pair in some_pairs(60)]
    (folder / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    sizes = {"units": 64, "encoder_units": 64, "embedding": 8, "maxout_units": 4, "layers": 1}
    sizes |= {"feed_forward": 8}
    return [
        *("data=files", f"data.path={folder / 'pairs.tsv'}", f"paths.data={folder}"),
        *(f"model.{key}={size}" for key, size in sizes.items() if key in config.model.settings),
        *("task.vocabulary=300", "task.beam=2"),
    ]


def small_images(folder: Path) -> list[str]:
    """A preset's model in miniature, on 24 images in a folder."""
    from PIL import Image

    draw = np.random.default_rng(7)
    for number in range(24):
        path = folder / "images" / "ab"[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(path)
    sizes = {"units": 24, "layers": 2, "feed_forward": 8, "patch": 4}
    return [
        *("data=image_folder", f"data.path={folder / 'images'}", "data.size=8"),
        *(f"model.{key}={size}" for key, size in sizes.items()),
    ]


# Translators take a while to trace; `tests/config` composes all.
LONG = [name for name in options("experiment") if not name.startswith("book_")]
PRESETS = [
    pytest.param(name, marks=pytest.mark.slow if name in (*LONG, "book_transformer") else ())
    for name in options("experiment")
]


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_runs(compose, no_figures, tmp_path, name):
    config, words = compose(f"experiment={name}", *QUICK), []
    if config.task.name == "language" and config.data.name == "associative_recall":
        words = ["data.rows=100"]
    elif config.task.name == "language":
        text = Path(os.environ.get("ATTNLAB_REALDATA", "")) / "shakespeare/input.txt"
        if not text.is_file():
            pytest.skip("the text is downloaded")
        words = [f"data.path={text}", "task.windows=24"]
    elif config.task.name == "images":
        words = small_images(tmp_path)
    elif config.data is not None:
        words = small_translation(config, tmp_path)
    folder = run(compose(f"experiment={name}", *QUICK, *words))
    assert read_json(folder / "status.json")["state"] == "completed"


@pytest.mark.filterwarnings("ignore")  # MLflow's own, when it reads back here
def test_mlflow_has_the_run_and_a_model_that_predicts_the_same(trained, monkeypatch):
    import mlflow

    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    uri = f"sqlite:///{trained.attnlab.runs / 'mlflow.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)  # put back afterwards, whatever MLflow sets
    mlflow.set_tracking_uri(uri)
    logged = mlflow.get_run(read_json(trained.folder / "status.json")["mlflow_run_id"])
    assert (logged.info.run_name, logged.info.status) == ("series-luong_global-s0", "FINISHED")
    metrics = read_json(trained.folder / "metrics.json")
    assert logged.data.metrics["test_rmse"] == pytest.approx(metrics["test"]["rmse"])
    (output,) = logged.outputs.model_outputs
    served = mlflow.pyfunc.load_model(f"models:/{output.model_id}")
    windows = np.random.default_rng(59).uniform(50, 130, size=(3, 7))
    direct = TrainedRun.load(RunDirectory(trained.folder))
    expected = [direct.task.serve(direct.model, window, 1) for window in windows]
    np.testing.assert_allclose(served.predict(windows), expected, rtol=1e-6)
