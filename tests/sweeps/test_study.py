"""Studies of searches: suggested values, shared trials, pruning and resuming."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest
from command_line import ROOT
from search_examples import (
    CELL,
    RATE,
    UNITS,
    complete,
    loss,
    settings,
    take,
    values_of,
    work,
    work_in_a_process,
)

from attnlab.errors import Pruned, RequestError
from attnlab.records.status import this_process
from attnlab.sweeps.search.settings import SearchSettings
from attnlab.sweeps.search.study import Study
from attnlab.sweeps.search.sweep import TrialReporter

GONE = {**this_process(), "pid": 2**22 + 7}
BOTH = ["best_value", "parameters"]


@pytest.mark.parametrize(
    ("sampler", "space"),
    [
        ("tpe", {**RATE, **UNITS, **CELL}),
        ("random", {**RATE, **UNITS}),
        ("cmaes", {**RATE, **UNITS, **CELL}),
        ("grid", {**RATE, **UNITS}),
    ],
    ids=lambda value: value if isinstance(value, str) else len(value),
)
def test_every_sampler_fills_the_trials_inside_the_space(tmp_path, sampler, space):
    chosen = settings(space, sampler=sampler, trials=12, startup_trials=4)
    done = work(Study.open(chosen, tmp_path, "a"))
    assert [trial.number for trial in done] == list(range(12))
    for trial in done:
        values = values_of(trial)
        assert list(values) == list(space)
        assert 1e-4 <= float(values["optimizer.learning_rate"]) <= 1e-1
        assert 4 <= int(values["model.units"]) <= 64
        assert values.get("model.cell", "gru") in ("gru", "lstm")
    assert len({trial.overrides for trial in done}) == 12


def test_the_same_search_suggests_the_same_values_and_another_seed_others(tmp_path):
    runs = [
        [t.overrides for t in work(Study.open(settings(seed=seed), tmp_path / name, "a"))]
        for name, seed in (("one", 3), ("two", 3), ("three", 4))
    ]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


@pytest.mark.parametrize("sampler", ["tpe", "random", "cmaes", "grid"])
def test_an_interrupted_search_continues_exactly(tmp_path, sampler):
    chosen = settings(sampler=sampler, trials=8, startup_trials=3)
    whole = [t.overrides for t in work(Study.open(chosen, tmp_path / "whole", "a"))]
    parts = []
    for count in (4, 4):
        study = Study.open(chosen, tmp_path / "parts", "a")
        for _ in range(count):
            (trial,) = take(study)
            complete(study, trial)
            parts.append(trial.overrides)
    assert parts == whole


def test_a_sampler_learns(tmp_path):
    random = work(Study.open(settings(RATE, sampler="random", trials=24), tmp_path / "r", "a"))
    learnt = work(Study.open(settings(RATE, trials=24, startup_trials=5), tmp_path / "t", "a"))
    assert sum(map(loss, learnt[8:])) < 0.5 * sum(map(loss, random[8:]))


def test_a_grid_tries_every_point_once(tmp_path):
    study = Study.open(settings({**UNITS, **CELL}, sampler="grid", trials=None), tmp_path, "a")
    tried = sorted(trial.overrides for trial in take(study, 100))
    assert tried == sorted(
        (f"model.units={units}", f"model.cell={cell}")
        for units in (4, 16, 64)
        for cell in ("gru", "lstm")
    )


def test_a_study_refuses_another_grid(tmp_path):
    def opened(**changes):
        units = {"model.units": {**UNITS["model.units"], **changes.pop("units", {})}}
        Study.open(settings(units, **changes), tmp_path, "a")

    opened(sampler="grid")
    opened(sampler="grid")
    for other in ({"sampler": "grid", "units": {"points": 4}}, {"sampler": "tpe"}):
        with pytest.raises(RequestError, match="another grid .*got 3 of model.units"):
            opened(**other)


def test_a_study_refuses_changed_files(tmp_path):
    """Fixed: trials on other data were ranked together."""
    known = settings(UNITS)
    Study.open(replace(known, files={"task.path": "abc"}), tmp_path, "a")
    Study.open(replace(known, files={"task.path": "abc"}), tmp_path, "a")
    with pytest.raises(
        RequestError, match="another file .expected task.path abd, got task.path ab"
    ):
        Study.open(replace(known, files={"task.path": "abd"}), tmp_path, "a")


def test_running_trials_are_not_suggested_again(tmp_path):
    study = Study.open(settings(trials=16, startup_trials=4), tmp_path, "a")
    for trial in take(study, 6):
        complete(study, trial)
    assert len({trial.overrides for trial in take(study, 8)}) == 8


@pytest.mark.parametrize("sampler", ["nsgaii", "tpe"])
def test_several_metrics_end_in_a_pareto_front(tmp_path, sampler):
    chosen = settings(metrics=BOTH, sampler=sampler, trials=16, population=4)
    study = Study.open(chosen, tmp_path, "a")
    work(study, metrics=2)
    trials = study.trials()
    front = [trial.values for trial in trials if trial.best]
    assert [t.best for t in trials] == sorted([t.best for t in trials], reverse=True)
    for trial in trials:
        beaten = any(
            other != trial.values and all(a <= b for a, b in zip(other, trial.values, strict=True))
            for other in front
        )
        assert beaten != trial.best


def test_the_best_come_first_and_the_best_can_be_the_largest(tmp_path):
    chosen = settings(metrics="seconds", directions="max", trials=5)
    study = Study.open(chosen, tmp_path, "a")
    ends = [("completed", (1.0,)), ("failed", None), ("completed", (3.0,)), ("pruned", None)]
    for trial, (state, values) in zip(take(study, 4), ends, strict=True):
        study.tell(trial.number, state, values, run=f"run{trial.number}", error=state)
    take(study)
    trials = study.trials()
    assert [trial.number for trial in trials] == [2, 0, 3, 1, 4]
    assert [t.state for t in trials] == "completed completed pruned failed running".split()
    assert [trial.best for trial in trials] == [True, False, False, False, False]
    assert [trial.values for trial in trials] == [(3.0,), (1.0,), None, None, None]
    assert trials[0].overrides[0].startswith("optimizer.learning_rate=")
    assert (trials[3].run, trials[3].error) == ("run1", "failed")


def train(study, number, level, epochs=9) -> int:
    """A fake run with a constant loss; returns the epochs that it trained."""
    reporter = TrialReporter(study, number)
    for epoch in range(1, epochs + 1):
        try:
            reporter({"epoch": epoch, "train_loss": 9.0, "val_loss": level + 1 / epoch})
        except Pruned as error:
            assert f"after epoch {epoch}: val_loss" in str(error)
            return epoch
    return epochs


@pytest.mark.parametrize(
    ("pruner", "given_up"), [("median", 2), ("asha", 2), ("hyperband", 2), ("none", 9)]
)
def test_a_hopeless_run_is_pruned_and_a_good_one_is_not(tmp_path, pruner, given_up):
    chosen = settings(pruner=pruner, prune_after_trials=3, prune_after_epochs=2, trials=30)
    study = Study.open(chosen, tmp_path, "a")
    for trial in take(study, 6):
        train(study, trial.number, 1.0 + trial.number / 100)
        study.tell(trial.number, "completed", (1.0,))
    # Hyperband spares the trials of some of its brackets.
    epochs = []
    for trial in take(study, 8):
        epochs.append(train(study, trial.number, 5.0))
        study.tell(trial.number, "pruned" if epochs[-1] < 9 else "completed", (5.0,))
    assert min(epochs) == given_up
    if pruner != "hyperband":
        assert set(epochs) == {given_up}
    (good,) = take(study)
    assert train(study, good.number, 0.1) == 9
    pruned = [trial for trial in study.trials() if trial.state == "pruned"]
    assert len(pruned) == sum(epoch < 9 for epoch in epochs)


def test_pruning_spares_the_first_trials_and_the_first_epochs(tmp_path):
    study = Study.open(settings(prune_after_trials=2, prune_after_epochs=4), tmp_path, "a")
    first, second, third = take(study, 3)
    for trial, level in ((first, 1.0), (second, 5.0)):
        assert train(study, trial.number, level) == 9
        study.tell(trial.number, "completed", (level,))
    assert train(study, third.number, 9.0) == 4


def test_a_resumed_run_reports_an_epoch_again(tmp_path):
    study = Study.open(settings(), tmp_path, "a")
    (trial,) = take(study)
    assert train(study, trial.number, 1.0, epochs=4) == 4
    assert train(study, trial.number, 1.0, epochs=6) == 6
    known = study._trial(trial.number).intermediate_values
    assert list(known) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("metric", "given_up"), [("val_bleu", False), ("val_loss", True)])
def test_a_missing_score_doesnt_prune(tmp_path, metric, given_up):
    document = {"space": RATE, "trials": 9, "prune_after_trials": 1, "prune_after_epochs": 1}
    chosen = SearchSettings.parse(document, (), (metric, "max" if metric == "val_bleu" else "min"))
    study = Study.open(chosen, tmp_path, "a")
    first, second = take(study, 2)
    for epoch in (1, 2):
        TrialReporter(study, first.number)({"epoch": epoch, metric: 1.0})
    study.tell(first.number, "completed", (1.0,))
    reporter = TrialReporter(study, second.number)
    reporter({"epoch": 1, "train_loss": 1.0})  # nor is one that there is not
    with pytest.raises(Pruned) if given_up else nullcontext():
        reporter({"epoch": 2, metric: float("nan")})
    assert (1 in study._trial(second.number).intermediate_values) is False


def test_a_failing_storage_disables_pruning_and_keeps_the_run(tmp_path, caplog):
    study = Study.open(settings(), tmp_path, "a")
    (trial,) = take(study)
    (tmp_path / "study.log").write_text("broken\n" * 40)
    with caplog.at_level(logging.WARNING, "attnlab"):
        assert train(study, trial.number, 1.0) == 9
    assert len(caplog.records) == 1


def test_trials_of_a_killed_process_are_resumed(tmp_path):
    study = Study.open(settings(), tmp_path, "a")
    assert study.lost() == {}
    lost = [study.take(GONE) for _ in range(2)]
    (own,) = take(study)
    again = Study.open(settings(), tmp_path, "a")
    assert again.lost() == {0: GONE, 1: GONE} and again.left() == 3
    for number, owner in again.lost().items():
        again.release(number, owner)
    assert again.left() == 5
    retaken = take(again, 2)
    assert [t.overrides for t in retaken] == [t.overrides for t in lost]
    assert [trial.number for trial in take(again, 9)] == [3, 4, 5]
    assert (own.number, again.left()) == (2, 0)


def test_a_lost_trial_that_another_process_has_taken_since_stays_with_it(tmp_path):
    study = Study.open(settings(), tmp_path, "a")
    study.take(GONE)
    lost = study.lost()
    study.release(0, GONE)
    (taken,) = take(study, numbers=[0])
    study.release(0, lost[0])
    study.tell(0, "failed", owner=lost[0])
    (trial,) = study.trials()
    assert (trial.state, trial.owner) == ("running", taken.owner)


def rounds(study, most, count=9):
    """The numbers of the trials of each round, which is completed before the next one."""
    found = []
    while len(found) < count and (trials := study.take_round(this_process(), most=most)):
        found.append([trial.number for trial in trials])
        for trial in trials:
            complete(study, trial)
    return found


def test_a_killed_search_resumes_its_round(tmp_path):
    whole = Study.open(settings(trials=8), tmp_path / "whole", "a")
    assert rounds(whole, most=3) == [[0, 1, 2], [3, 4, 5], [6, 7]]
    cut = Study.open(settings(trials=8), tmp_path / "cut", "a")
    rounds(cut, most=3, count=1)
    for _ in range(2):  # of the second round
        cut.take(GONE)
    for number, owner in cut.lost().items():
        cut.release(number, owner)
    assert rounds(cut, most=3) == [[3, 4, 5], [6, 7]]
    cut, whole = ({t.number: t.overrides for t in study.trials()} for study in (cut, whole))
    assert cut == whole


def test_an_unfinished_round_is_completed_before_the_next(tmp_path):
    study = Study.open(settings(trials=8), tmp_path, "a")
    first, *others = study.take_round(this_process(), most=3)
    complete(study, first)
    for trial in others:
        study.release(trial.number, trial.owner)
    assert rounds(study, most=3) == [[1, 2], [3, 4, 5], [6, 7]]


def test_a_trial_killed_without_values_gets_the_same_values(tmp_path):
    (whole,) = take(Study.open(settings(), tmp_path / "whole", "a"))
    study = Study.open(settings(), tmp_path / "cut", "a")
    study._suggest = lambda number: 1 / 0
    with pytest.raises(ZeroDivisionError):
        study.take(GONE)
    again = Study.open(settings(), tmp_path / "cut", "a")
    assert [trial.overrides for trial in again.trials()] == [()]
    again.release(0, GONE)
    assert take(again)[0].overrides == whole.overrides


def test_a_released_trial_is_taken_unless_it_is_skipped(tmp_path):
    study = Study.open(settings(trials=2), tmp_path, "a")
    first, second = take(study, 2)
    study.release(first.number, first.owner)
    complete(study, second)
    study.release(second.number, second.owner)  # has ended
    assert take(study, skip={0}) == take(study, numbers=[1]) == []
    assert take(study, numbers=[0])[0].overrides == first.overrides


def test_failed_trials_are_tried_again_with_the_same_values_on_request(tmp_path):
    study = Study.open(settings(trials=3), tmp_path, "a")
    first, *others = take(study, 3)
    study.tell(first.number, "failed")
    for trial in others:
        complete(study, trial)
    assert study.left() == 0
    assert [trial.number for trial in study.retry_failed()] == [0]
    assert (study.left(), study.retry_failed()) == (1, [])
    (again,) = take(study, 5)
    assert (again.number, again.overrides) == (3, first.overrides)
    complete(study, again)
    assert sorted(trial.number for trial in study.trials()) == [1, 2, 3]


def test_a_trial_is_reported_once(tmp_path):
    study = Study.open(settings(), tmp_path, "a")
    (trial,) = take(study)
    study.tell(trial.number, "completed", (0.5,))
    study.tell(trial.number, "failed")
    assert study.trials()[0].values == (0.5,)


def test_more_trials_continue_after_the_last_one(tmp_path):
    assert len(work(Study.open(settings(trials=3), tmp_path, "a"))) == 3
    assert [t.number for t in work(Study.open(settings(trials=5), tmp_path, "a"))] == [3, 4]


def test_too_many_trials_of_another_machine_are_dropped(tmp_path, monkeypatch):
    study = Study.open(settings(trials=2), tmp_path, "a")
    taken = study._taken
    monkeypatch.setattr(study, "_taken", lambda up_to=None: 0 if up_to is None else taken(up_to))
    assert [trial.number for trial in take(study, 3)] == [0, 1]
    assert len(study.trials()) == 2


@pytest.mark.parametrize(
    "storage", [None, "shared/own.log", pytest.param("sqlite", marks=pytest.mark.slow)]
)
def test_processes_share_a_search_and_do_exactly_its_trials(tmp_path, storage):
    trials = 6 if storage == "sqlite" else 20
    if storage == "sqlite":
        storage = f"sqlite:///{tmp_path}/trials.db"
    elif storage:
        storage = str(tmp_path / storage)
    folders = [str(tmp_path / name) if storage else str(tmp_path) for name in "ab"]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        parts = list(pool.map(work_in_a_process, folders, [trials] * 2, [storage] * 2))
    assert sorted(sum(parts, [])) == list(range(trials))
    study = Study.open(settings(trials=trials, storage=storage), Path(folders[0]), "shared")
    assert [trial.state for trial in study.trials()] == ["completed"] * trials


def test_a_kill_at_any_moment_leaves_a_resumable_search(tmp_path):
    code = (
        "from search_examples import work_in_a_process as work;"
        f"print('begun', flush=True); work({str(tmp_path)!r}, 400, None)"
    )
    for pause in (0.5, 0.8):
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT}/tests/sweeps"},
        )
        process.stdout.readline()
        time.sleep(pause)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    study = Study.open(settings(trials=400), tmp_path, "shared")
    lost = study.lost()
    assert 0 < len(study.trials()) < 400 and len(lost) <= 2
    for number, owner in lost.items():
        study.release(number, owner)
    assert [trial.number for trial in take(study, len(lost))] == [*lost]
    assert take(study)[0].number == len(study.trials()) - 1


def test_optuna_prints_nothing(tmp_path, capfd, recwarn):
    for index, sampler in enumerate(("tpe", "cmaes", "grid", "nsgaii", "random")):
        chosen = settings({**RATE, **UNITS, **CELL}, sampler=sampler, trials=6, startup_trials=2)
        study = Study.open(chosen, tmp_path / str(index), "a")
        work(study)
        study.trials()
    study.draw(tmp_path / "plots")
    drawn = sorted(path.name for path in tmp_path.glob("plots/*"))
    assert drawn == ["history.png", "importance.png"]
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list
    assert logging.getLogger("optuna").level == logging.ERROR


def test_settings_are_read_without_optuna():
    code = (
        "import sys; from attnlab.sweeps.search.settings import SearchSettings as S;"
        "S.parse({'space': {'model.units': {'int': [1, 2]}}}); print('optuna' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("b", {}, "expected the search b, got a: take sweep.name=a to go on with it"),
        ("a", {"space": RATE}, "holds the search a with another space (expected optimizer"),
        ("a", {"metrics": "seconds"}, "with another metric (expected seconds, got best_value)"),
        ("a", {"metrics": BOTH}, "with another metric (expected best_value, parameters, got"),
    ],
)
def test_the_storage_of_another_search_is_refused_unchanged(tmp_path, name, changes, message):
    path = tmp_path / "shared.log"
    work(Study.open(settings(storage=str(path)), tmp_path, "a"))
    before = path.read_bytes()
    with pytest.raises(RequestError) as caught:
        Study.open(settings(storage=str(path), **changes), tmp_path, name)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


def test_another_command_is_another_search(tmp_path):
    from attnlab.sweeps.search.settings import SearchSettings

    document = {"space": RATE, "storage": str(tmp_path / "shared.log")}
    Study.open(SearchSettings.parse(document, ["task=fib"]), tmp_path, "a")
    with pytest.raises(RequestError, match="another command .expected task=sunspots, got task=fi"):
        Study.open(SearchSettings.parse(document, ["task=sunspots"]), tmp_path, "a")


@pytest.mark.parametrize(
    "content", [b"number,value\n1,2\n", b"\x89PNG\r\n", b"no line end", b'{"a": 1}\n']
)
def test_a_foreign_file_as_storage_is_refused_unchanged(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(RequestError, match="expected a journal that a search has written, or a n"):
        Study.open(settings(storage=str(path)), tmp_path, "a")
    assert path.read_bytes() == content


def test_a_folder_and_a_place_that_cannot_be_written_are_refused(tmp_path):
    with pytest.raises(RequestError, match="expected a file or a database's URL, got"):
        Study.open(settings(storage=str(tmp_path)), tmp_path, "a")
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match="can't be used to store a search: File exists"):
        Study.open(settings(storage=str(tmp_path / "file" / "a.log")), tmp_path, "a")


def test_a_damaged_journal_is_named(tmp_path):
    study = Study.open(settings(), tmp_path, "a")
    take(study)
    path = tmp_path / "study.log"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"garbage\n", *lines[2:]]))
    with pytest.raises(RequestError, match="study.log: damaged, so what the search has tried"):
        Study.open(settings(), tmp_path, "a")


def test_half_a_last_line_is_dropped(tmp_path):
    study = Study.open(settings(), tmp_path, "a")
    first = take(study)
    path = tmp_path / "study.log"
    with open(path, "ab") as stream:
        stream.write(b'{"op_code":5,"wor')
    study = Study.open(settings(), tmp_path, "a")
    complete(study, first[0])
    assert Study.open(settings(), tmp_path, "a").trials()[0].state == "completed"


def test_foreign_and_unreachable_databases_are_refused(tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "mlflow.db") as database:
        database.execute("CREATE TABLE experiments (id INTEGER)")
    before = (tmp_path / "mlflow.db").read_bytes()
    with pytest.raises(RequestError, match="that is empty or holds searches, got .*experiments"):
        Study.open(settings(storage=f"sqlite:///{tmp_path}/mlflow.db"), tmp_path, "a")
    assert (tmp_path / "mlflow.db").read_bytes() == before
    for url in (f"sqlite:///{tmp_path}/none/a.db", "nosuchdb://host/a"):
        with pytest.raises(RequestError, match="search.storage: the database .* can't be used: "):
            Study.open(settings(storage=url), tmp_path, "a")
