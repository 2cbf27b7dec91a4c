"""The overview that `attnlab --help` prints, at most 80 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from attnlab.config.options import options

_GROUPS = {
    "task": "what is learned, from which data",
    "attention": "the mechanism",
    "data": "the corpus, of tasks of texts and images",
    "model": "the architecture around it",
    "optimizer": "the update rule",
    "schedule": "the learning rate over the run",
    "experiment": "named presets",
    "search": "named searches of settings, with -m",
}

_TEXT = """\
attnlab: see, train and fairly compare attention mechanisms.

Usage:
  attnlab KEY=VALUE ...                 one run
  attnlab -m KEY=VALUE,VALUE ...        a sweep over every combination
  attnlab COMMAND [...]                 see attnlab COMMAND --help

Examples:
  attnlab task=fib attention=bahdanau
  attnlab task=sunspots attention=luong_local attention.window=6 seed=1
  attnlab -m task=sunspots attention=none,bahdanau seed=0,1,2,3,4
  attnlab compare --by attention
  attnlab forecast latest --steps 12
  attnlab task=translate attention=multi_head
  attnlab translate latest "The old dog sleeps."

Commands:
{verbs}

Groups (GROUP=NAME chooses, GROUP.KEY=VALUE changes one setting):
{groups}

Everywhere: seed, trainer.epochs, trainer.batch_size, trainer.patience,
  tracking.enabled, tracking.uri, tracking.weights, paths.runs
In a sweep: sweep.name, sweep.dry_run, sweep.retry_failed, sweep.fail_fast,
  hydra/launcher=joblib, hydra.launcher.n_jobs
With a run or a sweep: -q prints only its folder, -v details, too
With every command: --config-dir FOLDER finds your FOLDER/attention/NAME.yaml
  attnlab explain KEY says what a setting means, its range and default.
  attnlab --cfg job [KEY=VALUE ...] shows the whole configuration.
  attnlab --hydra-help shows Hydra's own flags.
  eval "$(attnlab -sc install=bash)" completes with TAB in bash.
"""


def overview(verbs: Mapping[str, str]) -> str:
    """The text of `attnlab --help`; `verbs` have one line of help each."""
    lines = "\n".join(f"  {verb:<15} {line}" for verb, line in verbs.items())
    groups = "\n".join(_group(group, line) for group, line in _GROUPS.items())
    return _TEXT.format(verbs=lines, groups=groups).rstrip()


def _group(group: str, line: str) -> str:
    names = ", ".join(options(group))
    body = textwrap.fill(names, 78, initial_indent="      ", subsequent_indent="      ")
    return f"  {group:<10} {line}\n{body}"
