"""Run a sweep: check all jobs, skip what is done, train what is missing, print one table.

A job is idempotent, see `runner.resume.run`. So a sweep that was killed continues with the same
command, and whatever runs a job (this process, joblib, Ray, another launcher of Hydra) only calls
that function.
"""

from __future__ import annotations

import logging
import shlex
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.errors import RunBusy, SweepFailed, explained
from attnlab.records import files, logs
from attnlab.records.environment import environment
from attnlab.records.logs import logging_to
from attnlab.records.run_directory import default_runs_folder, run_lock
from attnlab.records.sweep_runs import is_of_study
from attnlab.runner.resume import (
    COMPLETED,
    FAILED,
    KILLED,
    PRUNED,
    RUNNING,
    Follower,
    find_run,
    only_here,
    runs_by_digest,
    start_following,
    wait_for,
)
from attnlab.sweeps.grid import Job, Plan, words_of
from attnlab.sweeps.launch import Work, launch, train_group
from attnlab.sweeps.table import (
    NOT_RUN,
    Progress,
    TableRow,
    csv_text,
    print_table,
    row_of,
)

if TYPE_CHECKING:
    from attnlab.sweeps.search import Search

# The states of jobs, in the order in which they are listed.
_STATES = (COMPLETED, PRUNED, FAILED, KILLED, RUNNING, NOT_RUN)
log = logging.getLogger("attnlab")


def sweep(words: Sequence[str], place: tuple[str, str] | None = None) -> Path:
    """Run the sweep of a command `attnlab -m WORDS`; returns its folder.

    Args:
        words: The overrides.
        place: Folder and name of a saved configuration; None: conf/config.yaml.

    Raises:
        RequestError: A word or a configuration is wrong.
        SweepFailed: Jobs failed or are not completed.
        KeyboardInterrupt: Interrupted. Completed runs stay completed.
    """
    plan = Plan.read(words, place)
    folder, runs, search, jobs = plan.folder, str(plan.folder.parents[1]), None, list[Job]()
    if plan.kind == "search":
        from attnlab.sweeps.search import Search

        search = Search(plan)
    else:
        jobs = plan.jobs()
    if plan.settings.dry_run:
        rows = _rows(plan, jobs)
        print_table(rows, [])
        todo = f"{sum(_is_to_run(row, plan) for row in rows)} of {len(rows)} jobs would run."
        if search:
            keys = ", ".join(search.space)
            todo = f"{search.trials} trials would run, chosen by {search.sampler} over {keys}."
        print(f"{todo} Sweep folder: {folder}")
        return folder
    with explained(f"paths.runs: expected a folder that can be written, got {runs!r}"):
        folder.mkdir(parents=True, exist_ok=True)
    with logging_to(folder / "sweep.log"):
        with only_here(run_lock(folder), f"the sweep {folder.name}"):
            follower, end = _execute(plan, search, jobs)
        if not isinstance(end, KeyboardInterrupt):
            wait_for(follower, plan.first.tracking.timeout)
    if end is not None:
        raise end
    return folder


def _execute(
    plan: Plan, search: Search | None, jobs: Sequence[Job]
) -> tuple[Follower[str] | None, BaseException | None]:
    """Train what is missing, then print and store the table.

    Returns:
        The process that follows the sweep, and an error unless all jobs are completed.
    """
    folder, total = plan.folder, search.trials if search else len(jobs)
    rows = _rows(plan, jobs)
    todo = [job for job, row in zip(jobs, rows, strict=True) if _is_to_run(row, plan)]
    before, failed = (sum(row.state == state for row in rows) for state in (COMPLETED, FAILED))
    entries = {"kind": plan.kind, "command": list(plan.words), "fixed": plan.fixed}
    _note(folder, **entries, varying=plan.varying)
    follower = None
    if todo or search:
        files.write_json(folder / "environment.json", environment())
        follower = start_following(folder)
    if rows:  # what is done is stored before anything else
        _write_table(folder, rows)
    stop: BaseException | None = None
    ended: dict[int, TableRow] = {}  # by the number of the job
    with Progress(folder.name, total, len(jobs) - len(todo)) as progress:
        if any(row.state != NOT_RUN for row in rows):
            progress.say(
                f"{total} jobs: {before} done before, {failed} failed before, {len(todo)} to run"
            )
        _announce_killed(rows, progress)
        if (todo or search) and plan.launcher == "basic":
            progress.say("tracing and compiling")
        work = Work(folder.name, plan.settings.retry_failed)
        if search:
            ends = _trials(search, work, progress)
        else:
            ends = launch(plan, jobs, todo, work, progress.on_epoch)
        try:
            with closing(ends):
                for job, error in ends:
                    row = row_of(job, find_run(job.config))
                    if error:
                        row = replace(row, state=FAILED, error=error, results={})
                    ended[job.number] = row
                    progress.ended(row)
        except (KeyboardInterrupt, SweepFailed) as error:
            stop = error
    rows = [ended.get(row.number, row) for row in _rows(plan, search.jobs if search else jobs)]
    best: list[int] = []
    if search:
        best = search.best()
        rows = sorted(
            [*rows, *search.refused],
            key=lambda row: (_STATES.index(row.state), row.number not in best, row.number),
        )
    counts = Counter(row.state for row in rows)
    counts[NOT_RUN] += total - len(rows)  # trials that were not chosen yet
    try:
        _write_table(folder, rows)
        if search:
            search.save(folder)
        if todo or search:
            state = "killed" if stop else "failed" if counts[FAILED] else "completed"
            _note(folder, state=state, ended=datetime.now(timezone.utc).isoformat())
    except OSError as error:  # the folders of the runs are complete
        log.warning("%s: the table can't be stored: %s", folder, error)
    parts = [f"{counts[state]} {state}" for state in _STATES if counts[state]]
    _print_end(plan, rows, best, ", ".join(parts))
    return follower, _problem(counts, total, stop, plan.settings.retry_failed)


def _print_end(plan: Plan, rows: Sequence[TableRow], best: Sequence[int], counts: str) -> None:
    """Print the table, the counts of states and what comes next; with -q only the folder."""
    folder = plan.folder
    if logs.verbosity < 0:
        print(folder, flush=True)
        return
    print_table([row for row in rows if row.state != NOT_RUN], best, folder / "table.csv")
    for row in rows:
        if row.number in best:  # to copy into a command
            print(f"best: trial {row.number}: {words_of(row.varying)}")
    print(f"sweep {folder.name}: {counts}")
    print(f"sweep folder: {folder}", flush=True)
    is_grid = plan.kind == "grid" and not is_of_study(folder.name)
    if is_grid and any(row.state == COMPLETED for row in rows):
        words, runs = ["attnlab", "compare", "--sweep", folder.name], folder.parents[1]
        # `compare` averages over seeds, and has a table for each task and its data.
        separate = ("seed", "experiment", "task", "data")
        keys = [key for key in plan.varying if key.partition(".")[0] not in separate]
        words += ["--by", ",".join(keys)] if keys not in ([], ["attention"]) else []
        words += ["--runs", str(runs)] if runs != default_runs_folder() else []
        print(f"next: {shlex.join(words)}", flush=True)


def _announce_killed(rows: Iterable[TableRow], progress: Progress) -> None:
    """Say which killed jobs continue, and after which epoch: that of their checkpoint."""
    for row in rows:
        if row.state == KILLED and row.path:
            epochs = files.Checkpoints(row.path / "checkpoint").epochs()
            name = words_of(row.varying) or row.task
            progress.say(f"{name}: was killed, continues after epoch {epochs}")


def _trials(search: Search, work: Work, progress: Progress) -> Generator[tuple[Job, str | None]]:
    """Train the trials of a search, round after round; yield each with its error."""
    from attnlab.sweeps.search import Reporter

    for trials in search.rounds():
        reports = [Reporter(search, trial) for trial, _ in trials]
        _announce_killed(_rows(search.plan, [job for _, job in trials]), progress)
        errors = train_group([job.config for _, job in trials], work, reports)
        for (trial, job), report, error in zip(trials, reports, errors, strict=True):
            run = find_run(job.config)
            if not error and run and run.state == RUNNING:
                raise RunBusy(f"trial {job.number}: another process trains {run.path}.")
            yield job, search.tell(trial, report, run, error)


def _rows(plan: Plan, jobs: Iterable[Job]) -> list[TableRow]:
    """Return the row of each job, read from the folder of its run."""
    runs = runs_by_digest(plan.folder.parents[1])
    return [row_of(job, runs.get(job.digest)) for job in jobs]


def _is_to_run(row: TableRow, plan: Plan) -> bool:
    if row.state == FAILED:
        return plan.settings.retry_failed
    return row.state != COMPLETED


def _note(folder: Path, **entries: Any) -> None:
    """Change entries of sweep.json; raises `RequestError` if it is damaged."""
    path, now = folder / "sweep.json", datetime.now(timezone.utc).isoformat()
    stored = files.read_json(path) if path.is_file() else {"started": now}
    files.write_json(path, {**stored, **entries, "updated": now})


def _write_table(folder: Path, rows: Sequence[TableRow]) -> None:
    """Write table.csv, unless it has these rows already, as MLflow's copy may have."""
    path, text = folder / "table.csv", csv_text(rows)
    if not path.is_file() or path.read_bytes().decode() != text:
        files.write_text(path, text)


def _problem(
    counts: Counter[str], total: int, stop: BaseException | None, is_retried: bool
) -> BaseException | None:
    """Return an error that describes how the sweep ended, unless all jobs are completed."""
    if isinstance(stop, KeyboardInterrupt):
        done = f"{counts[COMPLETED]} of {total} jobs are done"
        return KeyboardInterrupt(f"{done}; the same command continues")
    if stop is not None:
        return stop
    if failed := counts[FAILED]:
        advice = "" if is_retried else "; sweep.retry_failed=true runs them again"
        return SweepFailed(f"{failed} of {total} jobs failed{advice}")
    if undone := total - counts[COMPLETED] - counts[PRUNED]:
        return SweepFailed(f"{undone} of {total} jobs are not done; the same command runs them")
    return None
