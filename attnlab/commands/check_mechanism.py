"""`attnlab check-mechanism NAME`: what the contract of all mechanisms asks, and what is lacking."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any

import click

from attnlab.config.options import option_class, option_content
from attnlab.config.own_files import failure
from attnlab.errors import RequestError, plain_text


@click.command("check-mechanism")
@click.argument("name")
def command(name: str) -> int:
    """Check that the mechanism NAME keeps the promises of every mechanism, in all its variants.

    Prints a line for each promise, and what is lacking; the exit code is 1 if something is.

    With --config-dir FOLDER, which every command takes, NAME may be one of your own: it needs
    FOLDER/attention/NAME.yaml and its module next to it.
    """
    from attnlab.run.building import import_tensorflow

    import_tensorflow()
    logging.getLogger("tensorflow").setLevel("ERROR")  # which is astonished at so many traces
    from attnlab.attention import contract

    cls, content = option_class("attention", name), option_content("attention", name) or {}
    made = [{**contract.settings(content), **each} for each in contract.variants(content)]
    checks = [(contract.check_settings, [functools.partial(contract.check_settings, cls, content)])]
    for check in contract.CHECKS:
        makes = (functools.partial(cls, **each) for each in made)
        checks.append((check, [functools.partial(check, make) for make in makes]))
    said: set[str] = set()
    failed = sum(_has_failed(_promise(check), calls, said) for check, calls in checks)
    click.echo(f"{name} keeps {len(checks) - failed} of {len(checks)} promises")
    return 1 if failed else 0


def _promise(check: Callable[..., Any]) -> str:
    """What a check is about: its docstring, which `python -OO` leaves out, or its name."""
    return check.__doc__ or check.__name__.removeprefix("check_").replace("_", " ")


def _has_failed(promise: str, calls: Sequence[Callable[[], Any]], said: set[str]) -> bool:
    """Say whether a promise is kept; if it isn't, each thing that is lacking, in full once."""
    lacking = []
    for call in calls:
        try:
            call()
        except Exception as error:
            is_a_sentence = isinstance(error, AssertionError | RequestError)
            lacking.append(plain_text(error) if is_a_sentence else failure(error))
    click.echo(f"{'lacking' if lacking else 'ok':<8}{promise}")
    for text in dict.fromkeys(lacking):
        click.echo(f"{'':<8}- {'as above' if text in said else text}")
    said.update(lacking)
    return bool(lacking)
