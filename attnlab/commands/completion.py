"""What TAB offers in bash: commands, settings and options, and what click knows of a command."""

from __future__ import annotations

import os

from click.shell_completion import ShellComplete, split_arg_string

from attnlab.commands import command, verbs
from attnlab.config.options import FLAGS, options
from attnlab.config.sections import GROUPS
from attnlab.config.settings import settings

_BASH = """\
_attnlab() { mapfile -t COMPREPLY < <(COMP_LINE=$COMP_LINE attnlab -sc query=bash); }
COMP_WORDBREAKS=${COMP_WORDBREAKS//=}
complete -o nospace -o default -F _attnlab attnlab"""


def complete(request: str) -> str:
    """Return what bash evaluates, for `install=bash`, or the completions of `$COMP_LINE`."""
    if request == "install=bash":
        return _BASH
    line = os.environ.get("COMP_LINE", "")
    words = split_arg_string(line)[1:]
    start = "" if line.endswith(" ") or not words else words.pop()
    if words and words[0] in verbs():
        completer = ShellComplete(command(words[0]), {}, words[0], "")
        items = completer.get_completions(words[1:], start)
        return "\n".join(item.value for item in items if item.type == "plain")  # not: any file
    group = start.partition("=")[0]
    offers = [*FLAGS] if start.startswith("-") else []
    offers += [] if words else [*verbs(), "help", "train"]
    offers += [f"{group}={name}" for name in options(group)] if group in GROUPS else []
    offers += [
        f"{key}=" for key in (*GROUPS, *dict.fromkeys(setting.key for setting in settings()))
    ]
    return "\n".join(offer for offer in offers if offer.startswith(start))
