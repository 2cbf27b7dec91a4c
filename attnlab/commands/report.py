"""`attnlab report`: runs on one HTML page, readable offline."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import click

from attnlab import __version__
from attnlab.commands.finding import COMPLETED, find
from attnlab.commands.options import complete_run, keys, runs_folder, runs_option
from attnlab.comparison.selection import read_settings, setting
from attnlab.config.options import in_prose
from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError, explained
from attnlab.records import files
from attnlab.records.run_directory import (
    OTHER_FOLDER,
    REPORT,
    ListedRun,
    NoSuchRun,
    RunDirectory,
    list_runs,
)
from attnlab.records.sweep_runs import runs_of_sweep, sweep_names

_ENDINGS = (".html", ".htm")
# These settings make no groups: seeds are averaged, and different tasks or data are compared
# separately; see `comparison.comparison`.
_APART = ("seed", "task", "data")
_MOST_NAMED = 3  # tasks in the name of a file


class _Chosen(NamedTuple):
    """The runs of a page, and where it is written."""

    entries: list[ListedRun]  # the oldest first
    place: Path  # the page's file, unless --out names another
    title: str | None  # None: made from the tasks and the keys that are compared
    name: str  # the sweep's name; empty if this isn't a sweep
    by: str | None  # the keys that the sweep varies; None if this isn't a sweep
    single: bool  # whether this is one run or one sweep: then the page is in its folder


@click.command("report")
@click.argument(
    "names", metavar="RUN|SWEEP...", nargs=-1, required=True, shell_complete=complete_run
)
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write to this file.  [default: report.html in the folder of the run or sweep; for "
    "several, a file in runs/reports]",
)
@click.option(
    "--by",
    metavar="KEYS",
    help="Group runs by these config keys, separated by commas.  [default: the keys that the sweep "
    "varies, else attention]",
)
@click.option(
    "--metric",
    metavar="PATH",
    help="A test metric, as in attnlab compare.  [default: the task's main one]",
)
@runs_option
def command(
    names: tuple[str, ...], out: Path | None, by: str | None, metric: str | None, runs: str | None
) -> None:
    """Show runs on one page: results, learning curves, predictions, attention.

    RUN is a run folder, an MLflow run id or its first characters, or "latest" (the newest completed
    run); SWEEP is the name or the folder of a sweep. The page is one HTML file that works offline.
    A slider shows attention epoch by epoch; computing it takes some seconds per group. A page in
    the folder of a tracked run or sweep is also logged to MLflow.
    """
    folder = runs_folder(runs)
    if out is not None and out.suffix.lower() not in _ENDINGS:
        raise RequestError(f"--out={out}: must end with .html.")
    chosen = _chosen(names, folder)
    path = (out or chosen.place).absolute()
    writable = f"--out: {path} can't be written"
    with files.new_parents(path, writable):
        text = _text(chosen, by, metric)
        with explained(writable):
            files.write_text(path, text)
    if chosen.single and path == chosen.place.absolute():
        _send(path.parent, [entry.run for entry in chosen.entries])
    click.echo(f"report: {path} ({path.stat().st_size / 1000:,.0f} kB)")


def _text(chosen: _Chosen, by: str | None, metric: str | None) -> str:
    from attnlab.comparison.comparison import Options
    from attnlab.report.content import runs_page
    from attnlab.views.html.page import page_text

    compared = keys(by or chosen.by or "attention", "--by")
    made = f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}"

    def announce(text: str) -> None:
        click.echo(f"attnlab: {text}", err=True)

    options = Options(compared, metric=metric)
    tasks = dict.fromkeys(str(entry.status["task"]) for entry in chosen.entries)
    title = chosen.title or f"{', '.join(tasks)} by {', '.join(compared)}"
    count = len(chosen.entries)
    runs = f"{count} run{'s' if count > 1 else ''}{chosen.name and f' of sweep {chosen.name}'}"
    about = f"attnlab {__version__}, {runs}"
    page = runs_page(title, chosen.entries, options, made=made, about=about, announce=announce)
    return page_text(page)


def _chosen(names: Sequence[str], folder: Path) -> _Chosen:
    """Find the runs of all names, each once."""
    listed = list_runs(folder)
    sweeps = {name: _sweep_folder(name, folder, listed) for name in names}
    found: dict[Path, ListedRun] = {}
    for name, sweep in sweeps.items():
        entries = [_run(name, folder, listed)] if sweep is None else _of_sweep(sweep, listed)
        found |= {entry.run.path: entry for entry in entries}
    runs = sorted(found.values(), key=lambda entry: (str(entry.status["started"]), entry.run.name))
    sweep, *others = sweeps.values()
    if others:
        return _several(runs, folder)
    if sweep is not None:
        varied = ",".join(_varied(sweep, runs[0].run))
        return _Chosen(runs, sweep / REPORT, None, sweep.name, varied or None, True)
    status = runs[0].status
    title = f"{status['task']} · {in_prose(str(status['attention']))} · seed {status['seed']}"
    return _Chosen(runs, runs[0].run.path / REPORT, title, "", None, True)


def _run(name: str, folder: Path, listed: Sequence[ListedRun]) -> ListedRun:
    try:
        return ListedRun.of(find(name, folder, COMPLETED))
    except NoSuchRun as error:
        sweeps = sweep_names(listed)
        hint = did_you_mean(name, sweeps) or (sweeps and f" Sweeps: {', '.join(sweeps)}.") or ""
        raise RequestError(
            f"RUN|SWEEP: there is no run and no sweep {name!r} among the {len(listed)} runs in "
            f"{str(folder)!r}.{hint} Another folder of runs: {OTHER_FOLDER}."
        ) from error


def _of_sweep(sweep: Path, listed: Sequence[ListedRun]) -> list[ListedRun]:
    """List the runs of a sweep, which may be in another runs folder than `listed`."""
    runs = sweep.parents[1]
    if not any(entry.run.path.parents[2] == runs for entry in listed):
        listed = list_runs(runs)
    found = runs_of_sweep(listed, sweep.name)
    if not found:
        raise RequestError(f"SWEEP: sweep {sweep.name} has no runs yet.")
    return found


def _several(runs: list[ListedRun], folder: Path) -> _Chosen:
    """Choose the page's file for several names: the same runs always get the same file."""
    digest = hashlib.sha256("\n".join(entry.run.name for entry in runs).encode()).hexdigest()[:8]
    tasks = {re.sub(r"\W+", "_", str(entry.status["task"])) for entry in runs}
    words = sorted(tasks) if len(tasks) <= _MOST_NAMED else [f"{len(tasks)}-tasks"]
    place = folder / "reports" / f"{'-'.join(words)}-{len(runs)}-runs-{digest}.html"
    return _Chosen(runs, place, None, "", None, False)


def _sweep_folder(name: str, folder: Path, listed: Sequence[ListedRun]) -> Path | None:
    """Find the folder of the sweep that a name or a path means; None if it isn't a sweep."""
    for path in (Path(name).expanduser().absolute(), (folder / "sweeps" / name).absolute()):
        if os.path.isfile(path / "sweep.json"):  # unlike `Path.is_file`, accepts very long names
            return path
    return (folder / "sweeps" / name).absolute() if name in sweep_names(listed) else None


def _varied(sweep: Path, run: RunDirectory) -> list[str]:
    """List the config keys that a sweep varies, except `_APART`."""
    try:
        keys = files.read_json(sweep / "sweep.json").get("varying") or {}
        settings = read_settings(run)
    except RequestError:
        return []
    own = [key for key in keys if key.partition(".")[0] not in _APART]
    return [key for key in own if setting(settings, key) is not None]


def _send(folder: Path, runs: Sequence[RunDirectory]) -> None:
    """Copy the page in the folder of a run or a sweep to MLflow; a problem is a warning."""
    from attnlab.runner.follow import complete, complete_sweep

    is_sweep = folder.parent.name == "sweeps"
    for problem in complete_sweep(folder, runs) if is_sweep else complete(runs[0]):
        click.echo(f"attnlab: warning: {problem}", err=True)
