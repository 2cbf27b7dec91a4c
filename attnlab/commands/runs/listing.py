"""`attnlab runs`: a table of runs; `runs rm` and `runs sync` have modules of their own."""

from __future__ import annotations

import json

import click
from click.core import ParameterSource

from attnlab.commands.options import (
    filter_options,
    form_options,
    listed_runs,
    runs_folder,
    runs_option,
)
from attnlab.commands.runs.rm import remove
from attnlab.commands.runs.sync import sync
from attnlab.commands.runs.table import (
    SORTS,
    arranged,
    check_test_metric,
    print_errors,
    print_rows,
    row,
)
from attnlab.comparison.selection import Filters, none_fits
from attnlab.errors import RequestError
from attnlab.terminal import plain_console


@click.group("runs", invoke_without_command=True)
@filter_options()
@click.option(
    "--sort",
    type=click.Choice(SORTS),
    default="started",
    show_default=True,
    help="Sort by this column. With best, test and skill the best run comes first.",
)
@click.option(
    "--metric",
    metavar="NAME",
    help="Show this test metric, such as mase.  [default: the task's main metric]",
)
@click.option("--reverse", is_flag=True, help="Reverse the order.")
@click.option(
    *("--limit",),
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Show at most this many runs: the newest, or with --sort the first.",
)
@form_options("table", "json")
@runs_option
@click.pass_context
def command(
    context: click.Context,
    filters: Filters,
    sort: str,
    metric: str | None,
    reverse: bool,
    limit: int,
    form: str,
    runs: str | None,
) -> None:
    """List runs, the newest last: state, task, attention, seed, epoch, result, age.

    The states are: completed; running; failed (an error ended it); killed (attnlab resume continues
    it); pruned (a search stopped it early); damaged (its folder is incomplete).
    """
    if context.invoked_subcommand:
        return _refuse_options(context)
    found = listed_runs(runs)
    chosen = filters.apply(found)
    metric = metric.removeprefix("test.") if metric else None
    if metric and chosen:
        check_test_metric(metric, chosen)
    by_age = sort == "started"
    # Reading results takes time: only those of the runs shown are read, unless they are sorted by.
    shown = [row(each, metric) for each in (chosen[-limit:] if by_age else chosen)]
    rows = arranged(shown, sort, reverse)[:limit]
    if form == "json":
        click.echo(json.dumps(rows, indent=2))
    elif rows:
        print_rows(rows, metric)
        if hidden := len(chosen) - len(rows):
            which = "older" if by_age else "more"
            plain_console().print(f"{hidden} {which} runs are not shown; --limit shows more.")
        if filters.failed or {"failed", "damaged"} & set(filters.states):
            print_errors(rows)
    elif found:
        click.echo(none_fits(filters, found))
    else:
        folder = runs_folder(runs)
        click.echo(f"No runs in {folder} yet. Start one: attnlab task=fib attention=bahdanau")


command.add_command(remove)
command.add_command(sync)


def _refuse_options(context: click.Context) -> None:
    """Refuse options before `rm` or `sync`, where they would have no effect."""
    verb = context.invoked_subcommand
    for parameter in context.command.params:
        if context.get_parameter_source(parameter.name or "") == ParameterSource.COMMANDLINE:
            option = parameter.opts[0]
            raise RequestError(f"{option}: write it after {verb}: attnlab runs {verb} {option} ...")
