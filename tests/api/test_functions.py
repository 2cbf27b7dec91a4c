"""`import attnlab`: the work of the command line from Python, without changes to this process."""

from __future__ import annotations

import inspect
import logging
import os
import pydoc
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import keras
import matplotlib
import mlflow
import numpy as np
import pytest
from command_line import ROOT, TINY
from tensorflow.python.framework import config as tensorflow_config

import attnlab
from attnlab.api.worker import Worker
from attnlab.records.run_directory import RunDirectory
from attnlab.records.status import is_running

FIB = ("task=fib", "task.count=61", *TINY, "trainer.jit=false", "tracking.enabled=false")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working folder, which the worker enters at the next call."""
    monkeypatch.setenv("ATTNLAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("ATTNLAB_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def everything() -> dict:
    """The state of this process that a caller can see."""
    root = logging.getLogger()
    return {
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "path": list(sys.path),
        "arguments": list(sys.argv),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "signals": [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)],
        "random": random.getstate(),
        "numpy": [str(part) for part in np.random.get_state()],
        "precision": (keras.config.dtype_policy().name, keras.config.floatx()),
        "keras": sorted(vars(keras.src.backend.common.global_state.GLOBAL_STATE_TRACKER)),
        "determinism": tensorflow_config.is_op_determinism_enabled(),
        "logging": [
            (each.level, list(each.handlers)) for each in (root, logging.getLogger("attnlab"))
        ],
        "warnings": (list(warnings.filters), warnings.showwarning),
        "matplotlib": dict(matplotlib.rcParams),
        "mlflow": mlflow.get_tracking_uri(),
        "hydra": "hydra" in sys.modules
        and sys.modules["hydra"].core.global_hydra.GlobalHydra.instance().is_initialized(),
    }


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("result")
    return attnlab.run(*FIB, "attention=bahdanau", f"paths.runs={folder}", seed=1)


@pytest.mark.slow
def test_calls_leave_this_process_unchanged_and_reuse_the_worker(folder, monkeypatch, capsys):
    tensorflow_config.disable_op_determinism()
    monkeypatch.setenv("FORCE_COLOR", "1")  # as Jupyter does
    before = everything()
    first = attnlab.run(*FIB, attention="bahdanau", seed=1)
    worker = Worker._current
    swept = attnlab.sweep(*FIB, attention=["none", "bahdanau"], seed=range(1, 3))
    found = attnlab.compare(by="attention", where={"seed": [1, 2]})
    assert len(found.figure.png) > 1000 and first.predict(steps=2).shape == (2,)
    assert attnlab.load().folder == Path(attnlab.runs()["path"].iloc[-1])
    assert everything() == before
    assert "\x1b" not in capsys.readouterr().err + repr(first)
    assert Worker._current is worker
    assert sorted(swept["seed"]) == [1, 1, 2, 2] and set(swept["state"]) == {"completed"}
    assert str(first.folder) in set(swept["path"])  # what is done is not done again


def test_a_result_has_frames_figures_and_a_model(result):
    assert list(result.history.index) == [1, 2]
    assert {"train_loss", "val_loss"} <= set(result.history.columns)
    assert {"target", "prediction", "persistence"} <= set(result.predictions.columns)
    assert (result.metrics["attention"], result.config["seed"]) == ("bahdanau", 1)
    assert result.figures["loss"]._repr_png_()[1:4] == b"PNG"
    assert {"loss", "forecast", "attention"} <= set(result.figures)
    assert "best epoch" in repr(result) and str(result.folder) in repr(result)
    histories = np.ones((3, result.config["task"]["history"]))
    assert result.predict(histories, steps=5, epoch=1).shape == (3, 5)
    np.testing.assert_array_equal(result.predict(histories[0]), result.predict(histories)[0])


@pytest.mark.parametrize("task, labels", [("classify", ["03", "07"]), ("of somebody else", [3, 7])])
def test_text_predictions_stay_text(folder, task, labels):
    run = RunDirectory.create(folder / "runs", task, "none", 0, {"task": {"name": task}})
    run.write_predictions({"index": [0, 1], "label": ["03", "07"], "probability": [0.5, 1]})
    table = attnlab.load(run.path).predictions
    assert table["label"].tolist() == labels and table["probability"].tolist() == [0.5, 1]


@pytest.mark.slow
def test_a_translation_run_maps_sentences_to_sentences(translating):
    result = attnlab.load(translating.folder)
    translations = result.predict(["The dog sleeps.", ""], beam=2)
    assert isinstance(translations, list) and isinstance(translations[0], str)
    assert translations[1] == ""
    with pytest.raises(attnlab.RequestError, match="a list of sentences, got none"):
        result.predict()
    with pytest.raises(attnlab.RequestError, match="steps: expected of a translation beam"):
        result.predict(["The dog sleeps."], steps=3)


@pytest.mark.parametrize(
    "error, words, text",
    [
        (attnlab.RequestError, ["task=fbi"], "task=fbi: .* Did you mean fib"),
        (attnlab.RequestError, ["seed=-1"], "seed: expected a whole number"),
        (attnlab.RequestError, ["--help"], "got a word that only shows something"),
        (attnlab.RequestError, ["-q", "seed=-1"], "seed: expected a whole number"),
        (attnlab.RunFailed, [*FIB, "optimizer.learning_rate=1e30"], "the loss is inf"),
    ],
)
def test_errors_have_the_command_lines_message(error, words, text):
    with pytest.raises(error, match=text):
        attnlab.run(*words)


@pytest.mark.parametrize(
    ("inputs", "steps", "text"),
    [
        (None, 1.5, "steps: expected a whole number of at least 1, got 1.5"),
        (None, "x", "steps: expected a whole number of at least 1, got 'x'"),
        ({"a": 1}, 2, "inputs: can't be read as numbers: "),
    ],
)
def test_wrong_inputs_of_a_model_are_refused(result, inputs, steps, text):
    with pytest.raises(attnlab.RequestError, match=text):
        result.predict(inputs, steps=steps)


def test_wrong_filters_of_runs_are_refused(three_groups):
    with pytest.raises(attnlab.RequestError, match="there is no state 'done'. States: completed, "):
        attnlab.runs(state="done")
    with pytest.raises(attnlab.RequestError, match="^since=3: must be an age such as 90m"):
        attnlab.runs(since=3)


def test_the_package_lists_functions_with_their_signatures_and_help():
    names = {"run", "sweep", "compare", "load", "runs"}
    assert names <= {*dir(attnlab)}
    for name in names:
        function = getattr(attnlab, name)
        assert inspect.isfunction(function) and "Examples:\n    >>> " in inspect.getdoc(function)
    assert [*inspect.signature(attnlab.load).parameters] == ["run", "runs_folder"]
    assert pydoc.render_doc(attnlab.run).startswith("Python Library Documentation: function run")


def test_packages_of_the_same_names_are_imported_as_usual():
    import attnlab.compare.selection as selection
    import attnlab.run.find_or_run

    assert selection.Filters and attnlab.run.find_or_run.RunIndex and callable(attnlab.run)
    with pytest.raises(AttributeError, match="attnlab.run can't be set"):
        attnlab.run = None


def test_an_error_about_a_list_names_the_right_function(folder):
    with pytest.raises(attnlab.RequestError) as refused:
        attnlab.run("task=fib", attention=["none", "bahdanau"], seed=1)
    assert str(refused.value).endswith(
        "attnlab.sweep('task=fib', attention=['none', 'bahdanau'], seed=1)"
    )
    with pytest.raises(attnlab.RequestError, match=r"attnlab.run\('task=fib', 'seed=1'\) has"):
        attnlab.run(["task=fib", "seed=1"])
    with pytest.raises(attnlab.RequestError, match=r'attnlab.sweep\("seed=0,1"\)'):
        attnlab.run("seed=0,1")
    with pytest.raises(attnlab.RequestError, match=r'attnlab.run\("trainer.epochs=3"\)'):
        attnlab.run(epochs=3)


def test_progress_is_output_in_a_notebook_and_standard_error_elsewhere(
    three_groups, monkeypatch, capsys
):
    attnlab.load(runs_folder=three_groups)
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("attnlab: latest is ")
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    attnlab.load(runs_folder=three_groups)
    out, err = capsys.readouterr()
    assert out.startswith("attnlab: latest is ") and err == ""


def test_impossible_requests_are_refused_before_the_worker_is_used(
    three_groups, tmp_path, monkeypatch
):
    with pytest.raises(attnlab.RequestError, match="use attnlab.sweep for several runs"):
        attnlab.run("-m", *FIB)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(attnlab.RequestError, match="working folder: it does not exist any more"):
        attnlab.runs()


def test_settings_are_words_of_the_command_line(folder):
    with pytest.raises(attnlab.RequestError, match="trainer.patience: expected .* got -3"):
        attnlab.run(task="fib", trainer={"epochs": 2, "patience": -3}, seed=None or 0)
    with pytest.raises(attnlab.RequestError, match="model.units: .* got 0"):
        attnlab.sweep(*FIB, model={"units": (4, 0)}, trainer={"jit": True})


def test_a_text_argument_is_passed_unchanged(folder):
    """Fixed: a path with brackets had to be quoted for Hydra, also in Python."""
    path = folder / "Größen (2020), o'clock"
    with pytest.raises(attnlab.RequestError) as refused:
        attnlab.run(task="series", **{"task.path": path / "my.csv", "task.column": "é (x)"})
    assert str(path) in str(refused.value) and "quotes" not in str(refused.value)
    with pytest.raises(attnlab.RequestError, match="got none,bahdanau|none,bahdanau: there is no"):
        attnlab.sweep(*FIB, attention="none,bahdanau")


@pytest.mark.slow
def test_ctrl_c_stops_a_run_that_can_be_resumed(folder, capsys):
    def interrupt():
        while not list(folder.glob("runs/*/*/*/weights/epoch_002*")):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    attnlab.runs()
    worker = Worker._current
    threading.Thread(target=interrupt, daemon=True).start()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            attnlab.run(*FIB, "trainer.epochs=100000")
    finally:
        signal.signal(signal.SIGINT, before)
    (state,) = attnlab.runs()["state"]
    assert state == "killed" and Worker._current is worker
    assert repr(attnlab.load()).endswith(": killed")


@pytest.mark.slow
def test_a_dead_worker_is_reported_and_replaced(three_groups):
    attnlab.runs(runs_folder=three_groups)
    worker = Worker._current
    worker._process.kill()
    with pytest.raises(attnlab.RunFailed, match="has ended, exit code -9"):
        worker._ask("rows", ())
    assert len(attnlab.runs(runs_folder=three_groups, attention="none")) == 5
    assert Worker._current is not worker


@pytest.mark.slow
def test_ctrl_c_never_sends_half_a_request(three_groups, monkeypatch):
    attnlab.runs(runs_folder=three_groups)
    worker = Worker._current

    def interrupted():
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(worker._process.stdin, "flush", interrupted)
    with pytest.raises(KeyboardInterrupt):
        attnlab.runs(runs_folder=three_groups)
    assert len(attnlab.runs(runs_folder=three_groups, attention="none")) == 5
    assert Worker._current is not worker


def test_a_worker_ends_with_its_caller():
    code = (
        "import attnlab, os; attnlab.runs(); from attnlab.api.worker import Worker; "
        "from attnlab.records.status import _start; pid = Worker._current._process.pid; "
        "print(pid, _start(pid), flush=True); os._exit(0)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    pid, started = done.stdout.split()
    owner = {"host": os.uname().nodename, "pid": int(pid), "pid_started": started}
    end = time.monotonic() + 60
    while is_running(owner) and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_running(owner)


def test_compare_returns_what_the_command_prints(three_groups):
    found = attnlab.compare(["attention"], runs_folder=three_groups, attention=["none", "bahdanau"])
    assert list(found.groups["attention"]) == ["bahdanau", "none"]
    (difference,) = found.differences.to_dict("records")
    assert (difference["attention"], difference["verdict"]) == ("bahdanau", "better")
    assert "verdict" not in found.groups and "mean" not in found.differences
    assert "bahdanau   5  -0.102" in repr(found) and "| `bahdanau` |" in found._repr_markdown_()
    looked = attnlab.compare(runs_folder=three_groups, sequential=True, margin=0.5)
    assert {*looked.differences["intervals"]} == {"sequential"}
    assert {*looked.differences["margin"]} == {0.5}
    with pytest.raises(attnlab.RequestError, match="Did you mean none"):
        attnlab.compare(runs_folder=three_groups, attention="nne")


@pytest.mark.slow
def test_a_changed_module_of_the_user_is_reloaded(folder, three_groups):
    (folder / "mine/attention").mkdir(parents=True)
    module = folder / "mine/attention/shift.py"
    text = "import attnlab.attention as a\nclass Shift(a.{}):\n    pass\n"
    module.write_text(text.format("Attention"))
    yaml = "name: shift\n_target_: shift.Shift\ndropout: 0.0\nrules: {dropout: {type: float}}\n"
    (folder / "mine/attention/shift.yaml").write_text(yaml)
    words = ["--config-dir=mine", *FIB, "attention=shift"]
    with pytest.raises(attnlab.RunFailed, match="Shift"):
        attnlab.run(*words)
    module.write_text(text.format("BahdanauAttention"))
    assert attnlab.run(*words).metrics["attention"] == "shift"
    assert (
        RunDirectory(attnlab.load().folder).read_environment()["command"].startswith("attnlab --")
    )
