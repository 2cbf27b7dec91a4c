"""The commands `attnlab VERB ...`: one module each, imported when the command runs; completion."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attnlab.errors import RequestError
from attnlab.tasks.kinds import kinds, load

if TYPE_CHECKING:
    import click

# The top help shows commands by purpose, with those of the kinds under Predict.
_VERBS = {
    **dict.fromkeys(("resume", "study", "plan", "estimate"), "Train"),
    **dict.fromkeys(
        ("runs", "compare", "report", "plot", "heads", "explore", "evaluate", "ui"), "Look"
    ),
    **dict.fromkeys(("vocabulary", "export"), "Predict"),
    **dict.fromkeys(("data", "explain", "check-mechanism", "env"), "Set up"),
    "summarize": "",  # it needs no run, and isn't shown
}
_BASH = """\
_attnlab() { mapfile -t COMPREPLY < <(COMP_LINE=$COMP_LINE attnlab -sc query=bash); }
COMP_WORDBREAKS=${COMP_WORDBREAKS//=}
complete -o nospace -o default -F _attnlab attnlab"""


def verbs() -> dict[str, str]:
    """Return the purpose of each command."""
    return {**{kind.predictions.command: "Predict" for kind in kinds()}, **_VERBS}


def command(verb: str) -> click.Command:
    """Import the click command of a verb."""
    if verb in _VERBS:
        return load(f"{__name__}.{verb.replace('-', '_')}:command")
    from attnlab.commands.predict import prediction_command

    return prediction_command(next(k for k in kinds() if k.predictions.command == verb))


def require_options(command: click.Command, arguments: list[str]) -> None:
    """Raise `RequestError` for a word KEY=VALUE if the command has the option --KEY instead."""
    from attnlab.config.sections import GROUPS

    flags = {flag: getattr(o, "is_flag", False) for o in command.params for flag in o.opts}
    words = [param for param in command.params if param.param_type_name == "argument"]
    takes_settings = any("KEY=VALUE" in (param.metavar or "") for param in words)
    for before, word in zip(["", *arguments], arguments, strict=False):
        key, equals, value = word.partition("=")
        is_setting = takes_settings and key in (*GROUPS, "seed")
        is_value = not flags.get(before, True)
        if equals and f"--{key}" in flags and not (is_setting or is_value):
            raise RequestError(f"{word}: type --{key}{f' {value}' * (not flags[f'--{key}'])}.")


def complete(request: str) -> str:
    """Return what bash evaluates, for `install=bash`, or the completions of `$COMP_LINE`."""
    if request == "install=bash":
        return _BASH
    from click.shell_completion import ShellComplete, split_arg_string

    from attnlab.config.options import FLAGS, options
    from attnlab.config.sections import GROUPS
    from attnlab.config.settings import settings

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
