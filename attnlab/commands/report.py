"""`attnlab report`: runs on one HTML page, readable offline."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from attnlab import __version__
from attnlab.commands import options
from attnlab.comparison.selection import read_settings, setting
from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError, explained
from attnlab.records import files
from attnlab.records.run_directory import REPORT, ListedRun, NoSuchRun, list_runs
from attnlab.records.sweep_runs import runs_of_sweep, sweep_names

# These settings make no groups: seeds are averaged, and different tasks or data are compared
# separately; see `comparison.comparison`.
_APART = ("seed", "task", "data")


@click.command("report")
@click.argument(
    "names", metavar="RUN|SWEEP...", nargs=-1, required=True, shell_complete=options.complete_run
)
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write to this file.  [default: report.html in the folder of the run or sweep]",
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
@options.runs_option
def command(
    names: tuple[str, ...], out: Path | None, by: str | None, metric: str | None, runs: str | None
) -> None:
    """Show runs on one page: results, learning curves, predictions, attention.

    RUN is a run folder, an MLflow run id or its first characters, or "latest" (the newest completed
    run); SWEEP is the name of a sweep. The page is one HTML file that works offline.
    A slider shows attention epoch by epoch; computing it takes some seconds per group.
    """
    if out and out.suffix != ".html":
        raise RequestError(f"--out={out}: must end with .html.")
    if len(names) > 1 and not out:
        raise RequestError("--out: name the file of the page, because there are several runs.")
    folder = options.runs_folder(runs)
    listed = list_runs(folder)
    sweeps = sweep_names(listed)
    chosen: dict[Path, ListedRun] = {}
    for name in names:
        if name in sweeps:
            place, members = folder / "sweeps" / name, runs_of_sweep(listed, name)
        else:
            try:
                run = options.find(name, folder, "a completed run", options.is_completed)
            except NoSuchRun as error:
                hint = did_you_mean(name, sweeps) or f" Sweeps: {', '.join(sweeps) or 'none'}."
                raise RequestError(f"{error}{hint}") from error
            place, members = run.path, [ListedRun.of(run)]
        chosen |= {entry.run.path: entry for entry in members}
    if not chosen:
        raise RequestError(f"SWEEP: {names[0]} has no runs yet.")
    entries = sorted(chosen.values(), key=lambda e: (str(e.status["started"]), e.run.name))
    path = (out or place / REPORT).absolute()
    groups = options.keys(by, "--by") or _varied(place, entries[0]) or ("attention",)
    tasks = sorted({str(entry.status["task"]) for entry in entries})
    title = f"{', '.join(tasks)} by {', '.join(groups)}"
    from attnlab.comparison.comparison import Options
    from attnlab.report.page import runs_page
    from attnlab.views.html.page import page_text

    page = runs_page(
        entries[0].run.name if len(entries) == 1 else title,
        entries,
        Options(groups, metric=metric),
        made=f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
        about=f"attnlab {__version__}, {len(entries)} run{'s' * (len(entries) > 1)}",
        announce=lambda text: click.echo(f"attnlab: {text}", err=True),
    )
    with explained(f"--out: {path} can't be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_text(path, page_text(page))
    click.echo(f"report: {path} ({path.stat().st_size / 1000:,.0f} kB)")


def _varied(folder: Path, entry: ListedRun) -> tuple[str, ...]:
    """Return the config keys that a sweep varies, except `_APART`; none for a run's folder."""
    try:
        varying = files.read_json(folder / "sweep.json").get("varying") or {}
        settings = read_settings(entry.run)
    except RequestError:
        return ()
    groups = [key for key in varying if key.partition(".")[0] not in _APART]
    return tuple(key for key in groups if setting(settings, key) is not None)
