"""What `attnlab --help` prints: a screen of 24 lines, and topics; at most 80 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from attnlab.config.options import options

# Commands by purpose; commands that are not listed here are predictions of the kinds.
_WANTS = {
    "Train": "train resume study plan estimate",
    "Look": "runs compare report plot heads evaluate ui",
    "Predict": "vocabulary summarize export",
    "Set up": "data explain check-mechanism env",
}
_TOPICS = {"tasks": "task", "mechanisms": "attention", "corpora": "data", "presets": "experiment"}
_TRAIN = "one run, as attnlab KEY=VALUE ..."
_TEXT = """\
attnlab: train attention mechanisms, see where they look, compare them fairly.

  attnlab task=fib attention=bahdanau                              one run
  attnlab -m task=sunspots attention=none,bahdanau seed=0,1,2,3,4  a sweep
  attnlab compare                                                  is it luck?
  attnlab task=translate attention=bahdanau                        and after it:
  attnlab translate latest "The old dog sleeps." --attention map.png

{commands}

{names}

A run is OPTION=NAME and KEY=VALUE, such as attention=luong_local
attention.window=6 trainer.epochs=50. More: attnlab COMMAND --help;
attnlab --help commands | tasks | mechanisms | corpora | model | optimizer |
schedule | presets | search | settings | KEY
"""
_SETTINGS = """\
A run:       seed, trainer.epochs, trainer.batch_size, trainer.patience,
             tracking.enabled, tracking.uri, tracking.weights, paths.runs
A sweep, -m: sweep.name, sweep.dry_run, sweep.retry_failed,
             hydra/launcher=joblib, hydra.launcher.n_jobs
Both:        -q prints the folder only, -v prints details
Everywhere:  --config-dir FOLDER finds your FOLDER/attention/NAME.yaml

attnlab explain                    every setting
attnlab explain KEY                what it means, its range and its default
attnlab --cfg job [KEY=VALUE ...]  the whole configuration of a run
eval "$(attnlab -sc install=bash)" completes with TAB in bash
"""


def overview(verbs: Mapping[str, str]) -> str:
    """Return the first screen; `verbs` have one line of help each."""
    present = {*verbs, "train"}
    wants = {want: [w for w in words.split() if w in present] for want, words in _WANTS.items()}
    listed = {word for words in wants.values() for word in words}
    wants["Predict"] = [*(verb for verb in verbs if verb not in listed), *wants["Predict"]]
    commands = [_paragraph(want, words) for want, words in wants.items()]
    names = [_paragraph(topic.capitalize(), options(_TOPICS[topic])) for topic in _TOPICS]
    return _TEXT.format(commands="\n".join(commands), names="\n".join(names[:2])).rstrip()


def topic(word: str, verbs: Mapping[str, str]) -> str | None:
    """Return the text of `--help commands` and `--help settings`; None of another word."""
    if word == "settings":
        return _SETTINGS.rstrip()
    if word in ("commands", "command"):
        return "\n".join(f"{verb:<15} {line}" for verb, line in {"train": _TRAIN, **verbs}.items())
    return None


def group_of(word: str) -> str:
    """Return the group that a topic lists, such as `attention` for `mechanisms`; else the word."""
    return _TOPICS.get(word, word)


def _paragraph(title: str, words: list[str]) -> str:
    text = f"{title:<11} {', '.join(words)}"
    return textwrap.fill(text, 80, subsequent_indent=" " * 12)
