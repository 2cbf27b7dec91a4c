"""`attnlab check-mechanism NAME`: whether a mechanism satisfies the contract, and what fails."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any

import click

from attnlab.config.options import failure, option_class, option_content
from attnlab.errors import RequestError, plain_text


@click.command("check-mechanism")
@click.argument("name")
def command(name: str) -> int:
    """Check that all variants of the mechanism NAME satisfy the contract of attention mechanisms.

    Prints one line for each rule of the contract, and below it what fails. The exit code is 1 if
    anything fails.

    With --config-dir FOLDER, which every command takes, NAME may be your own mechanism: it needs
    FOLDER/attention/NAME.yaml, and its module in the same folder.
    """
    from attnlab.training.tensorflow_internals import import_tensorflow

    import_tensorflow()
    logging.getLogger("tensorflow").setLevel("ERROR")  # it warns about the many retraces
    from attnlab.attention import contract

    cls, content = option_class("attention", name), option_content("attention", name) or {}
    settings = contract.settings(content)
    variants = [{**settings, **changes} for changes in contract.variants(content)]
    failed = 0
    for check in contract.CHECKS:
        calls = [functools.partial(check, functools.partial(cls, **kwargs)) for kwargs in variants]
        failed += _has_failed(str(check.__doc__).partition("\n")[0], calls)
    rules = len(contract.CHECKS)
    click.echo(f"{name} satisfies {rules - failed} of {rules} rules of the contract")
    return 1 if failed else 0


def _has_failed(rule: str, calls: Sequence[Callable[[], Any]]) -> bool:
    """Run the checks of a rule and print the result; returns whether any failed."""
    failures = []
    for call in calls:
        try:
            call()
        except Exception as error:
            is_a_sentence = isinstance(error, AssertionError | RequestError)
            failures.append(plain_text(error) if is_a_sentence else failure(error))
    click.echo(f"{'failed' if failures else 'ok':<8}{rule}")
    for text in dict.fromkeys(failures):
        click.echo(f"{'':<8}- {text}")
    return bool(failures)
