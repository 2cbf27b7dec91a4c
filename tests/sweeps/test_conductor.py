"""How a sweep stands at its end: interrupted, waiting for other processes, or shared by several."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace

import pytest

from attnlab.errors import SweepFailed
from attnlab.records.processes import this_process
from attnlab.records.run_directory import RunDirectory
from attnlab.sweeps import conductor as module
from attnlab.sweeps import job
from attnlab.sweeps.conductor import Conductor
from attnlab.sweeps.job import StoppedEarly
from attnlab.sweeps.jobs import Job
from attnlab.sweeps.progress import Progress
from attnlab.sweeps.search_sweep import SearchSweep
from attnlab.sweeps.sweep_folder import GRID, SEARCH, SweepFolder
from attnlab.sweeps.table import Row

GONE = {**this_process(), "pid": 2**22 + 1}
ELSEWHERE = {**this_process(), "host": "elsewhere"}


class Launching:
    """Runs nothing, or is interrupted."""

    threads, here = None, False

    def __init__(self, bound=True, error=None):
        self.bound, self.error, self.launched = bound, error, []

    def __call__(self, jobs, launch):
        self.launched += jobs
        if self.error:
            raise self.error


class Plain(Conductor):
    """Runs the jobs that a test gives it."""

    jobs: tuple[Job, ...] = ()

    def preview(self):
        """Is not tried."""

    def work(self):
        todo = self.prepare(self.jobs)
        with Progress(self.folder, len(self.jobs), 0) as progress:
            if todo:
                self.run(todo, progress)

    def rows(self):
        return [Row.of(job) for job in self.jobs]

    def best(self, rows):
        return []

    def configs(self):
        return []


@pytest.fixture(scope="module")
def config(compose):
    return compose("task=fib", "attention=none")


@pytest.fixture
def request_of(tmp_path, config):
    def request_of(kind=GRID, retry_failed=False):
        settings = SimpleNamespace(fail_fast=False, retry_failed=retry_failed)
        return SimpleNamespace(
            folder=SweepFolder.named(tmp_path, "mine"),
            settings=settings,
            search=None if kind == GRID else object(),
            kind=kind,
            runs=tmp_path,
            command=(),
            fixed={},
            varying={},
            first=config,
            check_space=lambda: None,
        )

    return request_of


@pytest.fixture
def sweep(request_of, config):
    def sweep(launching=None, kind=GRID) -> Plain:
        sweep = Plain(request_of(kind), launching or Launching())
        sweep.jobs = (Job(1, (), {}, config),)
        return sweep

    return sweep


@pytest.fixture
def run_of(tmp_path, config):
    def run_of(**owner) -> RunDirectory:
        run = RunDirectory.create(tmp_path, "fib", "none", 0, config_hash=config.digest)
        run.status.write("running", **owner)
        return run

    return run_of


def stop_files(sweep) -> list:
    return [*sweep.folder.path.glob(".stopped-*")]


@pytest.mark.parametrize("error", [KeyboardInterrupt, StoppedEarly])
@pytest.mark.parametrize("kind", [GRID, SEARCH])
def test_jobs_in_a_queue_know_that_the_sweep_was_stopped(sweep, error, kind):
    stopped = sweep(Launching(bound=False, error=error()), kind)
    with suppress(KeyboardInterrupt):
        stopped.conduct()
    assert stop_files(stopped) == [stopped.launch.stop_path]
    assert not stopped.launch.is_current()
    later = sweep(Launching(bound=False), kind)
    later.conduct()
    # Jobs of a grid know the launch that is theirs; those of a search have nothing but the file.
    assert len(stop_files(later)) == (0 if kind == GRID else 1)
    assert not stopped.launch.is_current()


def test_a_stopped_sweep_without_a_queue_leaves_no_file(sweep):
    stopped = sweep(Launching(error=KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt, match="0 of 1 jobs are done"):
        stopped.conduct()
    assert stop_files(stopped) == []


def test_no_stop_file_stays_where_the_table_fails(sweep, monkeypatch):
    stopped = sweep(Launching(error=KeyboardInterrupt()))
    monkeypatch.setattr(stopped, "rows", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        stopped.conduct()
    assert stop_files(stopped) == []


def test_jobs_that_another_process_still_runs_are_not_done(sweep, run_of):
    run = run_of(**ELSEWHERE)
    first = sweep()
    with pytest.raises(SweepFailed, match="^1 of 1 jobs are still under way in another process; "):
        first.conduct()
    assert first.launching.launched == []
    assert first.folder.read()["finished"] is False
    run.write_json("metrics.json", {})
    run.status.write("completed")
    second = sweep()
    second.conduct()
    assert second.folder.read()["finished"] is True


def test_what_another_process_ends_meanwhile_is_taken_in(sweep, run_of):
    run = run_of(**ELSEWHERE)
    mine = sweep()
    prepare = mine.prepare

    def prepare_slowly(jobs):
        todo = prepare(jobs)
        run.write_json("metrics.json", {})
        run.status.write("completed")
        return todo

    mine.prepare = prepare_slowly
    mine.conduct()
    assert mine.jobs[0].state == "completed"


def test_workers_of_a_killed_sweep_are_waited_for_as_long_as_they_can_live(
    sweep, run_of, monkeypatch
):
    assert module._SECONDS_FOR_ORPHANS > job.ORPHANED_SECONDS
    run = run_of()  # this process
    waiting = sweep()
    waiting.folder.create()
    waiting.folder.write_record(waiting.jobs[0].key, state="running", **this_process())
    now = [0.0]

    def sleep(seconds):
        now[0] += seconds
        if now[0] >= job.ORPHANED_SECONDS:
            run.status.write(None, **GONE)
            waiting.folder.write_record(waiting.jobs[0].key, **GONE)

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    assert waiting.prepare(waiting.jobs) == [*waiting.jobs]
    assert waiting.folder.record(waiting.jobs[0].key)["resume"] == str(run.path)


class Study:
    """A search whose trials another process has, or has no more."""

    def __init__(self, others):
        self.others_at_work = lambda: others
        self.summary = lambda: [{"number": 0, "state": "completed", "overrides": [], "best": True}]


@pytest.fixture
def search(request_of):
    def search(**changes) -> SearchSweep:
        settings = SimpleNamespace(
            trials=9, sampler="tpe", space=SimpleNamespace(dimensions=[SimpleNamespace(key="seed")])
        )
        return SearchSweep(request_of(SEARCH, **changes), Launching(), settings)

    return search


def test_a_search_interrupted_while_it_opens_its_study_keeps_what_is_there(search, monkeypatch):
    from attnlab.sweeps.search import Search

    def interrupted(*_):
        raise KeyboardInterrupt

    mine = search()
    mine.folder.create()
    mine.folder.table.write_text("kept")
    monkeypatch.setattr(Search, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mine.conduct()
    assert stop_files(mine) == []
    assert mine.folder.table.read_text() == "kept"


@pytest.mark.parametrize(("others", "status"), [(True, None), (False, "FINISHED")])
def test_the_last_process_of_a_search_ends_it(search, monkeypatch, others, status):
    mine, ended = search(), []

    def work():
        mine._search = Study(others)
        mine.parents = SimpleNamespace(finish=lambda *how: ended.append(how[0]))

    monkeypatch.setattr(mine, "work", work)
    mine.conduct()
    assert ended == [status]
    assert mine.folder.read()["finished"] is not others


@pytest.mark.parametrize(("retry_failed", "count"), [(False, 5), (True, 6)])
def test_a_dry_run_counts_the_trials_that_would_run(search, capsys, retry_failed, count):
    mine = search(retry_failed=retry_failed)
    mine.folder.create()
    records = [
        *({"state": state} for state in ("completed", "pruned", "failed", "killed", "waiting")),
        {"state": "running", **GONE},
        {"state": "running", **ELSEWHERE},
        {"state": "retried"},
    ]
    for number, record in enumerate(records):
        mine.folder.write_record(f"trial_{number:04d}", **record)
    mine.preview()
    assert capsys.readouterr().out.startswith(f"{count} of 9 trials would run, chosen by tpe ")
