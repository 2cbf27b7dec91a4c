"""The command line: commands run their module, all other arguments go to Hydra.

Imports nothing heavy, so that help and error messages appear at once.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import select
import shlex
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn, TextIO

from attnlab.config.arguments import (
    FLAGS,
    VERBOSITY,
    key_of,
    parted,
    refuse_class,
    without_config_dirs,
)
from attnlab.errors import RequestError, RunFailed, SweepFailed, explained
from attnlab.process import set_up, variable
from attnlab.records import logs
from attnlab.records.environment import TYPED
from attnlab.run.command import listen_for_interrupts, profiled
from attnlab.text.reading import is_utf8, printable

if TYPE_CHECKING:
    from omegaconf import DictConfig

DONE, FAILED, WRONG_REQUEST, INTERRUPTED = 0, 1, 2, 130
_DEBUG = "ATTNLAB_DEBUG"
_MULTIRUN = {"-m", "--multirun"}
_COMPLETION = {"-sc", "--shell-completion"}
# Groups of presets: their files may set Hydra's own settings, such as the launcher.
_PRESETS = ("experiment", "search")
# Commands that compute runs: their failures are those of a run.
_RUNNING = ("train", "resume", "study")
# How the error message of `Path.expanduser` starts.
_NO_HOME = "Could not determine home directory"
# Flags that only show something. The configuration is shown without attnlab's Hydra settings.
_SHOWING = {"-sc", "--shell-completion", "--cfg", "-c", "--info", "-i", "--hydra-help"}


def run() -> NoReturn:
    """Run the command of this process and end the process: the console script's entry point.

    Runs exit handlers and flushes output, but skips the rest of Python's shutdown, which takes a
    second with TensorFlow loaded.
    """
    set_up()
    # OpenBLAS's threads would compete with TensorFlow's.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = main()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


@profiled()
def main(arguments: list[str] | None = None) -> int:
    """Run one command, by default that of this process.

    Returns:
        Exit code: 0 done, 1 the run or command failed, 2 the request was wrong, 130 interrupted.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    listen_for_interrupts()
    if sys.stdout is None:  # closed by `>&-`
        sys.stdout = open(os.devnull, "w")
    os.environ[TYPED] = shlex.join(["attnlab", *arguments])
    try:
        with explained("working folder: it does not exist any more"):
            os.getcwd()
        code = _dispatch(arguments)
        sys.stdout.flush()  # a closed pipe must raise here, not while Python shuts down
        return code
    except (Exception, KeyboardInterrupt) as error:
        return _report(error, arguments)


def _has_reader(stream: TextIO) -> bool:
    """Whether the other end of a stream is still open."""
    try:
        poll = select.poll()
        poll.register(stream.fileno(), 0)
        return not poll.poll(0)  # reports only errors and hang-ups
    except (AttributeError, OSError, ValueError):  # the stream has no file: output is captured
        return True


def _dispatch(arguments: list[str]) -> int:
    from attnlab.commands import verbs

    known = verbs()
    if not _COMPLETION & set(arguments):
        arguments = without_config_dirs(arguments)
    arguments = _set_verbosity(arguments, [verb for verb in known if verb != "resume"])
    first = arguments[0] if arguments else "help"
    if _COMPLETION & set(arguments) and any(word.startswith("query=") for word in arguments):
        from attnlab.commands.completion import complete

        query = [word for word in arguments if word.startswith("query=")]
        complete(query, (*FLAGS, *VERBOSITY), lambda words: parted(words)[1], train)
        return DONE
    if first == "help" or ({"--help", "-h"} & set(arguments) and first not in known):
        return _help(arguments, known)
    if arguments == ["--version"]:
        from attnlab import __version__

        print(f"attnlab {__version__}")
        return DONE
    if first == "train":
        return train(arguments[1:])
    if first in known:
        return _verb(first, arguments[1:])
    if first and first[0] not in "-+~" and "=" not in first:
        raise RequestError(_unknown_verb(arguments, [*known, "train"]))
    return train(arguments)


def _help(arguments: list[str], known: Mapping[str, str]) -> int:
    """Print help for a verb, a topic or a setting (`--help model.units`), or the first screen."""
    from attnlab.config.help import group_of, overview, topic
    from attnlab.config.rules import did_you_mean
    from attnlab.config.settings import GROUPS

    others = ("help", "train")
    asked = [w for w in arguments if w[:1] not in "-+~" and "=" not in w and w not in others]
    options = [word for word in arguments if word.partition("=")[0] in GROUPS and "=" in word]
    if not asked and options:
        return _verb("explain", options)
    if not asked:
        print(overview(known))
    elif text := topic(asked[0], known):
        print(text)
    elif asked[0] in known:
        return _verb(asked[0], ["--help"])
    else:
        try:
            return _verb("explain", [group_of(asked[0]), *asked[1:]])
        except RequestError:
            if not did_you_mean(asked[0], [*known]):
                raise
            raise RequestError(_unknown_verb(asked[:1], [*known, "train"])) from None
    return DONE


def _set_verbosity(arguments: list[str], others: list[str]) -> list[str]:
    """Set the verbosity by -q and -v; returns the other arguments.

    The commands `others` don't have these flags: after them, all arguments are returned; before
    them, -q and -v raise `RequestError`.
    """
    words = [word for word in arguments if word not in VERBOSITY]
    given = [word for word in arguments if word in VERBOSITY]
    logs.verbosity = 0
    if words[:1] and words[0] in others:
        if arguments[0] in given:
            raise RequestError(f"{given[0]}: only for a run, a sweep or attnlab resume.")
        return arguments
    logs.verbosity = VERBOSITY[given[-1]] if given else 0
    return words


def _unknown_verb(arguments: list[str], verbs: list[str]) -> str:
    from attnlab.config.rules import did_you_mean

    word, hint = arguments[0], did_you_mean(arguments[0], verbs)
    valid = ", ".join(sorted(verbs))
    return f"{word}: there is no such command.{hint} Valid: {valid}. Settings are KEY=VALUE."


def _verb(verb: str, arguments: list[str]) -> int:
    import click

    from attnlab.commands import command

    try:
        name = f"attnlab {verb}"
        result = command(verb).main(arguments, prog_name=name, standalone_mode=False, obj=train)
    except click.exceptions.Abort as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # it may have a message
            raise error.__cause__ from None
        return INTERRUPTED
    except click.ClickException as error:
        raise RequestError(error.format_message()) from error
    except SystemExit:  # how click reacts to a broken pipe, such as `| head`
        return FAILED if _has_reader(sys.stdout) else DONE
    return result if isinstance(result, int) else DONE


def train(arguments: list[str], job: Callable[[DictConfig], int] | None = None) -> int:
    """Compose the configuration and run it; with `-m`, run a sweep.

    Args:
        arguments: Hydra's flags and overrides.
        job: Runs one composed configuration and returns the exit code; by default it is trained.

    Returns:
        The exit code.

    Raises:
        RequestError: An argument is wrong.
        SweepFailed: Jobs of the sweep failed.
        Exception: what `job` raised.
    """
    _check_utf8(arguments)
    flags, overrides = parted(arguments)
    _check_overrides(flags, overrides)
    if _SHOWING & set(flags):
        _show(flags, overrides)
        return DONE
    place = None
    if "--config-path" in flags:
        place = flags[flags.index("--config-path") + 1], flags[flags.index("--config-name") + 1]
    if _MULTIRUN & set(flags):
        from attnlab.sweeps.run import sweep

        sweep(overrides, place)
        return DONE
    for override in overrides:
        group = key_of(override).replace("hydra/", "hydra.")
        if group.partition(".")[0] in ("sweep", "search") or group.startswith("hydra.launcher"):
            raise RequestError(f"{override}: this setting is for sweeps. Add -m.")
    from attnlab.config import composing

    composed = composing.compose(overrides, place)
    if job:
        return job(composed)
    config = composing.from_hydra(composed)
    from attnlab.run.find_or_run import run as find_or_run

    find_or_run(config)
    return DONE


def _check_utf8(words: list[str]) -> None:
    """Raise `RequestError` if an argument isn't UTF-8: config.yaml couldn't store it."""
    for word in words:
        if not is_utf8(word):
            key, _, value = word.rpartition("=")
            raise RequestError(
                f"{key or 'command'}: {printable(value)} is not UTF-8: rename the file or folder."
            )


def _show(flags: list[str], overrides: list[str]) -> None:
    """Let Hydra show what its flags request; for `--cfg job`, without the rules of settings."""
    import hydra

    from attnlab.config import composing

    composing.register_schema()
    # Makes Hydra raise errors, instead of printing them and exiting with 1.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    # Flags come first and overrides last, because Hydra reads overrides only as one block.
    words = [*flags, composing.search_path(), *overrides]
    main = hydra.main(str(composing.conf_folder()), "config", version_base="1.3")(lambda _: None)
    before, sys.argv = sys.argv, [sys.argv[0], *words]
    try:
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            main()
    except Exception as error:
        raise RequestError(composing.explain(error, overrides)) from error
    finally:
        sys.argv = before
        text = shown.getvalue()
        is_a_configuration = {"--cfg", "-c"} & set(flags) and "job" in flags
        print(composing.without_rules(text) if is_a_configuration and text else text, end="")


def _check_overrides(flags: list[str], overrides: list[str]) -> None:
    """Raise `RequestError` for an override that is not allowed."""
    from attnlab.config.composing import HYDRA_SETTINGS

    ours = {key_of(word) for word in (*HYDRA_SETTINGS, "hydra.sweep.dir=")}
    for override in overrides:
        refuse_class(override)
        if key_of(override) in ours:
            raise RequestError(
                f"{override}: use paths.runs=FOLDER. Each run has its folder and its log there; "
                "Hydra makes none."
            )
        if key_of(override) in ("hydra/sweeper", "hydra.mode"):
            raise RequestError(f"{override}: can't be changed: -m runs attnlab's own sweeps.")
        if key_of(override) in _PRESETS and "--config-path" in flags:
            raise RequestError(
                f"{override}: no preset can be added to --config-path, whose configuration is "
                "complete. Change settings instead, such as trainer.epochs=3 or search.space=..."
            )


def _report(error: BaseException, arguments: list[str]) -> int:
    """Print what went wrong in one or two lines; returns the exit code."""
    if isinstance(error, BrokenPipeError) and not _has_reader(sys.stdout):
        # The reader of our output has ended, as `| head` does: this isn't an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    if variable(_DEBUG) == "1":
        import traceback

        traceback.print_exception(error)
    if isinstance(error, KeyboardInterrupt):
        _complain(f"interrupted: {error}" if str(error) else "interrupted")
        return INTERRUPTED
    if isinstance(error, RequestError):
        _complain(str(error))
        return WRONG_REQUEST
    if str(error).startswith(_NO_HOME):
        _complain("a path starts with ~ and the name of a user who is unknown on this machine.")
        return WRONG_REQUEST
    if isinstance(error, SweepFailed):
        _complain(str(error))
        return FAILED
    if isinstance(error, RunFailed):
        _complain(f"{_what_failed(arguments)}: {error}")
        return FAILED
    from attnlab.config.own_files import failure

    _complain(f"{_what_failed(arguments)}: {failure(error)}")
    print(f"Set {_DEBUG}=1 for the traceback.", file=sys.stderr)
    return FAILED


def _what_failed(arguments: list[str]) -> str:
    from attnlab.commands import verbs

    known = verbs()
    verb = next((word for word in arguments if word in known), "train")
    return "the run failed" if verb in _RUNNING else f"the command {verb} failed"


def _complain(text: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(f"attnlab: {text}", file=sys.stderr, flush=True)
