"""`attnlab compare`: groups of runs held against each other, with what chance alone could do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnlab.commands.options import runs_folder, runs_option
from attnlab.errors import RequestError, RunFailed

if TYPE_CHECKING:
    from attnlab.compare.results import Comparisons, Request

FORMATS = ("table", "md", "csv", "latex", "json")
PICTURES = (".png", ".pdf", ".svg")


@click.command("compare")
@click.option(
    "--by",
    metavar="KEYS",
    default="attention",
    show_default=True,
    help="Config keys that make the groups, with commas between: attention.score,model.cell.",
)
@click.option("--task", metavar="NAME", help="Only runs of this task.")
@click.option(
    "--where",
    metavar="KEY=VALUE",
    multiple=True,
    help="Only runs with this setting, or one of several with commas; may be repeated.",
)
@click.option("--sweep", metavar="NAME", help="Only runs of this sweep.")
@click.option(
    "--metric",
    metavar="PATH",
    help="A test metric, or a path into metrics.json such as extra.compositions.bleu.  "
    "[default: the task's main one]",
)
@click.option(
    "--reference",
    metavar="GROUP",
    help="The group that others are held against.  [default: attention none, else the group of "
    "most seeds]",
)
@click.option(
    "--geometric",
    is_flag=True,
    help="Average logarithms: geometric means, ratios to the reference.",
)
@click.option(
    "--bootstrap/--no-bootstrap",
    default=None,
    help="sacreBLEU's paired bootstrap of translations.  [default: where it takes seconds]",
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option(
    "--plot",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw curves and intervals into a .png, .pdf or .svg.",
)
@click.option("--log", is_flag=True, help="Log tables and figure to MLflow, experiment compare.")
@runs_option
def command(
    by: str,
    task: str | None,
    where: tuple[str, ...],
    sweep: str | None,
    metric: str | None,
    reference: str | None,
    geometric: bool,
    bootstrap: bool | None,
    form: str,
    plot: Path | None,
    log: bool,
    runs: str | None,
) -> None:
    """Compare groups of runs: mean over seeds with its interval, and whether it could be luck.

    Completed runs are grouped by --by, one run for each seed. Each group is held against the
    reference on the seeds that both have: paired t test, Holm-corrected. Forecasts also get
    Diebold and Mariano's test over test windows, translations the paired bootstrap over sentences.
    """
    folder = runs_folder(runs)
    if runs and not folder.is_dir():
        raise RequestError(f"--runs: expected an existing folder, got {runs!r}.")
    _check_picture(plot)
    from attnlab.compare.comparison import compare
    from attnlab.compare.conditions import read_conditions
    from attnlab.compare.results import Request
    from attnlab.compare.runs import Selection

    request = Request(
        by=_keys(by),
        selection=Selection(task, sweep, read_conditions(where)),
        metric=metric,
        reference=reference,
        geometric=geometric,
        bootstrap=bootstrap,
    )
    found = compare(folder, request)
    _show(found, form)
    if plot:
        _draw(found, plot)
        click.echo(f"figure: {plot}", err=form != "table")
    if log:
        run_id = _log(found, request, folder, plot)
        click.echo(f"logged to MLflow: experiment compare, run {run_id}", err=form != "table")


def _keys(text: str) -> tuple[str, ...]:
    keys = tuple(dict.fromkeys(key.strip() for key in text.split(",") if key.strip()))
    if not keys:
        raise RequestError(f"--by: expected config keys such as attention, got {text!r}.")
    return keys


def _check_picture(plot: Path | None) -> None:
    if plot and plot.suffix.lower() not in PICTURES:
        raise RequestError(f"--plot: expected a file of {', '.join(PICTURES)}, got {str(plot)!r}.")


def _show(found: Comparisons, form: str) -> None:
    from attnlab.compare import formats as comparison_formats

    if form == "table":
        from attnlab.compare.table import print_comparisons

        return print_comparisons(found)
    write: dict[str, Any] = {
        "md": comparison_formats.markdown,
        "csv": comparison_formats.comma_separated,
        "latex": comparison_formats.latex,
        "json": comparison_formats.as_json,
    }
    click.echo(write[form](found).rstrip("\n"))
    if form == "csv":
        warnings = [text for each in found.tasks for text in each.warnings]
        for text in [*warnings, *(f"left out: {text}" for text in found.left_out)]:
            click.echo(f"attnlab: {text}", err=True)
    return None


def _draw(found: Comparisons, path: Path) -> None:
    from attnlab.compare.plots import draw_comparisons

    try:
        draw_comparisons(found, path)
    except OSError as error:
        raise RequestError(
            f"--plot: expected a file that can be written, got {str(path)!r} "
            f"({error.strerror or error})."
        ) from error


def _log(found: Comparisons, request: Request, runs: Path, plot: Path | None) -> str:
    """Send the tables and the figure to MLflow; returns the run's id there."""
    import tempfile
    import time

    from attnlab.compare import formats as comparison_formats
    from attnlab.records.mlflow.copying import Copy
    from attnlab.records.mlflow.parameters import flatten
    from attnlab.records.mlflow.settings import default_uri
    from attnlab.records.mlflow.snapshot import Measured, Snapshot
    from attnlab.records.mlflow.store import Store

    asked = {
        "by": ",".join(request.by),
        "metric": request.metric or "main",
        "task": request.selection.task or "all",
        "sweep": request.selection.sweep or "all",
        "where": dict(request.selection.where),
        "reference": {each.task: each.reference for each in found.tasks},
        "geometric": request.geometric,
    }
    now = round(1000 * time.time())
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        files = {
            "comparison.md": comparison_formats.markdown(found),
            "comparison.csv": comparison_formats.comma_separated(found),
            "comparison.json": comparison_formats.as_json(found),
        }
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        figure = plot or folder / "comparison.png"
        if not plot:
            _draw(found, figure)
        snapshot = Snapshot(
            folder=runs.absolute(),
            experiment="compare",
            name=f"compare-{asked['by']}",
            status="FINISHED",
            started=now,
            ended=now,
            params=flatten(asked),
            tags={"attnlab.kind": "compare", "attnlab.folder": str(runs.absolute())},
            measured=[Measured(0, now, _tracked(found))],
            files={path.name: path for path in (*(folder / name for name in files), figure)},
        )
        try:
            store = Store(default_uri(runs), runs / "artifacts")
            with store.explained():
                copy = Copy(store)
                copy.add(snapshot)
        except RequestError as error:
            raise RunFailed(f"--log: MLflow did not take the comparison: {error}") from error
    return copy.run_id


def _tracked(found: Comparisons) -> dict[str, float]:
    """Means by name, so that comparisons can be looked at side by side."""
    return {
        f"{each.task}/{row.group.label.replace(' / ', '/')}_{each.metric.path}": row.interval.mean
        for each in found.tasks
        for row in each.rows
    }
