"""What TAB offers in bash: commands, settings and options, and what click knows of a command."""

from __future__ import annotations

from collections.abc import Iterable

from click.shell_completion import ShellComplete, split_arg_string

from attnlab.commands import command, verbs
from attnlab.config.options import options
from attnlab.config.sections import GROUPS
from attnlab.config.settings import settings
from attnlab.process import variable

BASH = """\
_attnlab() { mapfile -t COMPREPLY < <(COMP_LINE=$COMP_LINE attnlab -sc query=bash); }
COMP_WORDBREAKS=${COMP_WORDBREAKS//=}
complete -o nospace -o default -F _attnlab attnlab"""


def completions(flags: Iterable[str]) -> list[str]:
    """Return the completions of the last word of `$COMP_LINE`."""
    line = variable("COMP_LINE") or ""
    words = split_arg_string(line)[1:]
    start = "" if line.endswith(" ") or not words else words.pop()
    if words and words[0] in verbs():
        completer = ShellComplete(command(words[0]), {}, words[0], "")
        items = completer.get_completions(words[1:], start)
        return [item.value for item in items if item.type == "plain"]  # not: any file
    if start.startswith("-"):
        return [flag for flag in flags if flag.startswith(start)]
    group = start.partition("=")[0]
    offers = [] if words else [*verbs(), "help", "train"]
    offers += [f"{group}={name}" for name in options(group)] if group in GROUPS else []
    offers += [
        f"{key}=" for key in (*GROUPS, *dict.fromkeys(setting.key for setting in settings()))
    ]
    return [offer for offer in offers if offer.startswith(start)]
