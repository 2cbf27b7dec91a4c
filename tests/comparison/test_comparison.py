"""Groups, references, differences and messages of a comparison; tests over test windows."""

from __future__ import annotations

import numpy as np
import pytest
from compared_runs import BETTER, NONE, SAME, compared, only, write_group
from run_folders import write_forecast, write_run
from scipy import stats

from attnlab.comparison.charts import baseline_values
from attnlab.comparison.selection import Filters
from attnlab.comparison.statistics import sequential_interval
from attnlab.comparison.tables import heading
from attnlab.errors import RequestError


def rows(comparison):
    return {row.group.label: row for row in comparison.table.itertuples()}


def test_groups_are_averaged_over_seeds_and_tests_are_corrected_over_the_table(three_groups):
    comparison = only(three_groups)
    assert [group.label for group in comparison.groups] == ["bahdanau", "pooling", "none"]
    better, same, none = comparison.table.itertuples()
    interval = stats.t.interval(0.95, 4, np.mean(BETTER), stats.sem(BETTER))
    assert (better.n, better.mean, better.low, better.high) == (
        *(5, *map(pytest.approx, (np.mean(BETTER), *interval))),
    )
    assert (better.best, better.worst, better.parameters) == (0.86, 1.08, 1000)
    assert better.skill == pytest.approx(1 - np.mean(BETTER) / 2)
    raw = [stats.ttest_rel(values, NONE).pvalue for values in (BETTER, SAME)]
    assert better.p == pytest.approx(raw[0])
    assert (better.p_corrected, same.p_corrected) == pytest.approx((2 * raw[0], raw[1]))
    assert (better.verdict, same.verdict, none.verdict) == ("better", "no evidence", None)
    assert none.difference is None and not comparison.warnings


def test_higher_is_better_for_bleu_and_corpora_are_separate(tmp_path):
    for corpus in ("builtin", "tatoeba"):
        status = {"task": "translate", "status": {"data": {"name": corpus}}}
        write_group(tmp_path, "none", [20, 22, 19, 21, 24], **status)
        write_group(tmp_path, "bahdanau", [30, 33, 28, 31, 34], **status)
    builtin, tatoeba = compared(tmp_path, bootstrap=False).tasks
    assert (builtin.name, tatoeba.name) == ("translate builtin", "translate tatoeba")
    assert heading(tatoeba).startswith("translate (tatoeba):")
    best, _ = tatoeba.table.itertuples()
    assert (best.group.label, best.best, best.worst, best.verdict) == ("bahdanau", 34, 28, "better")


def test_groups_by_several_keys_are_in_the_order_of_numbers(tmp_path):
    for units in (16, 128, 8):
        config = {"attention.score": "dot", "model.units": units}
        write_group(tmp_path, "luong_global", NONE, config=config)
    write_group(tmp_path, "bahdanau", NONE)
    by = ("attention.score", "model.units")
    comparison = only(tmp_path, by=by, reference="dot, 128")
    names = ["dot / 8", "dot / 16", "dot / 128", "- / 16"]
    assert [group.label for group in comparison.groups] == names
    assert comparison.reference.label == "dot / 128"
    assert rows(comparison)["dot / 8"].verdict == "identical"


def test_pairs_are_the_shared_seeds_and_few_are_not_judged(tmp_path):
    write_group(tmp_path, "none", NONE)
    write_group(tmp_path, "bahdanau", BETTER[:4])
    write_group(tmp_path, "pooling", SAME[:1])
    for seed, value in zip((3, 4, 5), (0.5, 0.6, 0.7), strict=True):
        write_run(tmp_path, "multi_head", seed, value)
    write_run(tmp_path, "linear", 7, 1.0)
    groups = rows(only(tmp_path))
    few, one, shared, other = (groups[n] for n in ("bahdanau", "pooling", "multi_head", "linear"))
    assert few.verdict == one.verdict == shared.verdict == "too few seeds"
    assert few.shared_seeds == 4 and few.p < 0.01
    assert (one.low, one.difference_low, one.p_corrected) == (None, None, None)
    assert (shared.n, shared.shared_seeds) == (3, 2)
    assert shared.difference == pytest.approx((0.5 - 1.05 + 0.6 - 1.2) / 2)
    assert (other.shared_seeds, other.verdict) == (0, "no shared seed")


def test_a_newer_run_replaces_only_runs_of_equal_settings(runs):
    """Fixed: a newer run of one epoch replaced a run of thirty."""
    before = rows(only(runs))["none"]
    write_run(runs, "none", 0, 9.0, config={"trainer.epochs": 1})
    write_run(runs, "none", 0, 8.0, config={"trainer.epochs": 1})
    comparison = only(runs)
    assert comparison.notes == ("left out 1 older run of the same group and seed",)
    assert comparison.by == ("attention", "trainer.epochs")
    groups = rows(comparison)
    assert groups["none / 30"].group.values == before.group.values
    assert groups["none / 1"].group.values == {0: 8.0}
    assert comparison.reference.label == "none / 30"
    assert only(runs, reference="none, 1").reference.label == "none / 1"


def test_the_choice_of_reference_ignores_results(tmp_path):
    write_group(tmp_path, "pooling", BETTER[:2])
    write_group(tmp_path, "luong_global", SAME[:3])
    assert only(tmp_path).reference.label == "luong_global"
    write_group(tmp_path, "none", NONE[:1])
    assert only(tmp_path).reference.label == "none"


def test_geometric_means_and_ratios(tmp_path):
    values = [2e-5, 2.1e-4, 2e-3, 1.9e-5, 2e-4]
    write_group(tmp_path, "none", [1e-5, 1e-4, 1e-3, 1e-5, 1e-4])
    write_group(tmp_path, "bahdanau", values)
    row = rows(only(tmp_path, geometric=True))["bahdanau"]
    assert row.mean == pytest.approx(stats.gmean(values))
    assert row.difference == pytest.approx(2, rel=0.01) and row.difference_low > 1.8
    assert row.verdict == "worse"
    write_run(tmp_path, "none", 5, 0.0)
    with pytest.raises(RequestError, match="--geometric: needs values above 0, but rmse is 0"):
        only(tmp_path, geometric=True)


def test_a_metric_may_be_any_number_of_metrics_json(tmp_path):
    """Only the reported one has a skill."""
    baselines = {"persistence": {"rmse": 2.0, "mae": 1.5}, "mean": {"rmse": 3.0, "mae": 1.25}}
    for seed, value in enumerate((3.0, 4.0)):
        extra = {"longer": {"test": {"rmse": value}, "skill": 0.25}}
        metrics = {"extra": extra, "baselines": baselines, "alignment": {"coverage": 7}}
        write_run(tmp_path, "none", seed, 1.0, metrics=metrics)
        write_run(tmp_path, "bahdanau", seed, 1.0, metrics=metrics)
    comparison = only(tmp_path)
    assert rows(comparison)["none"].skill == 0.5
    other = only(tmp_path, metric="mae")
    assert rows(other)["none"].skill is None
    assert baseline_values(other) == {"mean": 1.25, "persistence": 1.5}  # the best one first
    longer = only(tmp_path, metric="extra.longer.rmse")
    row = rows(longer)["bahdanau"]
    assert (row.n, row.mean, row.skill, row.item_test) == (2, 3.5, 0.25, None)
    assert longer.metric.direction == -1
    assert only(tmp_path, metric="alignment.coverage").metric.direction == 0


def test_runs_without_a_result_are_counted_or_named(runs):
    write_run(runs, "none", 5, None, state="failed")
    write_run(runs, "none", 6, None, state="killed", status={"pruned": True})
    write_run(runs, "none", 7, None, state="killed")
    damaged = write_run(runs, "none", 8, 1.0).path / "metrics.json"
    damaged.write_text("{")
    missing = write_run(runs, "none", 9, 1.0).path / "config.yaml"
    missing.unlink()
    states, *files = compared(runs).left_out
    assert states == "not completed: 1 failed, 1 pruned, 1 killed"
    assert files[0].startswith(f"{damaged}: damaged")
    assert files[1].startswith(f"{missing}: damaged or missing")
    infinite = write_run(runs, "none", 5, None)
    comparison = only(runs)
    assert comparison.warnings == (f"left out 1 without a finite rmse: {infinite.name}",)
    assert rows(comparison)["none"].n == 5


def test_groups_whose_last_epochs_are_their_best_are_named_with_the_command(tmp_path):
    """Not without validation data, where the last epoch is always the best."""
    command = "attnlab -m task=sunspots 'seed=range(5)' trainer.epochs=30"
    best_epochs = {"none": (30, 30, 12), "bahdanau": (30, 12, 12), "pooling": (30, 30, 30)}
    for attention, epochs in best_epochs.items():
        for seed, best in enumerate(epochs):
            monitor = None if attention == "pooling" else "val_loss"
            metrics = {"best_epoch": best, "epochs": 30, "monitor": monitor}
            environment = {"command": command}
            write_run(tmp_path, attention, seed, 1, metrics=metrics, environment=environment)
    longer = "Train longer: attnlab -m task=sunspots 'seed=range(5)' trainer.epochs=60"
    said = f"still improving in the last epoch: no attention. {longer}"
    assert only(tmp_path).warnings == (said,)
    metrics = {"best_epoch": 30, "epochs": 30, "monitor": "val_loss"}
    environment = {"command": "attnlab --config-dir mine task=sunspots seed=1"}
    write_run(tmp_path, "none", 1, 1, metrics=metrics, environment=environment)
    (said,) = only(tmp_path).warnings
    assert said.endswith("Train longer: trainer.epochs=60")  # of several commands


def test_without_results_there_is_nothing_to_compare(tmp_path):
    write_run(tmp_path, "none", 0, None, state="failed")
    with pytest.raises(RequestError, match="no run is completed; there are 1 failed"):
        compared(tmp_path)
    write_run(tmp_path, "none", 0, None)
    with pytest.raises(RequestError, match="--metric: sunspots: no run has a finite"):
        compared(tmp_path)


def test_item_tests_use_the_seeds_of_both_sides(tmp_path):
    """A seed of only one side changes nothing, even if it is a thousand times worse."""
    write_group(tmp_path, "none", NONE)
    write_group(tmp_path, "bahdanau", BETTER[:3])
    selected = Filters(where=("attention=none,bahdanau", "seed=0,1,2"))
    before = rows(only(tmp_path, selected))["bahdanau"]
    write_run(tmp_path, "bahdanau", 7, 900.0)
    write_run(tmp_path, "pooling", 8, 1.0)
    after = rows(only(tmp_path))
    assert after["bahdanau"].item_statistic == before.item_statistic
    assert after["bahdanau"].item_p == before.item_p
    assert after["pooling"].item_test is None


def test_other_test_items_are_not_tested(tmp_path):
    write_group(tmp_path, "none", NONE)
    write_group(tmp_path, "pooling", SAME)
    run = write_run(tmp_path, "pooling", 0, 1.0)
    write_forecast(run, np.ones(7))
    comparison = only(tmp_path)
    assert rows(comparison)["pooling"].item_test is None
    assert f"no test over test items: {run.name} has other test items than the others" in (
        comparison.notes
    )
    (run.path / "predictions.csv").write_text("index,step\n")
    assert any("predictions.csv: damaged" in text for text in only(tmp_path).notes)


def test_sequential_intervals_hold_for_all_groups_together(three_groups):
    row = rows(only(three_groups, sequential=True))["bahdanau"]
    # 0.05 / 2 takes more than five seeds; a group's own interval, which is compared with none, not
    assert (row.shared_seeds, row.difference) == (5, pytest.approx(-0.102))
    assert (row.difference_low, row.difference_high) == (None, None)
    assert (row.p_corrected, row.verdict) == (2 * row.p, "too few seeds")
    assert (row.low, row.high) == sequential_interval(BETTER)[2:4]
    two = only(three_groups, Filters(attentions=("none", "bahdanau")), sequential=True)
    alone = rows(two)["bahdanau"]
    assert (alone.verdict, alone.p) == ("better", row.p)
    assert -0.2 < alone.difference_low < -0.118  # the end of the t interval
