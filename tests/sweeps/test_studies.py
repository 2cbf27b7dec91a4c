"""Searches: what is suggested, shared, given up and gone on with."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path

import pytest
from attnlab.sweeps.search_settings import SearchSettings
from command_line import ROOT
from search_examples import (
    CELL,
    RATE,
    UNITS,
    loss,
    outcome,
    settings,
    values_of,
    work,
    work_in_a_process,
)

from attnlab.errors import Pruned, RequestError
from attnlab.sweeps import search as module
from attnlab.sweeps.search import Search, TrialOutcome, TrialReporter

GONE = {"host": __import__("socket").gethostname(), "pid": 2**22 + 7, "pid_started": "1"}
BOTH = ["best_value", "parameters"]


def orphan(monkeypatch):
    """Let what is asked for now belong to a process that has gone."""
    monkeypatch.setattr(module, "this_process", lambda: GONE)


@pytest.mark.parametrize("sampler", ["tpe", "random", "cmaes", "grid"])
@pytest.mark.parametrize("space", [{**RATE, **UNITS}, {**RATE, **UNITS, **CELL}], ids=len)
def test_every_sampler_fills_the_trials_inside_the_space(tmp_path, sampler, space):
    chosen = settings(space, sampler=sampler, trials=12, startup_trials=4)
    done = work(Search.open(chosen, tmp_path, "a"))
    assert [suggestion.number for suggestion in done] == list(range(12))
    for suggestion in done:
        values = values_of(suggestion)
        assert list(values) == list(space)
        assert 1e-4 <= float(values["optimizer.learning_rate"]) <= 1e-1
        assert 4 <= int(values["model.units"]) <= 64
        assert values.get("model.cell", "gru") in ("gru", "lstm")
    assert len({tuple(suggestion.overrides) for suggestion in done}) == 12


def test_the_same_search_suggests_the_same_values_and_another_seed_others(tmp_path):
    runs = [
        [s.overrides for s in work(Search.open(settings(seed=seed), tmp_path / name, "a"))]
        for name, seed in (("one", 3), ("two", 3), ("three", 4))
    ]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


@pytest.mark.parametrize("sampler", ["tpe", "random", "cmaes", "grid"])
def test_a_search_goes_on_as_it_would_have_without_an_interruption(tmp_path, sampler):
    chosen = settings(sampler=sampler, trials=10, startup_trials=3)
    whole = [s.overrides for s in work(Search.open(chosen, tmp_path / "whole", "a"))]
    parts = []
    for count in (4, 6):
        search = Search.open(chosen, tmp_path / "parts", "a")
        for _ in range(count):
            (suggestion,) = search.ask(1)
            search.tell(suggestion.number, outcome(suggestion))
            parts.append(suggestion.overrides)
    assert parts == whole


def test_a_sampler_learns(tmp_path):
    random = work(Search.open(settings(RATE, sampler="random", trials=24), tmp_path / "r", "a"))
    learnt = work(Search.open(settings(RATE, trials=24, startup_trials=5), tmp_path / "t", "a"))
    assert sum(map(loss, learnt[8:])) < 0.5 * sum(map(loss, random[8:]))


def test_a_grid_tries_every_point_once(tmp_path):
    search = Search.open(settings({**UNITS, **CELL}, sampler="grid", trials=None), tmp_path, "a")
    tried = sorted(tuple(suggestion.overrides) for suggestion in search.ask(100))
    assert tried == sorted(
        (f"model.units={units}", f"model.cell={cell}")
        for units in (4, 16, 64)
        for cell in ("gru", "lstm")
    )


def test_running_trials_are_not_suggested_again(tmp_path):
    search = Search.open(settings(trials=16, startup_trials=4), tmp_path, "a")
    for suggestion in search.ask(6):
        search.tell(suggestion.number, outcome(suggestion))
    together = search.ask(8)
    assert len({tuple(suggestion.overrides) for suggestion in together}) == 8


@pytest.mark.parametrize("sampler", ["nsgaii", "tpe", "random"])
def test_several_metrics_end_in_a_pareto_front(tmp_path, sampler):
    chosen = settings(metrics=BOTH, sampler=sampler, trials=24, population=4)
    search = Search.open(chosen, tmp_path, "a")
    work(search, metrics=2)
    rows = search.summary()
    front = [row["values"] for row in rows if row["best"]]
    assert [row["best"] for row in rows] == sorted([row["best"] for row in rows], reverse=True)
    for row in rows:
        beaten = any(
            other != row["values"]
            and all(a <= b for a, b in zip(other, row["values"], strict=True))
            for other in front
        )
        assert beaten != row["best"]


def test_the_best_come_first_and_the_best_can_be_the_largest(tmp_path):
    chosen = settings(metrics="seconds", directions="max", trials=5)
    search = Search.open(chosen, tmp_path, "a")
    ends = [("completed", (1.0,)), ("failed", None), ("completed", (3.0,)), ("pruned", None)]
    for suggestion, (state, values) in zip(search.ask(4), ends, strict=True):
        search.tell(suggestion.number, TrialOutcome(state, values))
    search.ask(1)
    rows = search.summary()
    assert [row["number"] for row in rows] == [2, 0, 3, 1, 4]
    assert [row["state"] for row in rows] == "completed completed pruned failed running".split()
    assert [row["best"] for row in rows] == [True, False, False, False, False]
    assert [row["values"] for row in rows] == [(3.0,), (1.0,), None, None, None]
    assert rows[0]["overrides"][0].startswith("optimizer.learning_rate=")


def train(folder, chosen, number, level, epochs=9) -> int:
    """A fake run whose loss stays at a level; returns the epochs that it was given."""
    reporter = pickle.loads(pickle.dumps(TrialReporter(folder, "a", number, chosen)))
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
def test_a_hopeless_run_is_given_up_and_a_good_one_is_not(tmp_path, pruner, given_up):
    chosen = settings(pruner=pruner, prune_after_trials=3, prune_after_epochs=2, trials=30)
    search = Search.open(chosen, tmp_path, "a")
    for suggestion in search.ask(6):
        train(tmp_path, chosen, suggestion.number, 1.0 + suggestion.number / 100)
        search.tell(suggestion.number, TrialOutcome("completed", (1.0,)))
    # Hyperband spares the trials of some of its brackets.
    epochs = []
    for suggestion in search.ask(8):
        epochs.append(train(tmp_path, chosen, suggestion.number, 5.0))
        search.tell(
            suggestion.number, TrialOutcome("pruned" if epochs[-1] < 9 else "completed", (5,))
        )
    assert min(epochs) == given_up
    if pruner != "hyperband":
        assert set(epochs) == {given_up}
    (good,) = search.ask(1)
    assert train(tmp_path, chosen, good.number, 0.1) == 9
    pruned = [row for row in search.summary() if row["state"] == "pruned"]
    assert len(pruned) == sum(epoch < 9 for epoch in epochs)
    assert all(row["epoch"] in epochs for row in pruned)


def test_pruning_spares_the_first_trials_and_the_first_epochs(tmp_path):
    chosen = settings(prune_after_trials=2, prune_after_epochs=4)
    search = Search.open(chosen, tmp_path, "a")
    first, second, third = search.ask(3)
    for suggestion, level in ((first, 1.0), (second, 5.0)):
        assert train(tmp_path, chosen, suggestion.number, level) == 9
        search.tell(suggestion.number, TrialOutcome("completed", (level,)))
    assert train(tmp_path, chosen, third.number, 9.0) == 4


def test_a_resumed_run_reports_an_epoch_again(tmp_path):
    chosen = settings()
    (suggestion,) = Search.open(chosen, tmp_path, "a").ask(1)
    assert train(tmp_path, chosen, suggestion.number, 1.0, epochs=4) == 4
    assert train(tmp_path, chosen, suggestion.number, 1.0, epochs=6) == 6


def test_rows_without_a_validation_are_no_reason_to_prune(tmp_path):
    chosen = settings()
    (suggestion,) = Search.open(chosen, tmp_path, "a").ask(1)
    TrialReporter(tmp_path, "a", suggestion.number, chosen)({"epoch": 1, "train_loss": 1.0})


@pytest.mark.parametrize(("metric", "given_up"), [("val_bleu", False), ("val_loss", True)])
def test_a_score_that_was_not_computed_is_no_reason_to_prune(tmp_path, metric, given_up):
    document = {"space": RATE, "trials": 9, "prune_after_trials": 1, "prune_after_epochs": 1}
    chosen = SearchSettings.parse(document, (), (metric, "max" if metric == "val_bleu" else "min"))
    search = Search.open(chosen, tmp_path, "a")
    first, second = search.ask(2)
    for epoch in (1, 2):
        TrialReporter(tmp_path, "a", first.number, chosen)({"epoch": epoch, metric: 1.0})
    search.tell(first.number, TrialOutcome("completed", (1.0,)))
    with pytest.raises(Pruned) if given_up else nullcontext():
        TrialReporter(tmp_path, "a", second.number, chosen)({"epoch": 2, metric: float("nan")})


def test_a_storage_that_fails_costs_the_pruning_and_not_the_run(tmp_path, caplog):
    chosen = settings()
    (suggestion,) = Search.open(chosen, tmp_path, "a").ask(1)
    (tmp_path / "study.log").write_text("broken\n")
    with caplog.at_level(logging.WARNING, "attnlab"):
        assert train(tmp_path, chosen, suggestion.number, 1.0) == 9
    assert len(caplog.records) == 1


def test_what_a_killed_process_began_is_gone_on_with(tmp_path, monkeypatch):
    search = Search.open(settings(), tmp_path, "a")
    assert search.restore() == []
    with monkeypatch.context() as patched:
        orphan(patched)
        lost = search.ask(2)
    (own,) = search.ask(1)
    again = Search.open(settings(), tmp_path, "a")
    assert again.restore() == lost
    assert again.restore() == []
    assert [suggestion.number for suggestion in again.ask(9)] == [3, 4, 5]
    assert own.number == 2


def test_a_trial_killed_before_it_had_values_gets_those_it_would_have_had(tmp_path, monkeypatch):
    whole = Search.open(settings(), tmp_path / "whole", "a").ask(1)
    search = Search.open(settings(), tmp_path / "cut", "a")
    orphan(monkeypatch)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(search, "_suggest", lambda number: (_ for _ in ()).throw(KeyboardInterrupt))
        search.ask(1)
    monkeypatch.undo()
    assert Search.open(settings(), tmp_path / "cut", "a").restore() == whole


def test_an_interrupted_trial_is_free_for_the_next_process(tmp_path):
    search = Search.open(settings(), tmp_path, "a")
    first, second = search.ask(2)
    search.tell(first.number, TrialOutcome("killed"))
    search.tell(second.number, outcome(second))
    assert search.restore() == [first]


def test_failed_trials_are_tried_again_with_the_same_values_on_request(tmp_path):
    search = Search.open(settings(trials=3), tmp_path, "a")
    first, *others = search.ask(3)
    search.tell(first.number, TrialOutcome("failed"))
    for suggestion in others:
        search.tell(suggestion.number, outcome(suggestion))
    assert search.restore() == []
    (again,) = search.restore(retry_failed=True)
    assert (again.number, again.overrides) == (3, first.overrides)
    assert search.restore(retry_failed=True) == []
    assert search.ask(1) == []
    search.tell(again.number, outcome(again))
    assert sorted(row["number"] for row in search.summary()) == [1, 2, 3]


def test_a_search_knows_of_other_processes(tmp_path, monkeypatch):
    search = Search.open(settings(), tmp_path, "a")
    search.ask(1)
    assert not search.others_at_work()
    with monkeypatch.context() as patched:
        orphan(patched)
        (lost,) = search.ask(1)
    assert not search.others_at_work()
    with monkeypatch.context() as patched:
        patched.setattr(module, "this_process", lambda: {**GONE, "host": "elsewhere"})
        (other,) = search.ask(1)
    assert search.others_at_work()
    search.tell(other.number, TrialOutcome("killed"))
    assert not search.others_at_work()


def test_a_trial_is_told_once(tmp_path):
    search = Search.open(settings(), tmp_path, "a")
    (suggestion,) = search.ask(1)
    search.tell(suggestion.number, TrialOutcome("completed", (0.5,)))
    search.tell(suggestion.number, TrialOutcome("failed"))
    assert search.summary()[0]["values"] == (0.5,)
    with pytest.raises(ValueError, match="state: expected one of completed"):
        search.tell(suggestion.number, TrialOutcome("done"))


def test_more_trials_go_on_where_the_others_ended(tmp_path):
    assert len(work(Search.open(settings(trials=3), tmp_path, "a"))) == 3
    assert [s.number for s in work(Search.open(settings(trials=5), tmp_path, "a"))] == [3, 4]


def test_too_many_trials_of_another_machine_are_dropped(tmp_path, monkeypatch):
    search = Search.open(settings(trials=2), tmp_path, "a")
    monkeypatch.setattr(
        search, "_taken", lambda up_to=None, real=search._taken: 0 if up_to is None else real(up_to)
    )
    assert [suggestion.number for suggestion in search.ask(5)] == [0, 1]
    assert len(search.summary()) == 2


@pytest.mark.parametrize("storage", [None, "shared/own.log", "sqlite"])
def test_processes_share_a_search_and_do_exactly_its_trials(tmp_path, storage):
    trials = 6 if storage == "sqlite" else 20
    if storage == "sqlite":
        storage = f"sqlite:///{tmp_path}/trials.db"
    elif storage:
        storage = str(tmp_path / storage)
    folders = [str(tmp_path / name) if storage else str(tmp_path) for name in "abc"]
    with ProcessPoolExecutor(3, get_context("spawn")) as pool:
        parts = list(pool.map(work_in_a_process, folders, [trials] * 3, [storage] * 3))
    assert sorted(sum(parts, [])) == list(range(trials))
    search = Search.open(settings(trials=trials, storage=storage), Path(folders[0]), "shared")
    assert [row["state"] for row in search.summary()] == ["completed"] * trials


def test_a_process_killed_at_any_moment_leaves_a_search_to_go_on_with(tmp_path):
    code = (
        "from search_examples import work_in_a_process as work;"
        f"print('begun', flush=True); work({str(tmp_path)!r}, 400, None)"
    )
    for pause in (0.5, 0.7, 0.9):
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
    search = Search.open(settings(trials=400), tmp_path, "shared")
    left = search.restore()
    assert len(left) <= 3
    assert all(len(suggestion.overrides) == 2 for suggestion in left)
    assert len(search.summary()) > 0
    assert len(search.ask(1)) == 1


def test_optuna_says_nothing(tmp_path, capfd, recwarn):
    for index, sampler in enumerate(("tpe", "cmaes", "grid", "nsgaii", "random")):
        chosen = settings({**RATE, **UNITS, **CELL}, sampler=sampler, trials=8, startup_trials=2)
        search = Search.open(chosen, tmp_path / str(index), "a")
        work(search)
        search.summary()
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list
    assert logging.getLogger("optuna").level == logging.ERROR


def test_settings_are_read_without_optuna():
    code = (
        "import sys; from attnlab.sweeps.search import Search, TrialReporter;"
        "from attnlab.sweeps.search_settings import SearchSettings as S;"
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
def test_the_storage_of_another_search_is_refused_and_left_alone(tmp_path, name, changes, message):
    path = tmp_path / "shared.log"
    work(Search.open(settings(storage=str(path)), tmp_path, "a"))
    before = path.read_bytes()
    with pytest.raises(RequestError) as caught:
        Search.open(settings(storage=str(path), **changes), tmp_path, name)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


def test_another_command_is_another_search(tmp_path):
    from attnlab.sweeps.search_settings import SearchSettings

    document = {"space": RATE, "storage": str(tmp_path / "shared.log")}
    Search.open(SearchSettings.parse(document, ["task=fib"]), tmp_path, "a")
    with pytest.raises(RequestError, match="another command .expected task=sunspots, got task=fi"):
        Search.open(SearchSettings.parse(document, ["task=sunspots"]), tmp_path, "a")


@pytest.mark.parametrize(
    "content", [b"number,value\n1,2\n", b"\x89PNG\r\n", b"no line end", b'{"a": 1}\n']
)
def test_a_file_that_is_no_storage_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(RequestError, match="expected a journal that a search has written, or a n"):
        Search.open(settings(storage=str(path)), tmp_path, "a")
    assert path.read_bytes() == content


def test_a_folder_and_a_place_that_cannot_be_written_are_refused(tmp_path):
    with pytest.raises(RequestError, match="expected a file or a database's URL, got"):
        Search.open(settings(storage=str(tmp_path)), tmp_path, "a")
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match="can't be used to store a search: File exists"):
        Search.open(settings(storage=str(tmp_path / "file" / "a.log")), tmp_path, "a")


def test_a_damaged_journal_is_named(tmp_path):
    search = Search.open(settings(), tmp_path, "a")
    search.ask(1)
    path = tmp_path / "study.log"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"garbage\n", *lines[2:]]))
    with pytest.raises(RequestError, match="study.log: damaged, so what the search has tried"):
        Search.open(settings(), tmp_path, "a")


def test_half_a_last_line_is_dropped(tmp_path):
    search = Search.open(settings(), tmp_path, "a")
    first = search.ask(1)
    path = tmp_path / "study.log"
    with open(path, "ab") as stream:
        stream.write(b'{"op_code":5,"wor')
    search = Search.open(settings(), tmp_path, "a")
    search.tell(first[0].number, outcome(first[0]))
    assert Search.open(settings(), tmp_path, "a").summary()[0]["state"] == "completed"


def test_databases_of_others_and_such_that_cannot_be_reached_are_refused(tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "mlflow.db") as database:
        database.execute("CREATE TABLE experiments (id INTEGER)")
    before = (tmp_path / "mlflow.db").read_bytes()
    with pytest.raises(RequestError, match="that is empty or holds searches, got .*experiments"):
        Search.open(settings(storage=f"sqlite:///{tmp_path}/mlflow.db"), tmp_path, "a")
    assert (tmp_path / "mlflow.db").read_bytes() == before
    for url in (f"sqlite:///{tmp_path}/none/a.db", "nosuchdb://host/a"):
        with pytest.raises(RequestError, match="search.storage: the database .* can't be used: "):
            Search.open(settings(storage=url), tmp_path, "a")
