"""A translation run from the command line: its files, and the commands that use it."""

from __future__ import annotations

import csv
import json

import pytest


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_run_prints_its_result_and_has_its_files(translating):
    assert "\nattnlab: scoring the test part\n" in translating.outcome.err
    assert translating.folder.parent.name == "bahdanau"
    out = translating.outcome.out
    assert out.startswith("translate / bahdanau / seed 0: test, in points of 100")
    for words in ("nearest_pair", "copied_source", "bleu", "chrf", "best epoch"):
        assert words in out
    assert max(map(len, out.splitlines()[:8])) <= 80
    assets = ("text", "source_tokenizer", "target_tokenizer")
    files = [*(f"assets/{name}.json" for name in assets), "attention.npz", "plots/attention_1.png"]
    assert all((translating.folder / name).is_file() for name in files)
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


def test_evaluate_gives_the_runs_own_numbers_again(translating):
    code, out, err = translating.attnlab("evaluate", "latest", "--json")
    assert code == 0, err
    metrics = read_json(translating.folder / "metrics.json")
    result = json.loads(out)
    assert result["metrics"] == pytest.approx(metrics["test"])
    assert result["epoch"] == metrics["best_epoch"]
