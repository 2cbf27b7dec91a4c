"""`attnlab check-mechanism NAME`: whether a mechanism satisfies the contract, and what fails."""

from __future__ import annotations

import functools
import logging

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
    from attnlab.config.composing import check_option
    from attnlab.internals import import_tensorflow

    import_tensorflow()
    logging.getLogger("tensorflow").setLevel("ERROR")  # it warns about the many retraces
    from attnlab.attention import contract

    cls, content = option_class("attention", name), option_content("attention", name) or {}
    check_option("attention", name)
    defaults = contract.settings(content)
    variants = [{**defaults, **changes} for changes in contract.variants(content)]
    failed, rules = 0, len(contract.CHECKS)
    for check in contract.CHECKS:
        failures = []
        for settings in variants:
            try:
                check(functools.partial(cls, **settings))
            except Exception as error:
                is_a_sentence = isinstance(error, AssertionError | RequestError)
                failures.append(plain_text(error) if is_a_sentence else failure(error))
        failed += bool(failures)
        rule = str(check.__doc__).partition("\n")[0]
        click.echo(f"{'failed' if failures else 'ok':<8}{rule}")
        for text in dict.fromkeys(failures):
            click.echo(f"{'':<8}- {text}")
    click.echo(f"{name} satisfies {rules - failed} of {rules} rules of the contract")
    return 1 if failed else 0
