"""How sweeps continue and end, with launchers that a test controls."""

from __future__ import annotations

import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest
from search_examples import RATE, settings

from attnlab.config.parsing import parse
from attnlab.config.sections import SweepConfig
from attnlab.errors import SweepFailed
from attnlab.records.run_directory import RunDirectory
from attnlab.records.status import this_process
from attnlab.records.sweep_runs import runs_of_sweep
from attnlab.run import find_or_run
from attnlab.run.find_or_run import RunIndex
from attnlab.sweeps.grid_sweep import GridSweep
from attnlab.sweeps.launching import LauncherDied
from attnlab.sweeps.plan import Point
from attnlab.sweeps.search.study import Study
from attnlab.sweeps.search.sweep import SearchSweep
from attnlab.sweeps.sweep_folder import GRID, SEARCH, SweepFolder
from attnlab.sweeps.table import read_results
from attnlab.sweeps.worker import Outcome, StoppedEarly

GONE = {**this_process(), "pid": 2**22 + 1}
ELSEWHERE = {**this_process(), "host": "elsewhere"}
DIED = LauncherDied("RuntimeError: a worker was killed")


class Fake:
    """A launcher with a plan for each launch."""

    threads, here, workers = None, False, 3

    def __init__(self, *plans, bound=True):
        self.plans, self.bound, self.launched = list(plans), bound, []
        self.spreads, self.is_open = not bound, False

    def open(self):
        self.is_open = True

    def close(self):
        self.is_open = False

    def __call__(self, work, overrides, calls=1):
        assert self.is_open
        self.launched.append([words[0] for words in overrides] if overrides[0] else len(overrides))
        return self.plans.pop(0)(work, overrides) if self.plans else [None] * len(overrides)

    def was_ended(self, result):
        return isinstance(result, TimeoutError)


@pytest.fixture(scope="module")
def composed(compose):
    return compose("task=fib", "attention=none", "task.count=61", "task.history=5")


@pytest.fixture
def config_of(composed, tmp_path):
    def config_of(seed=0):
        paths = {"runs": str(tmp_path), "data": "data"}
        return parse({**composed.document, "seed": seed, "paths": paths}, {})

    return config_of


@pytest.fixture
def plan_of(tmp_path, config_of):
    def plan_of(kind=GRID, points=1, search=None, **changes):
        words = [Point(n + 1, ("abc"[n],), {"seed": str(n)}, config_of(n)) for n in range(points)]
        return SimpleNamespace(
            folder=SweepFolder.named(tmp_path, "mine"),
            settings=replace(SweepConfig(), **changes),
            search=search,
            kind=kind,
            command=(),
            fixed={},
            varying={},
            first=config_of(),
            points=lambda: (words, 0),
            words=(),
            judged_by="validation",
            ends=lambda: [],
            trial=lambda number, overrides: Point(number, (), {}, config_of(number)),
        )

    return plan_of


@pytest.fixture
def grid(plan_of):
    def grid(*plans, points=1, bound=True, **changes) -> GridSweep:
        return GridSweep(plan_of(points=points, **changes), Fake(*plans, bound=bound))

    return grid


@pytest.fixture
def run_of(tmp_path, config_of):
    def run_of(seed=0, state="running", **entries) -> RunDirectory:
        config = config_of(seed)
        run = RunDirectory.create(
            tmp_path, "fib", "none", seed, config.document, config_hash=config.digest
        )
        if state == "completed":
            run.write_json("metrics.json", {})
        run.status.write(state, **entries)
        return run

    return run_of


@pytest.fixture
def does(run_of, tmp_path, config_of):
    """A plan of a launch: the state of each point's run, by letter, and whether it died."""

    def does(death=None, **states):
        def plan(work, overrides):
            for (letter,) in overrides:
                if letter not in states:
                    continue
                state, entries = states[letter]
                found = RunIndex(tmp_path).refresh().find(config_of("abc".index(letter)).digest)
                if found and found.state == "killed":
                    RunDirectory(found.path).write_json("metrics.json", {})
                    RunDirectory(found.path).status.write(state, **entries)
                else:
                    run_of("abc".index(letter), state, **entries)
            if death:
                raise death
            return [None] * len(overrides)

        return plan

    return does


def raising(error):
    def plan(work, overrides):
        raise error

    return plan


DONE, DEAD, FAILED = ("completed", {}), ("running", GONE), ("failed", {"error": "RunFailed: no"})


def states(sweep) -> str:
    return " ".join(row.state for row in sweep.rows())


def test_runs_are_launched_together_and_lost_ones_again(grid, does):
    sweep = grid(does(a=DONE, b=DEAD, death=DIED), does(b=DONE), does(c=DONE), points=3)
    sweep.execute()
    assert sweep.launcher.launched == [["a", "b", "c"], ["b"], ["c"]]
    assert states(sweep) == "completed completed completed"
    again = grid(points=3)
    again.execute()
    assert again.launcher.launched == []


def test_a_group_has_no_more_runs_than_any_of_them_leaves_room_for(grid, plan_of, monkeypatch):
    rooms = {1: 32, 2: 32, 3: 2, 4: 2, 5: 2, 6: 1}
    sweep = grid()
    monkeypatch.setattr(sweep, "_most_together", lambda point, points: rooms[point.number])
    points = [
        SimpleNamespace(number=number, config=SimpleNamespace(program=str(room)))
        for number, room in rooms.items()
    ]
    groups = [[point.number for point in group] for group in sweep._groups(points)]
    assert groups == [[1, 2], [3, 4], [5], [6]]


def test_a_killed_run_that_cannot_be_resumed_has_a_reason(grid, run_of):
    run_of(0, **GONE)
    sweep = grid(lambda work, overrides: [Outcome("failed", error="data: changed")])
    with pytest.raises(SweepFailed, match="1 of 1 jobs failed"):
        sweep.execute()
    assert [(row.state, row.error) for row in sweep.rows()] == [("failed", "data: changed")]


def test_a_death_among_several_runs_is_not_counted(grid, does):
    plans = [does(a=DEAD, death=DIED), does(a=DONE), does(b=DEAD, death=DIED), does(b=DONE)]
    sweep = grid(*plans, does(c=DONE), points=3)
    sweep.execute()
    assert sweep.launcher.launched == [["a", "b", "c"], ["a"], ["b", "c"], ["b"], ["c"]]


def test_a_launcher_that_does_nothing_is_abandoned(grid):
    with pytest.raises(SweepFailed, match="the launcher failed: RuntimeError: a worker was killed"):
        grid(raising(DIED)).execute()


def test_a_failed_run_is_retried_only_on_request(grid, does):
    with pytest.raises(SweepFailed, match="1 of 2 jobs failed; sweep.retry_failed"):
        grid(does(a=FAILED, b=DONE), points=2).execute()
    again = grid(points=2)
    with pytest.raises(SweepFailed, match="1 of 2 jobs failed; sweep.retry_failed"):
        again.execute()
    assert again.launcher.launched == []
    # A process that dies before it has begun leaves the failed run to be tried again.
    retried = grid(does(b=DONE, death=DIED), points=2, retry_failed=True)
    with pytest.raises(SweepFailed, match="the launcher failed"):
        retried.execute()
    retried = grid(does(a=FAILED), points=2, retry_failed=True)
    with pytest.raises(SweepFailed, match="^1 of 2 jobs failed$"):
        retried.execute()
    assert retried.launcher.launched == [["a"]]


def test_a_run_that_failed_without_a_folder_is_shown_and_retried(grid, does, capsys):
    failed = [Outcome("failed", error="paths.runs: can't be written"), ValueError("x\ny"), None]
    with pytest.raises(SweepFailed, match="2 of 3 jobs failed"):
        grid(lambda *_: failed, points=3).execute()
    err = capsys.readouterr().err
    assert "seed=0: failed: paths.runs: can't be written." in err
    assert "seed=1: failed: ValueError: x y." in err
    sweep = grid(does(a=DONE, b=DONE, c=DONE), points=3)
    sweep.execute()
    assert sweep.launcher.launched == [["a", "b", "c"]]


def test_a_run_ended_by_the_cluster_counts_as_killed(grid, does, run_of):
    def ended(work, overrides):
        run_of(0, "running", **ELSEWHERE)
        return [TimeoutError("taken away")]

    sweep = grid(ended, bound=False)
    with pytest.raises(SweepFailed, match="1 of 1 jobs were interrupted; the same command"):
        sweep.execute()
    assert states(sweep) == "killed"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), StoppedEarly("no")], ids=["ctrl-c", "fast"])
def test_queued_jobs_see_that_their_launch_was_stopped(grid, error):
    stopped = grid(raising(error), bound=False)
    with pytest.raises((KeyboardInterrupt, SweepFailed), match="0 of 1 jobs|stopped the sweep: no"):
        stopped.execute()
    assert not stopped.launch.is_active()
    later = grid(lambda *_: [Outcome("new")], bound=False)
    with pytest.raises(SweepFailed, match="1 of 1 jobs were not run; the same command runs them"):
        later.execute()
    assert later.launch.is_active() and not stopped.launch.is_active()


def test_a_launch_without_its_owner_starts_no_more_runs(grid):
    sweep = grid()
    with pytest.raises(SweepFailed):
        sweep.execute()
    assert sweep.launch.is_active()
    assert not replace(sweep.launch, owner=GONE).is_active()
    assert replace(sweep.launch, owner=GONE, bound=False).is_active()


def test_a_killed_sweep_has_recorded_the_runs_it_found(grid, run_of):
    from attnlab.records.run_directory import list_runs

    class Killed(BaseException):
        pass

    found = run_of(0, "completed")
    sweep = grid(raising(Killed()), points=2)
    with pytest.raises(Killed):
        sweep.execute()
    listed = list_runs(sweep.folder.path.parents[1])
    assert [each.run.path for each in runs_of_sweep(listed, "mine")] == [found.path]


def test_a_damaged_result_counts_as_missing(run_of):
    run = run_of(0, "completed")
    (run.path / "metrics.json").write_text("[]")
    assert read_results(run.path) == {}


# Searches


@pytest.fixture
def search(plan_of):
    def search(*plans, trials=9, bound=True, space=None, **changes) -> SearchSweep:
        chosen = settings(space or RATE, trials=trials, pruner="none")
        plan = plan_of(SEARCH, search=chosen, **changes)
        return SearchSweep(plan, Fake(*plans, bound=bound), chosen)

    return search


def at_work(work, overrides):
    """Run all workers, one after another."""
    return [work(None) for _ in overrides]


@pytest.fixture
def training(run_of, monkeypatch):
    """Replace the training of trials by a function of their number."""

    def training(outcome):
        from attnlab.sweeps.search import sweep as search_sweep

        def run_or_find(config, launch, on_epoch):
            run = run_of(config.seed, "completed", sweep="mine")
            run.write_json("metrics.json", {"best_value": 1.0 + config.seed, "monitor": "v"})
            found = outcome(config.seed)
            if isinstance(found, BaseException):
                raise found
            if found != "completed":
                (run.path / "metrics.json").unlink()
                return Outcome(found, None, "no")
            return Outcome("completed", run.path)

        monkeypatch.setattr(search_sweep, "run_or_find", run_or_find)

    return training


def test_workers_are_launched_once_and_run_all_trials(search, training, capsys):
    training(lambda number: "completed")
    sweep = search(at_work, trials=5)
    sweep.execute()
    assert sweep.launcher.launched == [3]
    assert [row.number for row in sweep.rows()] == [0, 1, 2, 3, 4]
    out = capsys.readouterr().out
    assert "sweep mine: 5 completed\n" in out and "best: trial 0: optimizer.learning_rate=" in out
    more = search(at_work, trials=6)
    more.execute()
    assert more.launcher.launched == [1]
    assert "6 completed (5 of them earlier)" in capsys.readouterr().out


def test_no_more_workers_than_trials_are_launched(search, training):
    training(lambda number: "completed")
    sweep = search(at_work, trials=2)
    sweep.execute()
    assert sweep.launcher.launched == [2]


def test_a_search_reads_other_runs_once_and_not_for_every_trial(
    search, training, run_of, monkeypatch
):
    """Fixed: every batch of trials read the status of every run."""
    others = {run_of(100 + number, "completed").path for number in range(4)}
    read, original = [], find_or_run._read
    monkeypatch.setattr(
        find_or_run, "_read", lambda folder: read.append(folder) or original(folder)
    )
    training(lambda number: "completed")
    search(at_work, trials=8).execute()
    # Once for the command, which looks at the table, and once for the worker.
    assert all(read.count(path) <= 2 for path in others)


def test_trials_that_never_started_are_counted_as_not_run(search, training, capsys):
    """Fixed: they were shown as waiting, and missing in the summary."""
    training(lambda number: "failed")

    sweep = search(at_work, trials=5, fail_fast=True)
    with pytest.raises(SweepFailed, match="1 of 5 jobs failed, and sweep.fail_fast=true stopped"):
        sweep.execute()
    out = capsys.readouterr().out
    assert "sweep mine: 1 failed, 4 not run\n" in out and "waiting" not in out
    assert not sweep.launch.is_active()


def test_failed_trials_are_counted_and_retried_on_request(search, training, capsys):
    training(lambda number: "failed" if number == 1 else "completed")
    with pytest.raises(SweepFailed, match="1 of 3 jobs failed; sweep.retry_failed=true"):
        search(at_work, trials=3).execute()
    idle = search(trials=3)
    with pytest.raises(SweepFailed):
        idle.execute()
    assert idle.launcher.launched == []
    capsys.readouterr()
    search(trials=3, retry_failed=True, dry_run=True).execute()
    assert capsys.readouterr().out.startswith("1 of 3 trials would run, chosen by tpe over ")
    again = search(at_work, trials=3, retry_failed=True)
    again.execute()
    assert [row.number for row in again.rows()] == [0, 2, 3]


def test_an_interrupted_trial_is_free_for_the_next_command(search, training):
    training(lambda number: KeyboardInterrupt() if number == 1 else "completed")
    sweep = search(at_work, trials=3)
    with pytest.raises(
        KeyboardInterrupt, match="1 of 3 jobs are done; the same command runs the others"
    ):
        sweep.execute()
    values = [row.varying for row in sweep.rows()]
    training(lambda number: "completed")
    again = search(at_work, trials=3)
    again.execute()
    assert [row.varying for row in again.rows()][:2] == values


def test_a_trial_that_another_process_trains_stays_open(search, training, run_of):
    training(lambda number: "running" if number == 0 else "completed")
    sweep = search(at_work, trials=2)
    with pytest.raises(SweepFailed, match="1 of 2 jobs were interrupted|still running"):
        sweep.execute()
    assert sweep.launcher.launched == [2]
    training(lambda number: "completed")
    search(at_work, trials=2).execute()


def test_the_trial_that_kills_its_worker_twice_has_failed(search, training):
    training(lambda number: "completed")

    def dies(work, overrides):
        study = Study.open(work.keywords["plan"].search, folder.path, "mine")
        for _ in overrides:
            study.take_round({**GONE, "launcher": this_process()}, only=work.keywords["only"])
        raise DIED

    sweep = search(dies, dies, at_work, at_work, trials=4)
    folder = sweep.folder
    with pytest.raises(SweepFailed, match="1 of 4 jobs failed"):
        sweep.execute()
    # Three begin and die, the first dies alone, too, the others don't; then what is left.
    assert sweep.launcher.launched == [3, 1, 1, 1, 1]
    failed = [(row.number, row.error) for row in sweep.rows() if row.state == "failed"]
    assert failed == [(0, "its process died again (RuntimeError: a worker was killed)")]


def test_a_search_whose_launcher_does_nothing_is_abandoned(search):
    with pytest.raises(SweepFailed, match="the launcher failed: RuntimeError: a worker was killed"):
        search(raising(DIED)).execute()


def test_a_search_waits_for_workers_of_a_launch_that_was_killed(search, plan_of):
    sweep = search(trials=3)
    sweep.folder.create()
    sweep._study = study = sweep._open()
    for launcher, orphaned in ((this_process(), False), (None, False), (GONE, True)):
        trial = study.take({**this_process(), "launcher": launcher})
        assert sweep.has_orphans() is orphaned
        study.tell(trial.number, "failed")
    assert not sweep.has_orphans()


def test_an_interrupt_while_opening_a_study_loses_nothing(search, monkeypatch):
    mine = search()
    mine.folder.create()
    mine.folder.table.write_text("kept")
    monkeypatch.setattr(mine, "_open", lambda: raising(KeyboardInterrupt())(None, None))
    with pytest.raises(KeyboardInterrupt):
        mine.execute()
    assert mine.folder.table.read_text() == "kept"


@pytest.mark.parametrize("others", [True, False])
def test_the_last_process_of_a_search_ends_it(search, training, others, monkeypatch):
    training(lambda number: "completed")
    ended = []
    mine = search(at_work, trials=2)
    mine._trackers = {"fib": SimpleNamespace(ended=ended.append)}
    monkeypatch.setattr(mine, "start_parents", lambda configs: None)
    if others:
        mine.folder.create()
        mine._open().take({**ELSEWHERE, "launcher": None})
        with pytest.raises(SweepFailed, match="1 of 2 jobs are still running in another"):
            mine.execute()
    else:
        mine.execute()
    assert ended == ["running" if others else "completed"]
    assert mine.folder.read()["finished"] is not others


def test_a_dry_run_counts_the_trials_that_would_run(search, capsys, tmp_path):
    search(trials=5, dry_run=True).execute()
    assert not (tmp_path / "sweeps").exists()
    begun = search(trials=5)
    begun.folder.create()
    begun.folder.update(kind=SEARCH)
    study = begun._open()
    for owner in (GONE, ELSEWHERE, GONE):
        study.take({**owner, "launcher": None})
    study.release(2, {**GONE, "launcher": None})
    search(trials=5, dry_run=True).execute()
    counts = [line.partition(" ")[0] for line in capsys.readouterr().out.splitlines()]
    assert counts == ["5", "4"]


def test_a_deleted_sweep_folder_still_gives_a_table(grid, does, capsys, caplog):
    sweep = None

    def deleting(work, overrides):
        shutil.rmtree(sweep.folder.path)
        return does(a=DONE)(work, overrides)

    sweep = grid(deleting)
    sweep.execute()
    assert "1 completed" in capsys.readouterr().out
    assert "the table can't be stored" in caplog.text
