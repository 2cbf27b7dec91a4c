"""A translation run from the command line: its files, and the commands that use it."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd
import pytest
from command_line import Outcome


@pytest.fixture
def command(translating, monkeypatch, capfd):
    """A command on the run, in this process."""
    from attnlab.cli import main

    monkeypatch.chdir(translating.attnlab.folder)
    monkeypatch.setenv("ATTNLAB_RUNS", str(translating.attnlab.runs))

    def command(*words: str) -> Outcome:
        code = main(list(words))
        out, err = capfd.readouterr()
        return Outcome(code, out, err)

    return command


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_run_prints_its_result(translating):
    assert "\nattnlab: scoring the test part\n" in translating.outcome.err
    assert translating.folder.parent.name == "bahdanau"
    out = translating.outcome.out
    assert out.startswith("translate / bahdanau / seed 0: test, in points of 100")
    for words in ("nearest_pair", "copied_source", "bleu", "chrf", "best epoch"):
        assert words in out
    assert max(map(len, out.splitlines()[:8])) <= 80


def test_its_folder_has_all_that_users_rely_on(translating):
    folder = translating.folder
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    weights = {f"weights/epoch_{epoch:03d}.weights.h5" for epoch in (1, 2)}
    assets = {f"assets/{name}.json" for name in ("text", "source_tokenizer", "target_tokenizer")}
    own = {"status.json", "config.yaml", "history.csv", "metrics.json", "predictions.csv"}
    assert files >= {*weights, *assets, *own, "attention.npz", "environment.json", "run.log"}
    assert {"plots/loss.png", "plots/attention_1.png"} <= files
    assert read_json(folder / "status.json")["state"] == "completed"


def test_its_metrics_are_complete(translating):
    metrics = read_json(translating.folder / "metrics.json")
    assert (metrics["metric"], metrics["monitor"]) == ("bleu", "val_bleu")
    assert metrics["signatures"]["bleu"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|")
    with open(translating.folder / "history.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["epoch"] for row in rows] == ["1", "2"]
    assert {"train_loss", "val_perplexity", "val_accuracy", "val_bleu", "val_chrf"} <= set(rows[0])


def test_its_translations_are_saved_with_their_references(translating):
    from attnlab.records.run_directory import RunDirectory
    from attnlab.tasks.translation.scores import score

    rows = RunDirectory(translating.folder).read_predictions()
    again = score(rows["hypothesis"].tolist(), rows["reference"].tolist())
    metrics = read_json(translating.folder / "metrics.json")
    assert again["chrf"] == pytest.approx(metrics["test"]["chrf"])
    statistics = read_json(translating.folder / "assets" / "text.json")["statistics"]
    assert statistics["parts"]["test"]["pairs"] == len(rows["source"])


def test_evaluate_gives_the_runs_own_numbers_again(translating, command):
    code, out, err = command("evaluate", "latest", "--json")
    assert code == 0, err
    metrics = read_json(translating.folder / "metrics.json")
    found = json.loads(out)
    assert found["metrics"] == pytest.approx(metrics["test"])
    assert found["epoch"] == metrics["best_epoch"]


# By default `test_runner` has the model of a forecaster in MLflow.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # MLflow's own
def test_the_model_in_mlflow_translates_as_the_run_does(translating, monkeypatch):
    import mlflow

    from attnlab.records.run_directory import RunDirectory
    from attnlab.run.loading import TrainedRun

    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    uri = f"sqlite:///{translating.attnlab.runs / 'mlflow.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)  # put back afterwards, whatever MLflow sets
    mlflow.set_tracking_uri(uri)
    client = mlflow.MlflowClient(uri)
    logged = client.get_run(read_json(translating.folder / "status.json")["mlflow_run_id"])
    (output,) = logged.outputs.model_outputs
    served = mlflow.pyfunc.load_model(f"models:/{output.model_id}")
    lines = ["The old dog sleeps.", "", "The king reads the newspaper."]
    trained = TrainedRun.load(RunDirectory.open(translating.folder))
    wanted = [best[0].text for best in trained.task.translator(trained.model).translate(lines)]
    for inputs in (lines, np.array(lines, object), pd.DataFrame({"sentence": lines})):
        assert list(served.predict(inputs)) == wanted
    assert served.input_example is not None and len(served.predict(served.input_example)) == 1
    steps = client.get_metric_history(logged.info.run_id, "val_bleu")
    assert [metric.step for metric in steps] == [1, 2]
