"""`attnlab runs`: a table of runs; `rm` and `sync` stand in modules of their own."""

from __future__ import annotations

import json
from typing import Any

import click
from click.core import ParameterSource

from attnlab.commands.filters import Filters, filter_options, none_fits
from attnlab.commands.options import runs_folder, runs_option
from attnlab.commands.runs_rm import remove
from attnlab.commands.runs_sync import sync
from attnlab.commands.runs_table import (
    SORTS,
    arranged,
    plain_console,
    print_errors,
    print_rows,
    row,
)
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun, list_runs


@click.group("runs", invoke_without_command=True)
@filter_options()
@click.option(
    "--sort",
    type=click.Choice(SORTS),
    default="started",
    show_default=True,
    help="Order; best, test and skill begin with the best run.",
)
@click.option("--reverse", is_flag=True, help="The other way round.")
@click.option(
    *("--limit",),
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="How many are shown: the newest, or with --sort the first.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@runs_option
@click.pass_context
def command(
    context: click.Context,
    filters: Filters,
    sort: str,
    reverse: bool,
    limit: int,
    as_json: bool,
    runs: str | None,
) -> None:
    """List runs, the newest last: state, task, attention, seed, epoch, result, age.

    A state says of a run: completed; running; failed, by an error; killed, by someone or something,
    to be gone on with by attnlab resume; pruned, given up by a search; damaged, its folder is
    incomplete.
    """
    if context.invoked_subcommand:
        return _refuse_options(context)
    found = listed(runs)
    chosen = filters.apply(found)
    rows = _shown(chosen, sort, reverse, limit)
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif rows:
        _print(rows, len(chosen) - len(rows), newest=sort == "started")
        if filters.failed or {"failed", "damaged"} & set(filters.states):
            print_errors(rows)
    elif found:
        click.echo(none_fits(filters, found))
    else:
        folder = runs_folder(runs)
        click.echo(f"No runs in {folder} yet. Start one: attnlab task=fib attention=bahdanau")


command.add_command(remove)
command.add_command(sync)


def listed(runs: str | None) -> list[ListedRun]:
    """All runs of the folder that `--runs` names.

    Raises:
        RequestError: there is no such folder.
    """
    folder = runs_folder(runs)
    if runs and not folder.is_dir():
        raise RequestError(f"--runs: expected an existing folder, got {runs!r}.")
    return list_runs(folder)


def _refuse_options(context: click.Context) -> None:
    """Refuse what stands before `rm` or `sync`, where it would be without effect."""
    verb = context.invoked_subcommand
    for parameter in context.command.params:
        if context.get_parameter_source(parameter.name or "") == ParameterSource.COMMANDLINE:
            option = parameter.opts[0]
            raise RequestError(
                f"{option}: expected behind {verb}: attnlab runs {verb} {option} ..."
            )


def _shown(chosen: list[ListedRun], sort: str, reverse: bool, limit: int) -> list[dict[str, Any]]:
    """The rows to show; results are read for no others unless they decide which these are."""
    if sort == "started":
        return arranged([row(entry) for entry in chosen[-limit:]], sort, reverse)
    return arranged([row(entry) for entry in chosen], sort, reverse)[:limit]


def _print(rows: list[dict[str, Any]], hidden: int, newest: bool) -> None:
    print_rows(rows)
    if hidden:
        which = "older" if newest else "more"
        plain_console().print(f"{hidden} {which} runs are not shown; --limit shows more.")
