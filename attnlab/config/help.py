"""What `attnlab --help` prints: a screen of 24 lines, at most 80 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from attnlab.config.options import options

# Commands by purpose; commands that are not listed here are predictions of the kinds.
_PURPOSES = {
    "Train": "train resume study plan estimate",
    "Look": "runs compare report plot heads evaluate ui",
    "Predict": "vocabulary summarize export",
    "Set up": "data explain check-mechanism env",
}
_TEXT = """\
attnlab: train attention mechanisms, see where they look, compare them fairly.

  attnlab task=fib attention=bahdanau                              one run
  attnlab -m task=sunspots attention=none,bahdanau seed=0,1,2,3,4  a sweep
  attnlab compare                                                  is it luck?
  attnlab task=translate attention=bahdanau                        and after it:
  attnlab translate latest "The old dog sleeps." --attention map.png

{names}

A run is OPTION=NAME and KEY=VALUE, such as attention=luong_local
attention.window=6 trainer.epochs=50; -q prints its folder only, -v details.
attnlab COMMAND --help: a command. attnlab explain: all settings; explain KEY:
one of them; explain attention (task, model, data, experiment): the options."""


def overview(verbs: Mapping[str, str]) -> str:
    """Return the first screen; `verbs` have one line of help each."""
    names = {purpose: words.split() for purpose, words in _PURPOSES.items()}
    listed = {word for words in names.values() for word in words}
    names["Predict"] = [*(verb for verb in verbs if verb not in listed), *names["Predict"]]
    names |= {"Tasks": options("task"), "Mechanisms": options("attention")}
    return _TEXT.format(
        names="\n".join(
            textwrap.fill(f"{title:<11} {', '.join(words)}", 80, subsequent_indent=" " * 12)
            for title, words in names.items()
        )
    )
