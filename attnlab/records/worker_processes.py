"""Work in a process per processor, for what Python can't do in threads."""

from __future__ import annotations

import errno
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from attnlab.process import processors

_WAITING = 2  # jobs per process that are done or wait, which limits memory
_SECONDS = 1.0  # between two looks at whether the first process is still there
Job = TypeVar("Job")
Result = TypeVar("Result")


def in_order(
    function: Callable[[Job], Result], jobs: Iterable[Job], *, alone: bool = False
) -> Iterator[tuple[Job, Result]]:
    """Yield each job and `function(job)`, in the order of the jobs; few of them are in memory.

    The processes end with this one, also if it is killed.

    Args:
        function: a function of a module, or a `functools.partial` of one.
        jobs: what to pickle for the processes.
        alone: work in this process, as with a single processor.

    Raises:
        OSError: a process ended, for example for lack of memory.
        Exception: what the function raised.
    """
    count = processors()
    if alone or count == 1:
        yield from ((job, function(job)) for job in jobs)
        return
    from concurrent.futures import wait
    from concurrent.futures.process import BrokenProcessPool

    from joblib.externals.loky import ProcessPoolExecutor  # needs no `if __name__ == "__main__"`

    # Each process has one job at a time, so a library needs no threads in it.
    environment = {"TOKENIZERS_PARALLELISM": "false"}
    pool = ProcessPoolExecutor(count, initializer=_begin, initargs=(os.getpid(),), env=environment)
    waiting: deque[tuple[Job, Any]] = deque()
    try:
        for job in jobs:
            waiting.append((job, pool.submit(function, job)))
            if len(waiting) > _WAITING * count:
                first, future = waiting.popleft()
                yield first, future.result()
        for first, future in waiting:
            yield first, future.result()
    except BrokenProcessPool as error:
        raise OSError(errno.ENOMEM, "a process ended, perhaps for lack of memory") from error
    finally:
        # A job that loky still holds back when it kills its processes costs it a KeyError.
        wait([future for _, future in waiting if future.cancel()], timeout=_SECONDS)
        pool.shutdown(kill_workers=True)


def _begin(parent: int) -> None:
    """Leave Ctrl-C to the first process, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS)
    os._exit(1)
