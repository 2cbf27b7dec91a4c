"""Runs of language models: learning, scores, reports, tests between runs."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from compared_runs import on_page
from language_models import (
    Echo,
    GivenText,
    assert_resumes_to_the_same_bits,
    small_model,
    task_of,
)

from attnlab.config.composing import compose, from_hydra
from attnlab.records.run_directory import RunDirectory
from attnlab.runner.loading import TrainedRun
from attnlab.tasks.attention import Recorded, read_attention, write_attention
from attnlab.tasks.kinds import NoItemTest
from attnlab.tasks.language.generated import Reversal
from attnlab.tasks.language.learner import LanguageLearner
from attnlab.tasks.language.models.model import Scorer
from attnlab.tasks.language.report import build_report, item_test
from attnlab.tasks.language.shown import attention_records, figures, sample_records, text_figure

TEXT = "the old dog sleeps. a cat waits; the birds sing.\n" * 20
TRAINED = (
    *("task=language", "data.sentences=100", "task.context=16", "model.units=16"),
    *("attention.heads=2", "model.layers=1", "model.feed_forward=16", "trainer.epochs=2"),
    *("trainer.batch_size=64", "tracking.enabled=false", "trainer.jit=false"),
)


def test_scores_are_those_of_the_definitions():
    task = task_of(GivenText(TEXT[:400]), context=8)
    model = small_model(vocabulary=task.vocabulary.size, context=8)
    scores = Scorer(model)(task.scored_rows("test"))
    report = build_report(task, "test", scores)
    tokens = task.data.parts["test"].tokens()
    losses = []
    for place in range(1, len(tokens)):  # token by token, with the window's tokens before it
        first = (place - 1) // 8 * 8
        logits = np.asarray(model(tokens[None, first:place]), np.float64)[0, -1]
        losses.append(np.log(np.exp(logits).sum()) - logits[tokens[place]])
    count, nats = len(losses), sum(losses)
    assert report.metrics == pytest.approx(
        {
            "loss": nats / count,
            "bits_per_byte": nats / count / math.log(2),  # one byte per token
            "perplexity": math.exp(nats / count),
        },
        rel=1e-4,
    )
    assert report.predictions["nats"].sum() == pytest.approx(nats, rel=1e-5)
    assert report.predictions["bytes"].sum() == pytest.approx(count)
    unigram = np.bincount(task.data.parts["train"].tokens(), minlength=task.vocabulary.size) + 1.0
    expected = -np.log2(unigram / unigram.sum())[tokens[1:]].mean()
    assert report.baselines["unigram"]["bits_per_byte"] == pytest.approx(expected)
    assert report.baselines.keys() == {"unigram", "kneser_ney_7"}


def test_validation_scores_some_windows_of_a_long_text(monkeypatch):
    monkeypatch.setattr("attnlab.tasks.language.learner._VALIDATED", 3)
    task = task_of(GivenText(TEXT), context=8)
    task.windows = 5
    model = small_model(vocabulary=task.vocabulary.size, context=8)
    learner = LanguageLearner(from_hydra(compose(list(TRAINED))), task, model)
    result, report = learner.validate(1), task.evaluate(learner.model, "validation")
    # 200 characters, the last one alone
    every, windows = report.predictions, np.arange(5) * 25 // 5
    assert len(every["nats"]) == 25
    nats, count = (every[name][windows].sum() for name in ("nats", "tokens"))
    assert result["val_loss"] == pytest.approx(nats / count, rel=1e-4)
    bits = nats / every["bytes"][windows].sum() / math.log(2)
    assert result["val_bits_per_byte"] == pytest.approx(bits, rel=1e-4)
    task.windows = 100
    whole = LanguageLearner(from_hydra(compose(list(TRAINED))), task, model).validate(1)
    assert whole["val_loss"] == pytest.approx(report.metrics["loss"], rel=1e-5)


def test_rows_are_scored_by_their_answers():
    task = task_of(Echo())
    model = small_model(vocabulary=4, context=9, asked=3)
    report = task.evaluate(model, "test")
    loaded = small_model(vocabulary=4, context=9)  # built without data, as by `attnlab evaluate`
    loaded.set_weights(model.get_weights())
    assert task.evaluate(loaded, "test").metrics == report.metrics
    right = report.predictions["right"]
    assert len(right) == 35 and report.metric == "accuracy"
    assert report.metrics["accuracy"] == right.mean()
    assert report.metrics["whole_rows"] == right.reshape(7, 5).all(axis=1).mean()
    rows = task.data.parts["test"]
    names = np.array(["a", "b", "c", "d"])
    assert report.predictions["answer"].tolist() == names[rows.targets[rows.targets >= 0]].tolist()
    assert report.predictions["text"][0].count("»") == 1
    assert report.baselines["guess"] == {"accuracy": 0.25} and "usual" in report.baselines


def test_longer_rows_have_metrics_of_their_own():
    corpus = Reversal(rows=100, different=30, shortest=2, longest=4, test_longest=6)
    task = task_of(corpus)
    model = small_model(vocabulary=33, context=13, asked=5)
    report = task.evaluate(model, "test")
    columns = report.predictions
    right, longer = columns["right"], columns["longer"] > 0
    assert (longer == (columns["row"] >= 1000)).all()
    assert report.metrics["accuracy"] == right[~longer].mean()
    assert report.metrics["accuracy_longer"] == right[longer].mean()
    assert report.metrics["loss"] == pytest.approx(
        -np.log(columns["p_answer"])[~longer].mean(), 1e-3
    )
    whole = [right[columns["row"] == row].all() for row in range(2000)]
    assert report.metrics["whole_rows"] == np.mean(whole[:1000])
    assert report.metrics["whole_rows_longer"] == np.mean(whole[1000:])
    answers = columns["answer"]
    usual = report.baselines["usual"]
    shares = {np.mean(answers[longer] == name) for name in task.vocabulary.names}
    assert usual["accuracy_longer"] in shares and usual.keys() == {"accuracy", "accuracy_longer"}
    validation = task.evaluate(model, "validation")
    assert validation.metrics.keys() == {"accuracy", "whole_rows", "loss"}


class Run:
    """A run with some predictions."""

    def __init__(self, name: str, columns) -> None:
        self.path = self.name = name
        self.columns = columns

    def read_predictions(self, text):
        return self.columns


def answers(name: str, right) -> Run:
    count = len(right)
    columns = {"row": np.arange(count), "place": np.zeros(count), "answer": np.ones(count)}
    longer = (np.arange(count) >= 6).astype(int)
    return Run(name, {**columns, "right": np.array(right), "longer": longer})


def windows(name: str, nats, text: str = "w") -> Run:
    count = len(nats)
    columns = {"window": np.arange(count), "text": np.array([text] * count)}
    sizes = {"bytes": np.full(count, 2.0), "tokens": np.full(count, 4)}
    return Run(name, {**columns, **sizes, "nats": np.array(nats)})


def test_the_tests_between_runs_are_of_rows_of_train_lengths_or_longer_ones():
    one, base = answers("one", [1] * 6 + [0] * 8), answers("base", [0] * 6 + [1] * 8)
    for metric, items, statistic in (("accuracy", 6, -1.0), ("accuracy_longer", 8, 1.0)):
        (result,) = item_test(metric, [([one], [base])], None)
        assert (result.items, result.statistic) == (items, statistic)
        assert result.p == pytest.approx(2 * 0.5**items)


def test_the_test_between_runs_on_texts_is_over_windows():
    draw = np.random.default_rng(5)
    one, base = draw.normal(size=17), draw.normal(size=17)
    for metric, size in (("bits_per_byte", 2), ("loss", 4), ("perplexity", 4)):
        (result,) = item_test(metric, [([windows("one", one)], [windows("base", base)])], None)
        assert result.items == 17 and result.statistic == pytest.approx((one - base).mean() / size)
    with pytest.raises(NoItemTest, match="other test items"):
        item_test("loss", [([windows("a", base, "x")], [windows("b", base)])], None)
    with pytest.raises(NoItemTest, match="no windows of a text"):
        item_test("loss", [([answers("a", [1, 0])], [answers("b", [1, 1])])], None)


@pytest.mark.parametrize(("characters", "start"), [(400, "waits; t"), (405, "the b")])
def test_a_sample_starts_at_a_word(characters, start):
    task = task_of(GivenText(TEXT[:characters]), context=16)
    model = small_model(vocabulary=task.vocabulary.size, context=16)
    learner = LanguageLearner(from_hydra(compose(list(TRAINED))), task, model)
    assert str(learner.examples()["sample"]).startswith(start)


@pytest.mark.parametrize("jit", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_rows_are_learned(jit):
    config = from_hydra(compose([*TRAINED, "optimizer.learning_rate=0.01"]))
    config = config.with_values({"trainer.jit": jit})
    task = task_of(Echo())
    model = small_model(layers=1, vocabulary=4, context=9, asked=3)
    learner, step = LanguageLearner(config, task, model), 0
    for epoch in range(1, 21):
        for chunk in learner.chunks(epoch):
            losses = learner.train(chunk, np.full(chunk.steps, 0.01), step)
            step += chunk.steps
    assert losses.values[-1] < 0.3
    assert learner.validate(20)["val_accuracy"] > 0.9
    assert learner.report().metrics.keys() == {"accuracy", "whole_rows", "loss"}
    row = task.scored_rows("test")
    last = row.places[0][row.has_target[0]].max()  # padding follows
    labels = task.vocabulary.labels(row.tokens[0, : last + 1])
    assert learner.examples()["tokens"].tolist() == labels


def test_a_run_trains_reports_and_continues_texts(trained_lab):
    (folder,) = trained_lab.run_folders()
    run = RunDirectory(folder)
    history, metrics = run.history.read(), json.loads((folder / "metrics.json").read_text())
    first, second = history["val_loss"]
    assert second < first < math.log(70)
    bits = second / math.log(2)
    assert history["val_bits_per_byte"][1] == pytest.approx(bits, rel=1e-4)
    assert metrics["metric"] == "bits_per_byte"
    assert len(metrics["sample"]) == 8 + 120
    assert {*figures(run, metrics)} == {"loss.png", "attention.png"}
    heads = json.loads(trained_lab("heads", "latest", "--json").out)
    first = [row["first"] for row in heads if row["on"] == "test"]
    assert metrics["first_token"] == pytest.approx(np.mean(first), abs=1e-4)
    code, out, _ = trained_lab("generate", "latest", "The ", "--tokens", "9")
    assert code == 0 and out.startswith("The ") and len(out) == 4 + 9 + 1
    served = TrainedRun.load(run)
    (text,) = served.task.serve(served.model, ["The ol"])
    assert text.startswith("The ol") and len(text) == 7


def test_a_map_of_a_long_text_shows_its_end_with_the_weights_of_the_whole_text():
    weights, labels = np.tril(np.ones((50, 50))) / np.arange(1, 51)[:, None], [*map(str, range(50))]
    drawn = text_figure(weights[None, None], labels, "a")
    assert drawn.subtitle.endswith("; the last 48 of 50 tokens")
    (((maps,),),) = (grid.rows for grid in drawn.grids)
    np.testing.assert_array_equal(maps.weights[0], weights[2:, 2:])
    assert maps.x.ticks[0] == (0, "2")


def test_the_page_has_samples_and_attention_by_epoch(trained_lab):
    run = RunDirectory(trained_lab.run_folders()[0])
    metrics = run.read_metrics()
    shown = on_page(run.path.parents[2])
    _, table = sample_records(shown)
    texts = {row[0]: row[1] for row in table.rows}
    assert [*texts] == ["1", "2"] and texts["1"] != texts["2"]
    assert texts[str(metrics["best_epoch"])] == " ".join(metrics["sample"].split())
    _, slider = attention_records(shown)
    ((first,),), ((second,),) = ([maps.items for maps in frame] for frame in slider.frames)
    assert "".join(first.rows).startswith(metrics["sample"][:3]) and len(first.rows) == 16
    assert first.rows == second.rows and not np.allclose(first.weights, second.weights)
    assert len(first.weights) == 1 + 2  # the mean and two heads
    recorded = read_attention(run)
    older = {n: {**recorded.at(n), "weights": recorded.at(n)["weights"][-1]} for n in (1, 2)}
    write_attention(run, Recorded(older, recorded.best))  # as files were that had one layer
    _, again = attention_records(shown)
    write_attention(run, recorded)
    assert again.frames[0][0].maps == slider.frames[0][0].maps


def test_unknown_tokens_have_no_bits_per_byte():
    text = "a cat sat on the mat.\n" * 20 + "a dog sat on the log.\n" * 4
    task = task_of(GivenText(text, 0.1, 0.1), context=8, tokenizer="word")
    model = small_model(vocabulary=task.vocabulary.size, context=8)
    report = task.evaluate(model, "test")
    assert report.metric == "perplexity" and report.metrics.keys() == {"loss", "perplexity"}
    assert all(scores.keys() == report.metrics.keys() for scores in report.baselines.values())
    assert any(re.search(r"\d of \d+ predicted tokens .* are unknown", n) for n in report.notes)
    baseline = report.baselines[report.best_baseline]["perplexity"]
    assert report.skill == pytest.approx(1 - (report.metrics["perplexity"] - 1) / (baseline - 1))
    learner = LanguageLearner(from_hydra(compose([*TRAINED])), task, model)
    assert "val_bits_per_byte" not in learner.validate(1)


def test_a_stopped_run_resumes_to_the_same_bits(trained_lab, monkeypatch):
    assert_resumes_to_the_same_bits(trained_lab, TRAINED, LanguageLearner, 2, monkeypatch)
