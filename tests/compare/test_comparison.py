"""Groups, references, differences, words and warnings of a comparison."""

from __future__ import annotations

import numpy as np
import pytest
from compared_runs import (
    BETTER,
    NONE,
    SAME,
    write_forecast,
    write_group,
    write_run,
    write_translations,
)
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest
from scipy import stats

from attnlab.compare.bootstrap import paired_bootstrap
from attnlab.compare.comparison import compare
from attnlab.compare.results import Request
from attnlab.compare.runs import Selection
from attnlab.errors import RequestError


@pytest.fixture
def runs(tmp_path):
    write_group(tmp_path, "none", NONE)
    write_group(tmp_path, "bahdanau", BETTER)
    write_group(tmp_path, "pooling", SAME)
    return tmp_path


def only(runs, **request):
    (comparison,) = compare(runs, Request(**request)).tasks
    return comparison


def rows(comparison):
    return {row.group.label: row for row in comparison.rows}


def test_groups_are_averaged_over_seeds(runs):
    comparison = only(runs)
    assert [row.group.label for row in comparison.rows] == ["bahdanau", "pooling", "none"]
    row = rows(comparison)["bahdanau"]
    expected = stats.t.interval(0.95, 4, np.mean(BETTER), stats.sem(BETTER))
    assert (row.interval.low, row.interval.high) == pytest.approx(expected)
    assert (row.interval.n, row.interval.mean) == (5, pytest.approx(np.mean(BETTER)))
    assert (row.best, row.worst) == (0.86, 1.08)
    assert row.skill == pytest.approx(1 - np.mean(BETTER) / 2)
    assert row.parameters == (1000, 1000)
    assert row.seconds_per_epoch == 0.5  # the median: compiling takes the first one's 9 seconds
    assert comparison.warnings == []


def test_the_paired_test_is_corrected_over_the_table(runs):
    found = rows(only(runs))
    raw = [stats.ttest_rel(values, NONE).pvalue for values in (BETTER, SAME)]
    assert found["bahdanau"].difference.p == pytest.approx(raw[0])
    assert found["bahdanau"].p_holm == pytest.approx(2 * raw[0])
    assert found["pooling"].p_holm == pytest.approx(raw[1])
    assert (found["bahdanau"].verdict, found["pooling"].verdict) == ("better", "no evidence")
    assert (found["none"].verdict, found["none"].difference) == ("", None)


def test_higher_is_better_for_bleu(tmp_path):
    write_group(tmp_path, "none", [20, 22, 19, 21, 24], task="translate")
    write_group(tmp_path, "bahdanau", [30, 33, 28, 31, 34], task="translate")
    comparison = only(tmp_path, bootstrap=False)
    assert comparison.metric.direction == 1
    assert [row.group.label for row in comparison.rows] == ["bahdanau", "none"]
    row = rows(comparison)["bahdanau"]
    assert (row.best, row.worst, row.verdict) == (34, 28, "better")
    other_way = rows(only(tmp_path, bootstrap=False, reference="bahdanau"))["none"]
    assert other_way.verdict == "worse"


def test_few_seeds_are_not_judged(tmp_path):
    write_group(tmp_path, "none", NONE)
    write_group(tmp_path, "bahdanau", BETTER[:4])
    write_group(tmp_path, "pooling", SAME[:1])
    found = rows(only(tmp_path))
    assert found["bahdanau"].verdict == found["pooling"].verdict == "too few seeds"
    assert found["bahdanau"].difference.n == 4
    assert found["bahdanau"].difference.p < 0.01
    assert found["pooling"].interval.low is None
    assert (found["pooling"].difference.low, found["pooling"].p_holm) == (None, None)


def test_pairs_are_the_shared_seeds(tmp_path):
    write_group(tmp_path, "none", NONE)
    for seed, value in zip((3, 4, 5), (0.5, 0.6, 0.7), strict=True):
        write_run(tmp_path, "bahdanau", seed, value)
    for seed in (7, 8):
        write_run(tmp_path, "pooling", seed, 1.0)
    found = rows(only(tmp_path))
    assert found["bahdanau"].interval.n == 3
    assert found["bahdanau"].difference.n == 2
    assert found["bahdanau"].difference.mean == pytest.approx((0.5 - 1.05 + 0.6 - 1.2) / 2)
    assert found["pooling"].verdict == "no shared seed"


def test_the_newest_run_of_a_seed_counts(runs):
    write_run(runs, "none", 0, 3.0)
    comparison = only(runs)
    assert rows(comparison)["none"].worst == 3.0
    assert comparison.notes == ["left out 1 older run of the same group and seed"]
    write_run(runs, "none", 0, 1.0, config={"model.units": 32})
    assert any(
        text.startswith("left out 2 older runs of a group and seed, with another model.units")
        for text in only(runs).warnings
    )


def test_the_reference_is_chosen_without_a_look_at_results(tmp_path):
    write_group(tmp_path, "pooling", BETTER[:2])
    write_group(tmp_path, "luong_global", SAME[:3])
    assert only(tmp_path).reference == "luong_global"
    write_group(tmp_path, "none", NONE[:1])
    assert only(tmp_path).reference == "none"
    assert only(tmp_path, reference="pooling").reference == "pooling"
    assert only(tmp_path, reference="attention=pooling").reference == "pooling"


def test_groups_by_several_keys(tmp_path):
    for cell in ("gru", "lstm"):
        write_group(tmp_path, "luong_global", NONE,
                    config={"attention.score": "dot", "model.cell": cell})  # fmt: skip
    write_group(tmp_path, "bahdanau", SAME)
    comparison = only(tmp_path, by=("attention.score", "model.cell"), reference="dot, lstm")
    assert sorted(rows(comparison)) == ["- / gru", "dot / gru", "dot / lstm"]
    assert comparison.reference == "dot / lstm"
    assert rows(comparison)["dot / gru"].verdict == "identical"


def test_numbers_are_ordered_as_numbers(tmp_path):
    for units in (16, 128, 8):
        write_group(tmp_path, "none", NONE, config={"model.units": units})
    groups = [g.label for g in only(tmp_path, by=("model.units",)).groups]
    assert groups == ["8", "16", "128"]


def test_geometric_means_and_ratios(tmp_path):
    write_group(tmp_path, "none", [1e-5, 1e-4, 1e-3, 1e-5, 1e-4])
    write_group(tmp_path, "bahdanau", [2e-5, 2.1e-4, 2e-3, 1.9e-5, 2e-4])
    assert any("--geometric" in text for text in only(tmp_path).notes)
    row = rows(only(tmp_path, geometric=True))["bahdanau"]
    assert row.interval.mean == pytest.approx(stats.gmean([2e-5, 2.1e-4, 2e-3, 1.9e-5, 2e-4]))
    assert row.difference.mean == pytest.approx(2, rel=0.01)
    assert row.difference.low > 1.8
    assert row.verdict == "worse"
    write_run(tmp_path, "none", 5, 0.0)
    with pytest.raises(RequestError, match="--geometric: expected values above 0, but rmse is 0"):
        only(tmp_path, geometric=True)


def test_each_task_has_its_table_and_metric(runs):
    write_group(runs, "none", [20, 21], task="translate")
    found = compare(runs, Request())
    assert [(each.task, each.metric.path) for each in found.tasks] == [
        *(("sunspots", "rmse"), ("translate", "bleu")),
    ]
    assert found.tasks[1].reference is None
    found = compare(runs, Request(metric="chrf"))
    assert [each.task for each in found.tasks] == ["translate"]
    assert found.left_out == ["sunspots, without a finite chrf"]


def test_a_metric_may_be_a_path(runs):
    for seed, value in enumerate((3.0, 4.0)):
        extra = {"longer": {"test": {"rmse": value}, "skill": 0.25}}
        write_run(runs, "bahdanau", seed, 1.0, metrics={"extra": extra})
        write_run(runs, "none", seed, 1.0, metrics={"extra": extra, "alignment": {"coverage": 7}})
    comparison = only(runs, metric="extra.longer.rmse")
    row = rows(comparison)["bahdanau"]
    assert (row.interval.n, row.interval.mean, row.skill) == (2, 3.5, 0.25)
    assert comparison.metric.direction == -1
    assert row.item_test is None
    assert only(runs, metric="alignment.coverage").metric.direction == 0


def test_runs_that_are_not_completed_are_counted(runs):
    write_run(runs, "none", 5, None, state="failed")
    write_run(runs, "none", 6, None, state="killed", status={"pruned": True})
    write_run(runs, "none", 7, None, state="killed")
    damaged = write_run(runs, "none", 8, 1.0).path / "metrics.json"
    damaged.write_text("{")
    missing = write_run(runs, "none", 9, 1.0).path / "config.yaml"
    missing.unlink()
    states, *files = compare(runs, Request()).left_out
    assert states == "not completed: 1 failed, 1 pruned, 1 killed"
    assert files[0].startswith(f"{damaged}: damaged")
    assert files[1].startswith(f"{missing}: damaged or missing")
    assert rows(only(runs))["none"].interval.n == 5


def test_a_pruned_run_that_was_completed_later_is_compared(runs):
    write_run(runs, "none", 5, 1.0, status={"pruned": True})
    found = compare(runs, Request())
    assert (found.left_out, rows(found.tasks[0])["none"].interval.n) == ([], 6)


def test_a_run_without_a_finite_result_is_named(runs):
    run = write_run(runs, "none", 5, None)
    comparison = only(runs)
    assert comparison.warnings == [f"left out {run.name}: it has no finite rmse"]
    assert rows(comparison)["none"].interval.n == 5


@pytest.mark.parametrize(
    ("selection", "labels"),
    [
        ({"where": {"attention": "none,pooling"}}, ["none", "pooling"]),
        ({"where": {"trainer.epochs": "30.0", "attention.name": "none"}}, ["none"]),
        ({"where": {"seed": "1,2"}}, ["bahdanau", "none", "pooling"]),
        ({"task": "sunspots"}, ["bahdanau", "none", "pooling"]),
    ],
    ids=str,
)
def test_only_chosen_runs_are_compared(runs, selection, labels):
    write_group(runs, "multi_head", NONE, task="fib", config={"trainer.epochs": 5})
    compared = compare(runs, Request(selection=Selection(**{"task": "sunspots", **selection})))
    assert sorted(rows(compared.tasks[0])) == labels


def test_a_sweep_is_chosen_by_its_name(runs):
    write_group(runs, "multi_head", NONE, status={"sweep": "mine"})
    assert set(rows(only(runs, selection=Selection(sweep="mine")))) == {"multi_head"}


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (
            {"by": ("atention",)},
            r"--by: .* got 'atention'\. Did you mean attention\?",
        ),
        ({"by": ("model",), "metric": "rmsee"}, r"--metric: .*'rmsee'\. Did you mean rmse\?"),
        ({"by": ("trainer",)}, r"--by: expected a single setting such as trainer\.epochs"),
        ({"by": ("seed",)}, "--by: expected keys other than seed"),
        ({"reference": "pool"}, r"--reference: .* got 'pool'\. Did you mean pooling\?"),
        ({"selection": Selection(task="fib")}, "--task: expected one of sunspots, got 'fib'"),
        ({"selection": Selection(sweep="x")}, "--sweep: expected a sweep that runs have"),
        (
            {"selection": Selection(where={"model.cel": "gru"})},
            r"--where: .*'model\.cel'\. Did you mean model\.cell\?",
        ),
        (
            {"selection": Selection(where={"model.cell": "gur"})},
            r"--where: expected a value of model\.cell that a run has \(gru\), got 'gur'\.",
        ),
    ],
    ids=str,
)
def test_a_wrong_request_names_the_nearest(runs, request_, text):
    with pytest.raises(RequestError, match=text):
        compare(runs, Request(**request_))


def test_without_runs_there_is_nothing_to_compare(tmp_path):
    with pytest.raises(RequestError, match="--runs: expected a folder of runs"):
        compare(tmp_path, Request())
    write_run(tmp_path, "none", 0, None, state="failed")
    with pytest.raises(RequestError, match="expected completed runs, but there are only 1 failed"):
        compare(tmp_path, Request())
    write_run(tmp_path, "none", 0, None)
    with pytest.raises(RequestError, match="--metric: expected runs with a finite value"):
        compare(tmp_path, Request())


# What else differs


def test_what_differs_beside_the_compared_keys_is_named(tmp_path):
    write_group(tmp_path, "none", NONE)
    write_group(
        tmp_path,
        "bahdanau",
        BETTER,
        config={"attention.units": 8, "trainer.epochs": 60, "task.history": 36, "paths.runs": "y"},
        environment={"packages": {"attnlab": "0.1.0", "tensorflow": "2.20.0", "keras": "3.15.1"}},
        status={"data_digest": "e" * 64},
    )
    write_run(tmp_path, "none", 4, 1.2, config={"model.units": 32})
    assert sorted(only(tmp_path).warnings) == sorted(
        [
            "left out 1 older run of a group and seed, with another model.units: "
            "see --by and --where",
            "model.units differs: 16 in bahdanau, 4 of none; 32 in 1 of none",
            "task.history differs: 36 in bahdanau; 24 in none",
            "trainer.epochs differs: 60 in bahdanau; 30 in none",
            "the data differ (data_digest): eeeeeeee in bahdanau; dddddddd in none",
            "the version of tensorflow differs: 2.20.0 in bahdanau; 2.21.0 in none",
        ]
    )


def test_what_an_option_brings_along_is_a_matter_of_course(tmp_path):
    write_group(tmp_path, "none", NONE)
    transformer = {"attention.heads": 4, "model.name": "transformer", "model.layers": 2}
    write_group(tmp_path, "multi_head", BETTER, config=transformer)
    warning = "model.name differs: transformer in multi_head; rnn in none"
    assert only(tmp_path).warnings == [warning]
    write_run(tmp_path, "multi_head", 5, 1.0, config={**transformer, "attention.heads": 8})
    mixed = "attention.heads differs: 4 in 5 of multi_head; 8 in 1 of multi_head; null in none"
    assert only(tmp_path).warnings == [mixed, warning]


def test_data_that_follow_from_the_seed_are_no_other_data(tmp_path):
    for attention in ("none", "pooling"):
        for seed in range(3):
            write_run(tmp_path, attention, seed, 1.0, status={"data_digest": str(seed) * 64})
    assert only(tmp_path).warnings == []


# Tests over test items


def test_diebold_mariano_averages_losses_over_seeds(runs):
    """The published errors, split over two seeds so that only their mean loss is the published."""
    first, second = np.array([1, 1, -1, 2, 3.0]), np.array([3, 6, -6, 0, 9.0])
    spread = np.array([0.5, 0.2, 0.1, 0, 0.7])
    for seed, sign in ((0, 1), (1, -1)):
        for attention, misses in (("none", second), ("bahdanau", first)):
            run = write_run(runs, attention, seed, 1.0)
            write_forecast(run, np.sqrt(misses**2 + sign * spread * (misses != 0)))
    selected = Selection(where={"attention": "none,bahdanau", "seed": "0,1"})
    test = rows(only(runs, selection=selected))["bahdanau"].item_test
    assert test.statistic == pytest.approx(-2.2229922806, abs=1e-8)
    assert test.p == pytest.approx(2 * 0.0451556587, abs=1e-8)
    assert (test.items, test.p_holm) == (5, test.p)


def test_items_are_tested_of_the_seeds_that_both_sides_have(tmp_path):
    """A seed that only one side has changes nothing, were it a thousand times worse."""
    write_group(tmp_path, "none", NONE)
    write_group(tmp_path, "bahdanau", BETTER[:3])
    selected = Selection(where={"attention": "none,bahdanau", "seed": "0,1,2"})
    before = rows(only(tmp_path, selection=selected))["bahdanau"].item_test
    write_run(tmp_path, "bahdanau", 7, 900.0)
    write_run(tmp_path, "pooling", 8, 1.0)
    found = rows(only(tmp_path))
    after = found["bahdanau"].item_test
    assert (after.statistic, after.p) == (before.statistic, before.p)
    assert found["pooling"].item_test is None


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
    assert any("predictions.csv: damaged or missing" in text for text in only(tmp_path).notes)


REFERENCES = [f"the {animal} sees the {other} in the old house" for animal in ("cat", "dog", "cow")
              for other in ("mouse", "horse", "bird", "fox")]  # fmt: skip


def spoiled(every):
    """Texts of which each `every`th is wrong."""
    return [
        text.replace("sees the", "saw a") if place % every == 0 else text
        for place, text in enumerate(REFERENCES)
    ]


def test_the_bootstrap_of_one_seed_is_sacrebleus():
    texts = {"a": spoiled(2), "b": spoiled(3), "c": spoiled(12)}
    test = PairedTest(list(texts.items()), {"BLEU": BLEU()}, [REFERENCES], test_type="bs")
    expected = [result.p_value for result in test()[1]["BLEU"][1:]]
    one_seed = [[(text,) for text in each] for each in texts.values()]
    p_values, signature = paired_bootstrap("bleu", one_seed[0], one_seed[1:], REFERENCES)
    assert p_values == expected
    assert signature.startswith("nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a")


def test_seeds_are_no_further_sentences():
    """The same translations from two seeds are as certain as from one, and no more."""
    once, twice = ([[(text,) * n for text in spoiled(every)] for every in (2, 3)] for n in (1, 2))
    for name in ("bleu", "chrf", "bleu_lc_tok"):
        one = paired_bootstrap(name, once[0], once[1:], REFERENCES)
        assert paired_bootstrap(name, twice[0], twice[1:], REFERENCES) == one


def test_translations_are_bootstrapped(tmp_path):
    for attention, every in (("none", 2), ("bahdanau", 12)):
        for seed in range(2):
            run = write_run(tmp_path, attention, seed, 50.0, task="translate")
            write_translations(run, spoiled(every), REFERENCES)
    row = rows(only(tmp_path))["bahdanau"]
    assert (row.item_test.kind, row.item_test.items) == ("paired bootstrap", 12)
    assert row.item_test.p < 0.05
    assert rows(only(tmp_path, bootstrap=False))["bahdanau"].item_test is None


def test_sentences_are_resampled_of_the_seeds_that_both_sides_have(tmp_path):
    spoiled_by = {"none": [2, 2, 3], "bahdanau": [3, 12], "pooling": [2, 12, 12, 1]}
    for attention, each in spoiled_by.items():
        for seed, every in enumerate(each):
            run = write_run(tmp_path, attention, seed, 50.0, task="translate")
            write_translations(run, spoiled(every), REFERENCES)
    write_run(tmp_path, "multi_head", 9, 50.0, task="translate")  # no file of it is needed
    found = rows(only(tmp_path, reference="none"))
    for attention, seeds in (("bahdanau", 2), ("pooling", 3)):
        base, own = (
            list(zip(*(spoiled(every) for every in spoiled_by[name][:seeds]), strict=True))
            for name in ("none", attention)
        )
        ((p,), _) = paired_bootstrap("bleu", base, [own], REFERENCES)
        assert found[attention].item_test.p == p
    assert found["multi_head"].item_test is None
