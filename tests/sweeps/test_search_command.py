"""Searches by `attnlab -m search=NAME`: completed, killed, shared, pruned, and refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from command_line import CommandsHere
from hydra.core.override_parser.overrides_parser import OverridesParser
from optuna.distributions import FloatDistribution, IntDistribution
from same_runs import assert_same_run, history
from sweep_examples import SMALL, UNTRACKED, query, states, sweep_folder, table, wait_for

from attnlab.config.options import options
from attnlab.errors import RequestError
from attnlab.sweeps.grid import Plan
from attnlab.sweeps.search import Search, _space, _word

pytestmark = pytest.mark.usefixtures("no_figures")
SPACE = "search.space={optimizer.learning_rate: {interval: [1e-3, 1e-1], log: true}}"
SEARCH = ("-m", *SMALL, SPACE, "search.pruner=none", "tracking.timeout=240")


def by_rate(attnlab) -> list[Path]:
    """The runs, by their learning rate."""

    def rate(folder: Path) -> float:
        return yaml.safe_load((folder / "config.yaml").read_text())["optimizer"]["learning_rate"]

    return sorted(attnlab.run_folders(), key=rate)


@pytest.mark.slow
def test_a_search_continues_with_more_trials(here):
    here.run(*SEARCH, "search.trials=2")
    assert states(here) == ["completed"] * 2
    out = here.run(*SEARCH, "search.trials=3").out
    assert states(here) == ["completed"] * 3
    rows = table(sweep_folder(here))
    assert sorted(row["number"] for row in rows) == ["0", "1", "2"]
    values = [float(row["best"]) for row in rows]
    assert values == sorted(values)
    assert len({row["optimizer.learning_rate"] for row in rows}) == 3
    assert f"\nbest: trial {rows[0]['number']}: optimizer.learning_rate=" in out
    # In MLflow they are children of the search.
    assert len(query(here, "select * from tags where key = 'mlflow.parentRunId'")) == 3
    code, out, _ = here(*SEARCH, "search.trials=9", "sweep.dry_run=true")
    assert code == 0
    assert out.startswith("9 trials would run, chosen by tpe over optimizer.learning_rate. ")


@pytest.mark.slow
def test_failing_trials_stop_no_others(here):
    space = "search.space={optimizer.learning_rate: {choice: [1e30, 0.01]}}"
    words = ("optimizer=sgd", space, "search.sampler=random", UNTRACKED, "search.trials=6")
    code, out, err = here("-m", *SMALL, *words)
    assert code == 1 and "failed: epoch 2, step 1: the loss is " in err
    assert sorted(states(here)) == ["completed", "failed"]  # equal trials share a run


PRUNED = (
    *("-m", *SMALL, "trainer.epochs=6", "trainer.batch_size=8", UNTRACKED, "search.trials=12"),
    "search.space={optimizer.learning_rate: {interval: [1e-9, 1e-1], log: true}}",
    *("search.startup_trials=2", "search.prune_after_trials=1", "search.prune_after_epochs=2"),
    *("trainer.together=2", "trainer.checkpoint_every_seconds=0"),
)


def begun(attnlab) -> list[Path]:
    return [*attnlab.runs.glob("*/*/*/weights/epoch_002.weights.h5")]


@pytest.mark.slow
def test_a_search_that_is_killed_while_it_prunes_ends_like_an_uninterrupted_one(attnlab, tmp_path):
    for count in (3, 6):
        with attnlab.start(*PRUNED) as process:
            wait_for(lambda c=count: len(begun(attnlab)) >= c, process)
            process.kill()
            process.communicate(timeout=120)
    (tmp_path / "whole").mkdir()
    here, whole = CommandsHere(attnlab.folder), CommandsHere(tmp_path / "whole")
    outcomes = [line(*PRUNED) for line in (here, whole)]
    assert [outcome.code for outcome in outcomes] == [0, 0], outcomes[0].err
    said = [": was killed, continues after epoch " in outcome.err for outcome in outcomes]
    assert said == [True, False]
    for folder, expected in zip(by_rate(here), by_rate(whole), strict=True):
        if (expected / "metrics.json").exists():
            assert_same_run(folder, expected)
        assert history(folder) == history(expected)
    rows = [
        [(row["number"], row["state"], row["best"]) for row in table(sweep_folder(line))]
        for line in (here, whole)
    ]
    assert rows[0] == rows[1]
    assert {"completed", "pruned"} == {state for _, state, _ in rows[0]}


@pytest.mark.slow
def test_a_search_for_two_metrics_lists_the_trials_that_nothing_beats(here):
    space = "search.space={model.units: {int: [2, 4]}}"
    metrics = ("search.metrics=[best_value,parameters]", "search.sampler=random")
    small = [word for word in SMALL if not word.startswith("model.units")]
    out = here.run("-m", *small, space, *metrics, "search.trials=6", UNTRACKED).out
    assert "\nbest: trial " in out
    assert (sweep_folder(here) / "plots" / "pareto_front.png").exists()


def test_a_search_draws_its_figures_and_leaves_a_journal_of_optuna(tmp_path):
    import optuna
    from optuna.storages.journal import JournalFileBackend

    plan = Plan.read([*SMALL, SPACE, f"paths.runs={tmp_path}", "search.trials=5"])
    search = Search(plan)
    for trials in search.rounds():
        for trial, job in trials:
            search.study.tell(trial, (job.config.optimizer.settings["learning_rate"] - 0.01) ** 2)
    search.save(tmp_path)
    assert {path.name for path in (tmp_path / "plots").iterdir()} == {
        "history_best_value.png",
        "importance_best_value.png",
    }
    storage = optuna.storages.JournalStorage(JournalFileBackend(str(tmp_path / "study.log")))
    (study,) = optuna.study.get_all_study_summaries(storage)
    assert study.n_trials == 5


WRONG_SPACES = [
    *(None, [1], {"model.units": 3}),
    {"model.units": {"int": [8, 4]}},
    {"model.units": {"int": [4, 8.5]}},
    {"model.units": {"int": [2, 9], "step": 3}},
    {"a.b": {"interval": [0, 1], "log": True}},
    {"a.b": {"intervall": [0, 1]}},
    {"a.b": {"int": [1, 2], "choice": [1, 2]}},
    {"a.b": {"choice": "gru"}},
    {"seed": {"int": [0, 9]}},
    {"task": {"choice": ["fib", "sunspots"]}},
    {"paths.runs": {"choice": ["a", "b"]}},
    {"model.cell": {"choice": ["gru", "simple"]}},
]


def test_a_wrong_space_gets_one_sentence():
    for space in WRONG_SPACES:
        key = next(iter(space)) if isinstance(space, dict) else ""
        with pytest.raises(RequestError, match=rf"^search\.space.*{key}[^\n]*$"):
            _space(space, {"model.cell": "simple"})


def test_values_become_overrides_that_hydra_reads_back():
    texts = ("gru", "a b", "it's", "true", "null", "inf", "1", "a\\b")
    choices = (*texts, None, True, 3, 0.25, 1e-07)
    domain = _space({"a.b": {"choice": list(choices)}}, {})["a.b"]
    words = [f"a.b={_word(value, domain)}" for value in choices]
    values = [override.value() for override in OverridesParser.create().parse_overrides(words)]
    assert [*map(str, values)] == [*map(str, choices)]
    assert values[len(texts) :] == [*choices[len(texts) :]]


def test_numbers_have_few_digits_and_stay_inside():
    rate = FloatDistribution(1.2342e-4, 0.1, log=True)
    assert [_word(value, rate) for value in (0.0123456, 1.2342e-4)] == ["0.01235", "0.00012342"]
    assert _word(0.123456, FloatDistribution(0.0, 0.5)) == "0.1235"
    assert _word(0.1 + 0.2, FloatDistribution(0.0, 0.3, step=0.1)) == "0.3"
    assert _word(16, IntDistribution(4, 64)) == "16"


def test_every_preset_suggests_trials(tmp_path):
    for name in options("search"):
        search = Search(Plan.read(["task=fib", f"search={name}", f"paths.runs={tmp_path}"]))
        assert len(next(search.rounds())) == 8, name
