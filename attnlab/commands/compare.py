"""`attnlab compare`: which group of runs is better, and whether chance alone explains it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnlab.commands.options import (
    check_figure,
    choice_options,
    chosen_runs,
    keys,
    runs_option,
    save_figure,
)
from attnlab.comparison.selection import Filters

if TYPE_CHECKING:
    from attnlab.comparison.comparison import Comparisons


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
    "--format",
    "form",
    type=click.Choice(["table", "md", "csv", "latex", "json"]),
    default="table",
    show_default=True,
)
@click.option(
    "--plot",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw learning curves and intervals into a .png, .pdf or .svg file.",
)
@runs_option
def command(
    filters: Filters, form: str, plot: Path | None, runs: str | None, **options: Any
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
    comparisons = compared(filters, runs, **options)
    from attnlab.comparison import tables

    if form == "table":
        tables.print_comparisons(comparisons)
    else:
        click.echo(tables.WRITERS[form](comparisons).rstrip("\n"))
    if form in ("csv", "json"):  # they have no place for warnings
        left_out = (f"left out: {text}" for text in comparisons.left_out)
        for text in [*(text for task in comparisons.tasks for text in task.warnings), *left_out]:
            click.echo(f"attnlab: {text}", err=True)
    if plot:
        from attnlab.comparison.charts import comparison_figure

        save_figure(comparison_figure(comparisons), plot, "--plot")


def compared(
    filters: Filters,
    runs: str | Path | None,
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
        **options: The other fields of `comparison.comparison.Options`.

    Raises:
        RequestError: There are no such runs, or no such key, metric or reference.
    """
    chosen = chosen_runs(filters, runs, everything)
    from attnlab.comparison.comparison import Options, compare

    keywords = {"by": keys(by, "--by"), "within": keys(within, "--within"), **options}
    comparisons = compare(chosen.runs, Options(**keywords))
    return comparisons._replace(left_out=[*comparisons.left_out, *chosen.left_out])
