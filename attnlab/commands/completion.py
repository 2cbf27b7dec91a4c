"""What TAB offers: commands, their options, runs, and Hydra's completion of overrides."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
from collections.abc import Callable, Collection, Iterator

from click.shell_completion import ShellComplete

from attnlab.commands import command, verbs
from attnlab.process import variable

# Keys that Hydra offers, but that users may not set.
_NOT_FOR_USERS = ("_target_=", ".rules.")
# Hydra completes nothing if any word has one of these: lists of values, and quotes.
_NOT_FOR_HYDRA = {*" ,()'\""}


def complete(
    query: list[str],
    flags: Collection[str],
    overrides: Callable[[list[str]], list[str]],
    hydra: Callable[[list[str]], object],
) -> None:
    """Print the completions of the last word of `$COMP_LINE`; on an error, print nothing.

    Args:
        query: The word for Hydra that names the shell.
        flags: The flags of the command line.
        overrides: Returns the overrides among some words.
        hydra: Runs Hydra with some arguments.
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
    """Split a line as the shell does; with an open quote, at white space."""
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
