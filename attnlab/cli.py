"""The command line: a command runs its module, all other words configure a run or a sweep.

Imports nothing heavy, so that help and error messages appear at once.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import select
import shlex
import sys
from collections.abc import Callable
from functools import partial

from attnlab.config.options import VERBOSITY, key_of, read_arguments, without_config_dirs
from attnlab.errors import RequestError, RunFailed, SweepFailed, listen_for_interrupts
from attnlab.records import logs
from attnlab.records.environment import TYPED

DONE, FAILED, WRONG_REQUEST, INTERRUPTED = 0, 1, 2, 130
_DEBUG = "ATTNLAB_DEBUG"


def main(arguments: list[str] | None = None) -> int:
    """Run one command; without arguments that of this process, which then ends.

    Ending runs exit handlers and flushes output, but skips the rest of Python's shutdown, which
    takes a second with TensorFlow loaded.

    Returns:
        Exit code: 0 done, 1 the run or command failed, 2 the request was wrong, 130 interrupted.
    """
    is_process = arguments is None
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if is_process:
        os.environ["PYTHONSAFEPATH"] = "1"  # for child processes, see `attnlab.__main__`
        # OpenBLAS's threads would compete with TensorFlow's.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        if sys.stdout is not None:
            sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    listen_for_interrupts()
    os.environ[TYPED] = shlex.join(["attnlab", *arguments])
    try:
        result = _requested(arguments)()
        code = result if isinstance(result, int) else DONE
        sys.stdout.flush()  # a closed pipe must raise here, not while Python shuts down
    except (Exception, KeyboardInterrupt) as error:
        code = _report(error)
    if is_process:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    return code


def _requested(arguments: list[str]) -> Callable[[], object]:
    """Return what a command line requests, as a function that may return an exit code."""
    levels = [VERBOSITY[word] for word in arguments if word in VERBOSITY]
    logs.verbosity = levels[-1] if levels else 0
    words = without_config_dirs([word for word in arguments if word not in VERBOSITY])
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    first = words[0] if words else "--help"
    is_verb = first[:1] not in ("-", "+", "~") and "=" not in first
    verbs = _verbs() if is_verb else {}
    if first in verbs:
        return partial(_run_verb, first, words[1:])
    if first == "--version":
        from attnlab import __version__

        return partial(print, f"attnlab {__version__}")
    if first == "-sc":
        from attnlab.commands import complete

        return partial(print, complete(words[-1]))
    if is_verb and first != "train":
        from attnlab.config.rules import did_you_mean

        valid = sorted([*verbs, "train"])
        raise RequestError(
            f"{first}: there is no such command.{did_you_mean(first, valid)} Valid: "
            f"{', '.join(valid)}. Settings are KEY=VALUE."
        )
    if {"--help", "-h"} & {first, *words}:
        from attnlab.config.settings import overview

        return partial(print, overview(_verbs()))
    return training(words[1:] if is_verb else words)


def _verbs() -> dict[str, str]:
    from attnlab.commands import verbs  # imports all kinds of task

    return verbs()


def _run_verb(verb: str, arguments: list[str]) -> int:
    import click

    from attnlab.commands import command, require_options

    try:
        called, name = command(verb), f"attnlab {verb}"
        require_options(called, arguments)
        result = called.main(arguments, prog_name=name, standalone_mode=False, obj=training)
    except click.exceptions.Abort as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # it may have a message
            raise error.__cause__ from None
        return INTERRUPTED
    except click.ClickException as error:
        raise RequestError(" ".join(error.format_message().split())) from error
    except SystemExit:  # how click reacts to a broken pipe, such as `| head`
        return FAILED if _output_is_read() else DONE
    return result if isinstance(result, int) else DONE


def training(arguments: list[str]) -> Callable[[], object]:
    """Compose a configuration; returns its run, or with `-m` its sweep, as a function to call.

    Args:
        arguments: flags and Hydra's overrides.

    Raises `RequestError` if an argument is wrong.
    """
    overrides, place, multirun, shows = read_arguments(arguments)
    for override in overrides:
        key = key_of(override).replace("hydra/", "hydra.")
        if key.startswith("hydra.") and not key.startswith("hydra.launcher"):
            raise RequestError(f"{override}: only Hydra's launcher can be set.")
        if place and key in ("experiment", "search"):
            raise RequestError(
                f"{override}: no preset can be added to --config-path, whose configuration is "
                "complete. Change settings instead, such as trainer.epochs=3 or search.space=..."
            )
        if key.startswith(("sweep.", "search", "hydra.launcher")) and not multirun:
            raise RequestError(f"{override}: this setting is for sweeps. Add -m.")
    from attnlab.config.composing import as_yaml, compose, from_hydra

    if shows:
        return partial(print, as_yaml(compose(overrides, place)), end="")
    if multirun:
        from attnlab.sweeps.run import sweep

        return partial(sweep, overrides, place)
    config = from_hydra(compose(overrides, place))
    from attnlab.runner.resume import run

    return partial(run, config)


def _output_is_read() -> bool:
    """Whether the other end of standard output is still open."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return not poll.poll(0)  # reports only errors and hang-ups
    except (AttributeError, OSError, ValueError):  # no file: output is captured
        return True


def _report(error: BaseException) -> int:
    """Print what went wrong in one or two lines; returns the exit code."""
    if isinstance(error, BrokenPipeError) and not _output_is_read():
        # The reader of our output has ended, as `| head` does: this isn't an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    if os.environ.get(_DEBUG) == "1":
        import traceback

        traceback.print_exception(error)
    text, code = str(error), FAILED
    if isinstance(error, KeyboardInterrupt):
        text, code = f"interrupted: {text}" if text else "interrupted", INTERRUPTED
    elif isinstance(error, RequestError):
        code = WRONG_REQUEST
    elif isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        text, code = f"{error.filename}: file name too long.", WRONG_REQUEST
    elif isinstance(error, RunFailed):
        text = f"failed: {text}"
    elif not isinstance(error, SweepFailed):
        from attnlab.config.options import failure

        text = f"failed: {failure(error)}\nSet {_DEBUG}=1 for the traceback."
    with contextlib.suppress(BrokenPipeError):
        print(f"attnlab: {text}", file=sys.stderr, flush=True)
    return code
