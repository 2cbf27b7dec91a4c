"""`attnlab report`: runs on one HTML page, readable offline."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from attnlab import __version__
from attnlab.commands import options
from attnlab.comparison.selection import read_settings, setting
from attnlab.config.options import in_prose
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
    A slider shows attention epoch by epoch; computing it takes some seconds per group. A page in
    the folder of a tracked run or sweep is also logged to MLflow.
    """
    folder = options.runs_folder(runs)
    if out and out.suffix != ".html":
        raise RequestError(f"--out={out}: must end with .html.")
    if len(names) > 1 and not out:
        raise RequestError("--out: name the file of the page, because there are several runs.")
    listed = list_runs(folder)
    sweeps = sweep_names(listed)
    chosen: dict[Path, ListedRun] = {}
    for name in names:
        is_sweep = name in sweeps
        for entry in runs_of_sweep(listed, name) if is_sweep else [_run(name, folder, sweeps)]:
            chosen[entry.run.path] = entry
    if not chosen:
        raise RequestError(f"SWEEP: {names[0]} has no runs yet.")
    entries = sorted(chosen.values(), key=lambda e: (str(e.status["started"]), e.run.name))
    status, is_one = entries[0].status, len(names) == 1
    sweep = folder.absolute() / "sweeps" / names[0] if is_one and names[0] in sweeps else None
    varied = ",".join(_varied(sweep, entries[0])) if sweep else ""
    compared = options.keys(by or varied or "attention", "--by")
    tasks = sorted({str(entry.status["task"]) for entry in entries})
    title = f"{', '.join(tasks)} by {', '.join(compared)}"
    if is_one and sweep is None:
        title = f"{status['task']} · {in_prose(str(status['attention']))} · seed {status['seed']}"
    place = (sweep or entries[0].run.path) / REPORT
    path = (out or place).absolute()
    from attnlab.comparison.comparison import Options
    from attnlab.report.page import runs_page
    from attnlab.views.html.page import page_text

    about = f"{len(entries)} run{'s' * (len(entries) > 1)}"
    about += f" of sweep {sweep.name}" if sweep else ""
    page = runs_page(
        title,
        entries,
        Options(compared, metric=metric),
        made=f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
        about=f"attnlab {__version__}, {about}",
        announce=lambda text: click.echo(f"attnlab: {text}", err=True),
    )
    text = page_text(page)
    with explained(f"--out: {path} can't be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_text(path, text)
    if is_one and path == place.absolute():
        from attnlab.runner.follow import complete, complete_sweep

        ours = [entry.run for entry in entries]
        for problem in complete_sweep(sweep, ours) if sweep else complete(ours[0]):
            click.echo(f"attnlab: warning: {problem}", err=True)
    click.echo(f"report: {path} ({path.stat().st_size / 1000:,.0f} kB)")


def _run(name: str, folder: Path, sweeps: list[str]) -> ListedRun:
    try:
        return ListedRun.of(options.find(name, folder, "a completed run", options.is_completed))
    except NoSuchRun as error:
        hint = did_you_mean(name, sweeps) or f" Sweeps: {', '.join(sweeps) or 'none'}."
        raise RequestError(f"{error}{hint}") from error


def _varied(sweep: Path, entry: ListedRun) -> list[str]:
    """List the config keys that a sweep varies, except `_APART`."""
    try:
        varying = files.read_json(sweep / "sweep.json").get("varying") or {}
        settings = read_settings(entry.run)
    except RequestError:
        return []
    groups = [key for key in varying if key.partition(".")[0] not in _APART]
    return [key for key in groups if setting(settings, key) is not None]
