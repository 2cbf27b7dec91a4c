"""`import attnlab`: runs, sweeps and comparisons from Python, in the caller's process."""

from __future__ import annotations

import inspect
import os
import pydoc
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from command_line import TINY
from run_folders import write_run

import attnlab

FIB = ("task=fib", "task.count=61", *TINY, "trainer.jit=false", "tracking.enabled=false")


@pytest.fixture(autouse=True)
def folder(here, monkeypatch):
    """An empty working folder."""
    monkeypatch.setenv("ATTNLAB_COMMAND", "")
    return here.folder


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("result")
    return attnlab.run(*FIB, "attention=bahdanau", f"paths.runs={folder}", seed=1)


def test_a_result_has_frames_figures_and_a_model(result):
    assert list(result.history.index) == [1, 2]
    assert {"train_loss", "val_loss"} <= set(result.history.columns)
    assert {"target", "prediction", "persistence"} <= set(result.predictions.columns)
    assert (result.metrics["attention"], result.config["seed"]) == ("bahdanau", 1)
    assert result.figures["loss"]._repr_png_()[1:4] == b"PNG"
    assert {"loss", "forecast", "attention"} <= set(result.figures)
    assert result.figures._repr_html_().count('src="data:image/png;base64,iVBOR') >= 3
    assert "<td" in result._repr_html_() and "data:image/svg" in result._repr_html_()
    assert "best epoch" in repr(result) and str(result.folder) in repr(result)
    assert result.model.count_params() == result.metrics["parameters"]
    histories = np.ones((3, result.config["task"]["history"]))
    assert result.predict(histories, steps=5, epoch=1).shape == (3, 5)
    np.testing.assert_array_equal(result.predict(histories[0]), result.predict(histories)[0])


@pytest.mark.parametrize("task, labels", [("classify", ["03", "07"]), ("of somebody else", [3, 7])])
def test_text_predictions_stay_text(folder, task, labels):
    run = write_run(folder / "runs", task=task)
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


def test_errors_have_the_command_lines_message(folder):
    for error, words, settings, text in (
        (attnlab.RequestError, ["task=fbi"], {}, "task=fbi: .* Did you mean fib"),
        (attnlab.RequestError, ["seed=0,1"], {}, "seed=0,1.*: expected one value"),
        (attnlab.RequestError, [], {"trainer": {"patience": -3}}, "trainer.patience: .* got -3"),
        (attnlab.RequestError, [], {"seed": [0, 1]}, "seed: expected a whole number"),
        (attnlab.RequestError, ["-m", "seed=0,1"], {}, "attnlab.sweep makes several runs"),
        (attnlab.RequestError, ["search=learning_rate"], {}, "attnlab.sweep makes several runs"),
        (attnlab.RunFailed, [*FIB, "optimizer.learning_rate=1e30"], {}, "the loss is inf"),
    ):
        with pytest.raises(error, match=text):
            attnlab.run(*words, **settings)
    path = folder / "Größen (2020), o'clock"
    with pytest.raises(attnlab.RequestError) as refused:
        attnlab.run(task="series", **{"task.path": path / "my.csv", "task.column": "é (x)"})
    assert str(path) in str(refused.value) and "quotes" not in str(refused.value)
    with pytest.raises(attnlab.RequestError, match="none,bahdanau: there is no"):
        attnlab.sweep(*FIB, attention="none,bahdanau")


def test_the_package_lists_functions_with_their_signatures_and_help():
    names = {"run", "sweep", "compare", "load", "runs"}
    assert names <= {*dir(attnlab)}
    for name in names:
        function = getattr(attnlab, name)
        assert inspect.isfunction(function) and "Examples:\n    >>> " in inspect.getdoc(function)
    assert [*inspect.signature(attnlab.load).parameters] == ["run", "runs_folder"]
    assert pydoc.render_doc(attnlab.run).startswith("Python Library Documentation: function run")


@pytest.mark.slow
def test_a_sweep_repeats_no_run_and_its_runs_are_found(folder):
    first = attnlab.run(*FIB, attention="bahdanau", seed=1)
    swept = attnlab.sweep(*FIB, attention=["none", "bahdanau"], seed=range(1, 3))
    assert sorted(swept["seed"]) == [1, 1, 2, 2] and set(swept["state"]) == {"completed"}
    assert str(first.folder) in set(swept["path"])
    groups = attnlab.compare(by="attention", where={"seed": [1, 2]})
    assert groups.figure.png[1:4] == b"PNG" and len(groups.table) == 2
    assert attnlab.load().folder == Path(attnlab.runs()["path"].iloc[-1])


@pytest.mark.slow
def test_ctrl_c_stops_a_run_that_is_resumed_to_the_same_bits(folder):
    words = (*FIB, "attention=bahdanau", "model.dropout=0.2", "schedule=constant")
    whole = attnlab.run(*words, "trainer.epochs=200", "paths.runs=whole")

    def interrupt():
        while not list(folder.glob("runs/*/*/*/weights/epoch_002*")):
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(KeyboardInterrupt, match="run folder"):
        attnlab.run(*words, "trainer.epochs=100000")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    (path,) = attnlab.runs(state="killed")["path"]
    assert repr(attnlab.load(path)).endswith(": killed")
    assert attnlab.load(path)._repr_html_() is None  # its text is shown
    resumed = attnlab.load(path).resume(epochs=200)
    last = Path("weights", "epoch_200.weights.h5")
    assert (resumed.folder / last).read_bytes() == (whole.folder / last).read_bytes()


def test_filters_are_those_of_the_command_line(three_groups):
    groups = attnlab.compare("attention", runs_folder=three_groups, attention=["none", "bahdanau"])
    assert groups.table["attention"].tolist() == ["bahdanau", "none"]
    assert groups.table["verdict"].fillna("").tolist() == ["better", ""]
    assert "bahdanau   5  -0.102" in repr(groups) and ">bahdanau</td>" in groups._repr_html_()
    looked = attnlab.compare(runs_folder=three_groups, sequential=True)
    assert {*looked.table["intervals"].dropna()} == {"sequential"}
    assert len(attnlab.runs(runs_folder=three_groups, attention="none")) == 5
    with pytest.raises(attnlab.RequestError, match="mechanisms: none, bahdanau"):
        attnlab.compare(runs_folder=three_groups, attention="nne")
    with pytest.raises(
        attnlab.RequestError, match="--state: expected one of completed, .* got 'done'"
    ):
        attnlab.runs(state="done")
