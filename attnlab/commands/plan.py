"""`attnlab plan`: how many seeds a comparison needs, and how long they take."""

from __future__ import annotations

from typing import Any

import click

from attnlab.commands.options import choice_options, chosen_runs, keys, runs_option
from attnlab.comparison.selection import Filters


@click.command("plan")
@click.option(
    "--difference",
    metavar="SIZE",
    required=True,
    help="The difference to find: a number in the metric's units, or a percentage of the "
    "reference's mean such as 5%.",
)
@click.option(
    "--power",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.8,
    show_default=True,
    help="Probability of finding the difference if it exists.",
)
@choice_options
@runs_option
def command(
    difference: str,
    power: float,
    filters: Filters,
    by: str,
    within: str | None,
    runs: str | None,
    everything: bool,
    **choices: Any,
) -> None:
    """Estimate how many seeds compare needs to find a difference, and how long they take.

    It takes existing runs, at least two seeds of each group, and the power of the paired t test
    (Colas, Sigaud and Oudeyer 2018). Few seeds say little, so each number comes with a range.
    """
    from attnlab.comparison.comparison import Options
    from attnlab.comparison.plan import plan, print_plans

    chosen = chosen_runs(filters, runs, everything)
    options = Options(keys(by, "--by"), keys(within, "--within"), **choices)
    plans, left_out = plan(chosen.runs, options, difference, power)
    print_plans(plans, [*left_out, *chosen.left_out], difference, power)
