"""A table of runs; `rm` and `sync` stand in modules of their own."""

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
from attnlab.compare.selection import Filters, none_fits
from attnlab.errors import RequestError
from attnlab.terminal import plain_console


@click.group("runs", invoke_without_command=True)
@filter_options()
@click.option(
    "--sort",
    type=click.Choice(SORTS),
    default="started",
    show_default=True,
    help="Order; best, test and skill begin with the best run.",
)
@click.option(
    "--metric",
    metavar="NAME",
    help="A test metric, such as mase.  [default: the task's main one]",
)
@click.option("--reverse", is_flag=True, help="The other way round.")
@click.option(
    *("--limit",),
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="How many are shown: the newest, or with --sort the first.",
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

    A state says of a run: completed; running; failed, by an error; killed, by someone or something,
    to be gone on with by attnlab resume; pruned, given up by a search; damaged, its folder is
    incomplete.
    """
    if context.invoked_subcommand:
        return _refuse_options(context)
    found = listed_runs(runs)
    chosen = filters.apply(found)
    metric = metric.removeprefix("test.") if metric else None
    if metric and chosen:
        check_test_metric(metric, chosen)
    by_age = sort == "started"
    # Results are read for no others than those shown, unless they decide which these are.
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
    """Refuse what stands before `rm` or `sync`, where it would be without effect."""
    verb = context.invoked_subcommand
    for parameter in context.command.params:
        if context.get_parameter_source(parameter.name or "") == ParameterSource.COMMANDLINE:
            option = parameter.opts[0]
            raise RequestError(
                f"{option}: expected behind {verb}: attnlab runs {verb} {option} ..."
            )
