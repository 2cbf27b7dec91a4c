"""Hydra's own flags with a value."""

from __future__ import annotations

import pytest

from attnlab.cli import main


@pytest.mark.parametrize("words", [["--info", "task=sunspots"], ["task=sunspots", "-i", "all"]])
def test_hydras_info_accepts_overrides(attnlab, words):
    """Fixed: argparse took the next word as the value, and printed its usage."""
    code, out, err = attnlab(*words)
    assert (code, err) == (0, "")
    assert "Installed Hydra Plugins" in out
    assert "name: sunspots" in out


@pytest.mark.parametrize("words", [["-i", "confi"], ["--info=task=fib"], ["--cfg", "jobb"]])
def test_a_wrong_value_is_one_sentence(capfd, words):
    assert main(words) == 2
    out, err = capfd.readouterr()
    flag, _, given = "=".join(words).partition("=")
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"attnlab: {flag}: expected one of ")
    assert err.endswith(f", got {given}.\n")
