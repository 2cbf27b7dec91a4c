"""Hydra's own flags that know their values."""

from __future__ import annotations

import pytest

from attnlab.cli import main


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--info", "task=sunspots"], "Installed Hydra Plugins"),
        (["-i", "config", "task=sunspots"], "name: sunspots"),
        (["task=sunspots", "--info=config"], "name: sunspots"),
    ],
    ids=str,
)
def test_hydras_account_of_itself_takes_overrides(capfd, words, shown):
    """Until now argparse took the next word for the value, and printed its usage."""
    assert main(words) == 0
    out, err = capfd.readouterr()
    assert (shown in out, err) == (True, "")


@pytest.mark.parametrize(
    "words", [["-i", "confi"], ["--info=task=fib"], ["--cfg", "jobb"]], ids=str
)
def test_a_wrong_value_is_one_sentence(capfd, words):
    assert main(words) == 2
    out, err = capfd.readouterr()
    flag, _, given = "=".join(words).partition("=")
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"attnlab: {flag}: expected one of ")
    assert err.endswith(f", got {given}.\n")
