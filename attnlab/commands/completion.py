"""What TAB offers: verbs, their options, runs, and what Hydra knows of overrides."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
from collections.abc import Callable, Collection, Iterator

from click.shell_completion import ShellComplete

from attnlab.commands import command, verbs
from attnlab.process import variable

# What Hydra offers, too, and no user may change.
_NOT_FOR_USERS = ("_target_=", ".rules.")
# What is in words that Hydra can't complete beside: several values, and what was quoted.
_NOT_FOR_HYDRA = {*" ,()'\""}


def complete(
    query: list[str],
    flags: Collection[str],
    overrides: Callable[[list[str]], list[str]],
    hydra: Callable[[list[str]], object],
) -> None:
    """Print what may stand at the end of `$COMP_LINE`; where that fails nothing, for TAB is silent.

    Args:
        query: the word for Hydra that names the shell.
        flags: the command line's own.
        overrides: those among some words.
        hydra: runs Hydra with some arguments.
    """
    line = variable("COMP_LINE") or ""
    words = _words(line)[1:]
    start = "" if line.endswith(" ") or not words else words.pop()
    with contextlib.suppress(Exception, SystemExit), contextlib.redirect_stderr(io.StringIO()):
        for offer in _of_verbs(words, start):
            print(offer)
        if words[:1] == ["help"] or words and words[0] in verbs():
            return
        print(*(flag for flag in flags if start[:1] == "-" and flag.startswith(start)), sep="\n")
        given = [word for word in words if word not in ("-q", "-v", "train")]
        chosen = [word for word in overrides(given) if not set(word) & _NOT_FOR_HYDRA]
        os.environ["COMP_LINE"] = " ".join(["attnlab", *chosen, start])
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            hydra(["-sc", *query])
        found = shown.getvalue().split()
        print(*(word for word in found if not word.endswith(_NOT_FOR_USERS)), sep="\n")


def _words(line: str) -> list[str]:
    """The words of a line as the shell parts it; at white space where a quote is open."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _of_verbs(words: list[str], start: str) -> Iterator[str]:
    if words in ([], ["help"]):
        yield from (verb for verb in (*verbs(), "help", "train") if verb.startswith(start))
    elif words[0] in verbs():
        completer = ShellComplete(command(words[0]), {}, words[0], "")
        items = completer.get_completions(words[1:], start)
        yield from (item.value for item in items if item.type == "plain")  # not: any file
