"""`attnlab compare`: which group of runs is better, and whether chance alone explains it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Container
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnlab.commands.options import (
    FORMATS,
    check_figure,
    choice_options,
    chosen_runs,
    form_options,
    keys,
    runs_folder,
    runs_option,
    save_figure,
    show,
)
from attnlab.compare.selection import Filters
from attnlab.errors import RequestError, RunFailed
from attnlab.records.mlflow.settings import default_uri
from attnlab.records.mlflow.snapshot import Measured, Snapshot, mlflow_name, parameters

if TYPE_CHECKING:
    from attnlab.compare.comparison import Comparison, Comparisons, GroupResult


@click.command("compare")
@choice_options
@click.option(
    "--bootstrap/--no-bootstrap",
    default=None,
    help="Run sacreBLEU's paired bootstrap on translations.  [default: if it takes only seconds]",
)
@click.option(
    "--sequential",
    is_flag=True,
    help="Use intervals and verdicts that stay valid if you look after every seed (confidence "
    "sequences). They are wider than t intervals.",
)
@click.option(
    "--margin",
    metavar="SIZE",
    help="With --sequential: treat differences up to this size as equivalent; a number in the "
    "metric's units, or a percentage of the reference's mean such as 5%.",
)
@form_options(*FORMATS)
@click.option(
    "--plot",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw learning curves and intervals into a .png, .pdf or .svg file.",
)
@click.option("--log", is_flag=True, help="Log tables and figure to MLflow, experiment `compare`.")
@runs_option
def command(
    filters: Filters, form: str, plot: Path | None, log: bool, runs: str | None, **given: Any
) -> None:
    """Compare groups of runs: means over seeds, intervals, and whether a difference is luck.

    Without filters, the runs of the newest sweep are compared or, if a single run is newer, all
    runs of its task. --by groups the completed runs. A group has one run per seed. Each group is
    compared with the reference group on the seeds that both have, by a paired t test with Holm's
    correction. Forecasts are also tested over test windows (Diebold-Mariano), translations over
    sentences (paired bootstrap). Runs with different settings of the task or its data are compared
    separately, unless --by names these settings.

    These tests assume that you fix the number of seeds first and look once. If you look after each
    seed and stop as soon as there is a difference, use --sequential.
    """
    check_figure(plot, "--plot")
    comparisons = compared(filters, runs, **given)
    from attnlab.compare import formats

    warnings = (each.warnings for each in comparisons.tasks)
    show(comparisons, form, formats, formats.print_comparisons, warnings)
    if plot:
        _draw(comparisons, plot)
    if log:
        asked = {**given, **asdict(filters), "by": ",".join(keys(given["by"], "--by"))}
        run_id = _log(comparisons, asked, runs_folder(runs), plot)
        click.echo(f"logged to MLflow: experiment compare, run {run_id}", err=form != "table")


def compared(
    filters: Filters,
    runs: str | None,
    by: str,
    within: str | None = None,
    everything: bool = False,
    **options: Any,
) -> Comparisons:
    """Compare runs of a folder.

    Args:
        filters: Conditions on the runs; without any, the newest sweep or task is compared.
        runs: The folder; None for the default one.
        by: Keys by which runs are grouped, separated by commas.
        within: Keys, likewise; each of their values gets a comparison of its own.
        everything: Choose by the filters alone.
        **options: The other fields of `compare.comparison.Options`.

    Raises:
        RequestError: There are no such runs, or no such key, metric or reference.
    """
    chosen, _ = chosen_runs(filters, runs, everything)
    from attnlab.compare.comparison import Options, compare

    found = compare(chosen.runs, Options(keys(by, "--by"), keys(within, "--within"), **options))
    return found._replace(left_out=[*found.left_out, *chosen.left_out])


def _draw(found: Comparisons, path: Path) -> None:
    from attnlab.compare.shown import comparison_figure

    save_figure(comparison_figure(found), path, "--plot")


def _log(found: Comparisons, asked: dict[str, Any], runs: Path, plot: Path | None) -> str:
    """Log the tables and the figure to MLflow; returns the id of the MLflow run."""
    from attnlab.compare import formats
    from attnlab.records.mlflow.copying import Copy
    from attnlab.records.mlflow.store import Store

    write = {"md": formats.markdown, "csv": formats.comma_separated, "json": formats.as_json}
    with tempfile.TemporaryDirectory() as scratch:
        files = [Path(scratch, f"comparison.{ending}") for ending in write]
        for path, text in zip(files, write.values(), strict=True):
            path.write_text(text(found), encoding="utf-8")
        if not plot:
            plot = Path(scratch, "comparison.png")
            _draw(found, plot)
        snapshot = _snapshot(found, asked, runs.absolute(), [*files, plot])
        try:
            store = Store(default_uri(runs), runs / "artifacts")
            with store.explained():
                copy = Copy(store)
                copy.add(snapshot)
        except RequestError as error:
            raise RunFailed(f"--log: the comparison can't be logged: {error}") from error
    return copy.run_id


def _snapshot(found: Comparisons, asked: dict[str, Any], runs: Path, files: list[Path]) -> Snapshot:
    """Return the content of the MLflow run: each mean is a metric, so MLflow can chart them."""
    means: dict[str, float] = {}
    for each in found.tasks:
        for result in each.results:
            if (mean := result.interval.mean) is not None:
                means[_free_name(each, result, means)] = mean
    references = {_part(each.name): each.reference for each in found.tasks}
    params = parameters({**asked, "reference": references})
    now = round(1000 * time.time())
    return Snapshot(
        folder=runs,
        experiment="compare",
        name=f"compare-{asked['by']}",
        status="FINISHED",
        started=now,
        ended=now,
        params={mlflow_name(key): value for key, value in params.items()},
        tags={"attnlab.kind": "compare", "attnlab.folder": str(runs)},
        measured=[Measured(0, now, means)],
        files={path.name: path for path in files},
    )


def _free_name(comparison: Comparison, result: GroupResult, taken: Container[str]) -> str:
    """Name the metric for the mean of a group in MLflow."""
    parts = [comparison.name, *(value or "-" for value in result.group.key)]
    text = f"{'/'.join(map(_part, parts))}_{comparison.metric.path}"
    name, number = mlflow_name(text), 1
    while name in taken:  # names may collide after `mlflow_name` replaced characters or cut them
        number += 1
        name = mlflow_name(f"{number} {text}")
    return name


def _part(text: str) -> str:
    """Make a text usable as one part of a name with slashes."""
    return text.replace("/", "_")
