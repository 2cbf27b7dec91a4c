"""Searches from outside: `attnlab -m search=NAME`."""

from __future__ import annotations

import pytest
from sweep_examples import SMALL, UNTRACKED, query, states, sweep_folder, table, wait_for

SPACE = "search.space={optimizer.learning_rate: {interval: [1e-3, 1e-1], log: true}}"
SEARCH = ("-m", *SMALL, SPACE, "search.pruner=none")


def test_a_search_goes_on_with_more_trials(attnlab):
    code, out, err = attnlab(*SEARCH, "search.trials=2")
    assert code == 0, err
    assert states(attnlab) == ["completed"] * 2
    code, out, err = attnlab(*SEARCH, "search.trials=3")
    assert code == 0, err
    assert states(attnlab) == ["completed"] * 3
    rows = table(sweep_folder(attnlab))
    assert sorted(row["number"] for row in rows) == ["0", "1", "2"]
    values = [float(row["best"]) for row in rows]
    assert values == sorted(values)
    assert len({row["optimizer.learning_rate"] for row in rows}) == 3
    assert "3 completed (2 of them before)" in out
    assert f"\nbest: trial {rows[0]['number']}: optimizer.learning_rate=" in out
    # In MLflow they stand below the search.
    assert len(query(attnlab, "select * from tags where key = 'mlflow.parentRunId'")) == 3
    ((best,),) = query(attnlab, "select value from tags where key = 'attnlab.best'")
    assert best == f"optimizer.learning_rate={rows[0]['optimizer.learning_rate']}"

    assert attnlab(*SEARCH, "search.trials=3").code == 0
    assert len(attnlab.run_folders()) == 3
    code, out, _ = attnlab(*SEARCH, "search.trials=9", "sweep.dry_run=true")
    assert code == 0
    assert out.startswith("6 of 9 trials would run, chosen by tpe over optimizer.learning_rate.")


def test_a_search_that_was_killed_goes_on_with_the_same_trial(attnlab):
    command = (*SEARCH, "search.trials=2", "trainer.epochs=60", "trainer.batch_size=8", UNTRACKED)
    with attnlab.start(*command) as process:
        wait_for(lambda: [*attnlab.runs.glob("*/*/*/weights/epoch_005.weights.h5")], process)
        process.kill()
        process.communicate(timeout=120)
    (begun,) = attnlab.run_folders()
    code, out, err = attnlab(*command)
    assert code == 0, err
    assert states(attnlab) == ["completed"] * 2
    assert begun in attnlab.run_folders()


def test_trials_that_fail_stop_no_other(attnlab):
    space = "search.space={optimizer.learning_rate: {choice: [1e30, 0.01]}}"
    code, out, err = attnlab(
        *("-m", *SMALL, "optimizer=sgd", space, "search.sampler=grid", UNTRACKED)
    )
    assert code == 1
    assert sorted(states(attnlab)) == ["completed", "failed"]
    assert "failed: epoch 2, step 1: the loss is " in err and "run.log" in err
    assert err.endswith("1 of 2 jobs failed; sweep.retry_failed=true runs them again\n")


@pytest.mark.slow
def test_two_at_a_time(attnlab):
    code, out, err = attnlab(
        *(*SEARCH, "search.trials=3", UNTRACKED),
        *("hydra/launcher=joblib", "hydra.launcher.n_jobs=2"),
    )
    assert code == 0, err
    assert states(attnlab) == ["completed"] * 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["optimizer.learning_rate=0.1"], "optimizer.learning_rate is searched, and the command"),
        (["search.space.model.unts={int: [2, 4]}"], "model.unts: there is no such key."),
        (["+search.space={model.unts: {int: [2, 4]}}"], "model.unts: there is no such key."),
        (["search.trails=3"], "search.trails: there is no such key. Did you mean search.trials?"),
        (["search.trials=0"], "search.trials: expected a whole number at least 1"),
        (["seed=0,1"], "seed: expected one value in a search"),
    ],
)
def test_a_wrong_search_begins_nothing(attnlab, words, sentence):
    code, out, err = attnlab(*SEARCH, *words)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert sentence in line
    assert list(attnlab.folder.iterdir()) == []
