"""The errors that end a command with one clear sentence instead of a traceback."""


class RequestError(ValueError):
    """The request was wrong: a config value, an argument, a file. Exit code 2.

    The text names the key or file, what was expected and what was given.
    """


class RunBusy(RequestError):
    """Another process that lives writes the folder, so this one leaves it alone."""


class RunFailed(RuntimeError):
    """The run itself failed, for example on a loss that is not finite. Exit code 1."""


class Pruned(Exception):
    """A search gave the run up. What it has is kept; it is neither done nor failed."""


class SweepFailed(RuntimeError):
    """Jobs of a sweep failed; each has said why. Exit code 1."""
