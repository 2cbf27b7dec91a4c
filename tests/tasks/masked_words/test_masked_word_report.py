"""Reports, comparisons, figures and pages of runs that fill in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from compared_runs import on_page
from drawn import drawn
from fillers import DATA, TEST, fake_task, said, word, write_filler
from scipy.stats import binomtest

from attnlab.run.figures import draw_run
from attnlab.tasks.masked_words.baselines import baselines
from attnlab.tasks.masked_words.item_test import item_test
from attnlab.tasks.masked_words.kind import KIND
from attnlab.tasks.masked_words.report import build_report, chosen_words
from attnlab.tasks.masked_words.shown import attention_figure, figures, word_records
from attnlab.views.png.figure import draw
from attnlab.views.png.words import DARKEST

COUNT = len(DATA.parts["test"].words)
METRICS = {
    **{"task": "masked_words", "attention": "multi_head", "seed": 3, "monitor": "val_loss"},
    **{"best_epoch": 2, "test": {"accuracy": 0.5, "perplexity": 4.0}},
}


# The report


def test_a_report_has_scores_groups_and_skill():
    report = build_report(fake_task(), "test", said([0, 3, 4]))
    assert report.metrics["accuracy"] == pytest.approx(1 - 3 / COUNT)
    losses = said([0, 3, 4]).losses
    assert report.metrics["perplexity"] == pytest.approx(np.exp(losses.mean()), rel=1e-6)
    part = DATA.parts["test"]
    words, loss = baselines(DATA.parts["train"].tokens, part.asked, part.words, 99)["neighbours"]
    other = report.baselines["neighbours"]
    assert other["accuracy"] == pytest.approx(np.mean(words == part.words))
    assert report.skill == pytest.approx(1 - (3 / COUNT) / (1 - other["accuracy"]))
    groups = report.details["groups"]
    assert sum(each["n"] for each in groups.values()) == COUNT
    whole = sum(each["n"] * each["accuracy"] for each in groups.values()) / COUNT
    assert whole == pytest.approx(report.metrics["accuracy"])


def test_predictions_have_their_context(tmp_path):
    run = write_filler(tmp_path, "multi_head", [2])
    columns = run.read_predictions(KIND.scoring.text_columns)
    assert {n for n in columns if columns[n].dtype.kind in "OU"} == {*KIND.scoring.text_columns}
    assert columns["right"].tolist() == [1, 1, 0] + [1] * (COUNT - 3)
    assert (columns["word"] == columns["prediction"]).tolist() == (columns["right"] > 0).tolist()
    for text, own, row, read in zip(
        *(columns[name] for name in ("text", "word", "row", "read")), strict=True
    ):
        assert text.endswith(" <end>") and text.count("»") == 1
        if read == "masked":
            whole = text.replace("»[MASK]«", own).removesuffix(" <end>")
            assert "[MASK]" in whole or whole == TEST[row]
    assert columns["p_word"][2] == pytest.approx(np.exp(-1), abs=1e-6)


def test_the_baseline_of_pairs_is_the_more_frequent_kind():
    predicted = said([])
    predicted.follows = np.where(np.arange(len(DATA.parts["test"])) < 5, 0.25, 0.75)
    report = build_report(fake_task(), "test", predicted)
    assert report.metrics["follows"] == pytest.approx(1 - 5 / len(DATA.parts["test"]))
    assert report.baselines["frequency"]["follows"] == 1
    test = replace(DATA.parts["test"], follows=np.arange(len(DATA.parts["test"])) % 5 == 0)
    task = fake_task(replace(DATA, parts={**DATA.parts, "test": test}))
    report = build_report(task, "test", predicted)
    assert report.baselines["frequency"]["follows"] == 0.2


# Comparisons


def test_one_seed_is_mcnemars_test(tmp_path):
    base = write_filler(tmp_path, "multi_head", [0, 1])
    own = write_filler(tmp_path, "bahdanau", [0, *range(2, 8)])
    (found,) = item_test("accuracy", [([own], [base])], False)
    assert found.p == pytest.approx(binomtest(1, 7).pvalue)
    assert found.method == f"exact McNemar test over {COUNT} test words"


# Examples and figures


def test_half_of_the_examples_are_wrong_ones_of_different_rows():
    rows = np.repeat(np.arange(20), 3)
    right = np.ones(60, bool)
    right[30:] = False
    chosen = chosen_words(right, rows)
    assert right[chosen].tolist() == [False] * 4 + [True] * 4
    assert len({*rows[chosen].tolist()}) == 8 and chosen[0] == 30
    both = np.arange(60) % 3 > 0  # each row has a wrong one
    chosen = chosen_words(both, rows)
    assert both[chosen].tolist() == [False] * 4 + [True] * 4
    assert len({*rows[chosen].tolist()}) == 8
    assert len(chosen_words(np.zeros(60, bool), rows)) == 8
    assert chosen_words(np.ones(3, bool), np.zeros(3, int)).tolist() == [0]


def kept(heads: int = 2) -> dict[str, np.ndarray]:
    weights = np.zeros((2, heads, 1, 5), np.float32)
    weights[0, :, 0] = [0.1, 0.4, 0.2, 0.3, 0]
    weights[1, :, 0] = [0.5, 0.25, 0.25, 0, 0]
    return {
        "weights": weights,
        "tokens": np.array(
            [["<start>", "a", "[MASK]", "<end>", ""], ["<start>", "$b", "<end>", "", ""]]
        ),  # fmt: skip
        **{"place": np.array([2, 1]), "word": np.array(["dog", "$b"])},
        **{"prediction": np.array(["cat", "$b"]), "right": np.array([False, True])},
        "index": np.array([4, 9]),
    }


def test_words_are_shaded_by_the_weights_of_the_query():
    figure = drawn(attention_figure)(kept(), METRICS)
    axes = figure.axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert texts == [
        *("wrong: said cat, is dog   (test word 4, largest weight 0.4)",),
        *("<start>", "a", "»[MASK]«", "<end>"),
        *("right: $b   (test word 9, largest weight 0.5)", "<start>", "»$b«", "<end>"),
    ]
    shades = [round(patch.get_alpha() / DARKEST, 6) for patch in axes.patches if patch.get_alpha()]
    assert shades == [0.25, 1, 0.5, 0.75, 1, 0.5, 0.5]
    assert figure.texts[1].get_text().startswith("mean over 2 heads; the word between » and « is")
    assert drawn(attention_figure)(kept(1), METRICS).texts[1].get_text().startswith("the word")


@pytest.mark.parametrize("paired", [False, True])
def test_a_run_draws_its_figures(tmp_path, paired):
    run = write_filler(tmp_path, "multi_head", [1], kept=kept())
    history = {"epoch": 1, "train_loss": 2.0, "val_loss": 1.0, "val_accuracy": 0.5}
    history |= {"val_follows": 0.75} if paired else {}
    run.history.replace([history, {**history, "epoch": 2, "val_loss": 0.5}])
    found = {name: draw(each) for name, each in figures(run, run.read_metrics()).items()}
    assert list(found) == ["loss.png", "groups.png", "attention.png"]
    loss, scores = found["loss.png"].axes
    labels = [line.get_label() for line in scores.lines if not line.get_label().startswith("_")]
    assert labels == ["words", *["whether texts follow each other"] * paired]
    result = found["loss.png"].texts[1].get_text().split("   ")
    assert [part.rpartition(" ")[0] for part in result[:2]] == ["test accuracy", "perplexity"]
    assert result[2].startswith("best baseline: ") and len(result) == 3
    assert ("words and pairs" in loss.lines[0].get_label()) == paired
    assert {path.name for path in draw_run(run)} == {*found}


# The page


def test_words_are_ordered_from_worst_to_best(tmp_path):
    write_filler(tmp_path, "multi_head", [5, 6, 8])
    table, groups = word_records(on_page(tmp_path))
    assert table.header == ["text", "word", "prediction", "p"]
    p = [float(row[3]) for row in table.rows]
    assert len(p) == 24 and p == sorted(p)
    assert p[:3] == pytest.approx(np.exp([-3, -2, -1]), abs=6e-4)
    assert [row[1] for row in table.rows[:3]] == [word(8), word(6), word(5)]
    assert table.rows[0][2].endswith(" ✗ (0.75)") and table.rows[-1][2] == table.rows[-1][1]
    assert groups.header == ["group", "words", *groups.header[2:]]
    assert {row[0] for row in groups.rows} <= {"masked", "replaced", "kept"}
