"""Searches by `attnlab -m search=NAME`: completed, killed, shared, pruned, and refused."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
import yaml
from command_line import CommandsHere
from same_runs import assert_same_run
from sweep_examples import SMALL, UNTRACKED, query, states, sweep_folder, table, wait_for

pytestmark = pytest.mark.usefixtures("no_figures")
SPACE = "search.space={optimizer.learning_rate: {interval: [1e-3, 1e-1], log: true}}"
SEARCH = ("-m", *SMALL, SPACE, "search.pruner=none")
JOBLIB = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")


def rates(folder) -> dict[str, str]:
    """The value of each trial."""
    return {row["number"]: row["optimizer.learning_rate"] for row in table(folder)}


def by_rate(attnlab) -> list[Path]:
    """The runs, by their learning rate."""

    def rate(folder: Path) -> float:
        return yaml.safe_load((folder / "config.yaml").read_text())["optimizer"]["learning_rate"]

    return sorted(attnlab.run_folders(), key=rate)


@pytest.mark.slow
def test_a_search_continues_with_more_trials(here):
    code, out, err = here(*SEARCH, "search.trials=2")
    assert code == 0, err
    assert states(here) == ["completed"] * 2
    code, out, err = here(*SEARCH, "search.trials=3")
    assert code == 0, err
    assert states(here) == ["completed"] * 3
    rows = table(sweep_folder(here))
    assert sorted(row["number"] for row in rows) == ["0", "1", "2"]
    values = [float(row["best"]) for row in rows]
    assert values == sorted(values)
    assert len({row["optimizer.learning_rate"] for row in rows}) == 3
    assert "3 completed (2 of them earlier)" in out
    assert f"\nbest: trial {rows[0]['number']}: optimizer.learning_rate=" in out
    # In MLflow they are children of the search.
    assert len(query(here, "select * from tags where key = 'mlflow.parentRunId'")) == 3
    ((best,),) = query(here, "select value from tags where key = 'attnlab.best'")
    rate = rows[0]["optimizer.learning_rate"]
    assert best.startswith(f"by validation: optimizer.learning_rate={rate} with val_loss ")

    assert here(*SEARCH, "search.trials=3").code == 0
    assert len(here.run_folders()) == 3
    code, out, _ = here(*SEARCH, "search.trials=9", "sweep.dry_run=true")
    assert code == 0
    assert out.startswith("6 of 9 trials would run, chosen by tpe over optimizer.learning_rate.")


@pytest.mark.slow
def test_a_killed_search_ends_like_an_uninterrupted_one(attnlab, tmp_path_factory):
    """Killed in the first round of trials and in the second, which learns from the first."""
    command = (*SEARCH, "search.trials=5", "trainer.together=3", "search.startup_trials=1")
    command = (*command, "trainer.epochs=60", "trainer.batch_size=8", UNTRACKED)
    pattern = "*/*/*/weights/epoch_005.weights.h5"
    for count in (3, 5):
        with attnlab.start(*command) as process:
            wait_for(lambda c=count: len([*attnlab.runs.glob(pattern)]) >= c, process)
            process.kill()
            process.communicate(timeout=120)
        assert len(attnlab.run_folders()) == count
    here, whole = CommandsHere(attnlab.folder), CommandsHere(tmp_path_factory.mktemp("whole"))
    code, out, err = here(*command)
    assert code == 0, err
    assert states(attnlab) == ["completed"] * 5
    assert whole(*command).code == 0
    assert rates(sweep_folder(here)) == rates(sweep_folder(whole))
    pairs = zip(by_rate(here), by_rate(whole), strict=True)
    for folder, expected in pairs:
        assert_same_run(folder, expected)


@pytest.mark.slow
def test_failing_trials_stop_no_others(here):
    space = "search.space={optimizer.learning_rate: {choice: [1e30, 0.01]}}"
    command = ("-m", *SMALL, "optimizer=sgd", space, "search.sampler=grid", UNTRACKED)
    code, out, err = here(*command)
    assert code == 1
    assert sorted(states(here)) == ["completed", "failed"]
    assert "failed: epoch 2, step 1: the loss is " in err and "run.log" in err
    assert err.endswith("1 of 2 jobs failed; sweep.retry_failed=true runs them again\n")
    code, out, err = here(*command, "sweep.retry_failed=true")
    assert code == 1 and err.endswith("1 of 2 jobs failed\n")
    assert sorted(states(here)) == ["completed", "failed", "failed"]


def test_a_hopeless_trial_is_pruned_and_reported(here):
    space = "search.space={optimizer.learning_rate: {choice: [0.01, 1e-9]}}"
    code, out, err = here(
        *("-m", *SMALL, "trainer.epochs=4", UNTRACKED, space, "search.sampler=grid"),
        *("search.seed=1", "search.prune_after_trials=1", "search.prune_after_epochs=2"),
        "trainer.together=never",
    )
    assert code == 0, err
    good, given_up = [json.loads((f / "status.json").read_text()) for f in here.run_folders()]
    assert good["state"] == "completed"
    assert (given_up["state"], given_up["pruned"], given_up["epoch"]) == ("killed", True, 2)
    assert "1 completed, 1 pruned" in out
    assert "given up after epoch 2: val_loss" in err


@pytest.mark.slow
def test_two_workers_share_a_search_and_import_tensorflow_once_each(here):
    equal = "search.space={trainer.min_delta: {choice: [0.0, 0.5]}}"
    command = ("-m", *SMALL, equal, "search.pruner=none", "search.sampler=random", UNTRACKED)
    code, out, err = here(*command, "search.trials=6", *JOBLIB)
    assert code == 0, err
    assert sorted(row["number"] for row in table(sweep_folder(here))) == list("012345")
    statuses = [json.loads((f / "status.json").read_text()) for f in here.run_folders()]
    assert {status["state"] for status in statuses} == {"completed"}
    assert 1 <= len({status["pid"] for status in statuses}) <= 2
    # Equal trials share a run, unless both workers had one at the same time.
    assert 2 <= len(statuses) <= 4


@pytest.mark.slow
def test_two_killed_workers_resume_exactly(attnlab):
    command = (*SEARCH, "search.trials=5", "trainer.epochs=40", "trainer.batch_size=8", UNTRACKED)
    for number, count in ((signal.SIGKILL, 2), (signal.SIGTERM, 4)):
        with attnlab.start(*command, *JOBLIB) as process:
            wait_for(lambda count=count: len(attnlab.run_folders()) >= count, process)
            process.send_signal(number)
            process.communicate(timeout=120)
    code, out, err = attnlab(*command, *JOBLIB)
    assert code == 0, err
    assert states(attnlab) == ["completed"] * 5


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["optimizer.learning_rate=0.1"], "optimizer.learning_rate is searched, and the command"),
        (["search.space.model.unts={int: [2, 4]}"], "model.unts: there is no such key."),
        (["+search.space={model.unts: {int: [2, 4]}}"], "model.unts: there is no such key."),
        (["search.trails=3"], "search.trails: there is no such key. Did you mean search.trials?"),
        (["search.trials=0"], "search.trials: expected a whole number at least 1"),
        (["seed=0,1"], "seed=0,1: a search allows only one value"),
    ],
)
def test_a_wrong_search_trains_nothing(here, words, sentence):
    code, out, err = here(*SEARCH, *words)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert sentence in line
    assert list(here.folder.iterdir()) == []


def test_a_foreign_file_is_not_overwritten(here):
    (here.folder / "notes.txt").write_text("a,b\n")
    code, _, err = here(*SEARCH, "search.storage=notes.txt")
    assert code == 2
    assert "search.storage: expected a journal that a search has written" in err
    assert (here.folder / "notes.txt").read_text() == "a,b\n"
    assert here.run_folders() == []
