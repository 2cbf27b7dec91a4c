"""Runs that train together in one process, those of equal shapes stacked into one program.

Each run is a greenlet that works as if it were alone, until it submits a request: gradient steps,
or rows to predict. The scheduler executes requests of equal shape in one call of their program,
several calls in parallel threads, and switches back to the runs with the results.
"""

from __future__ import annotations

import contextvars
import logging
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from greenlet import getcurrent, greenlet

log = logging.getLogger("attnlab")
Result = TypeVar("Result")
_not_stackable: weakref.WeakSet = weakref.WeakSet()  # programs that failed when they were stacked


class Executor(Protocol):
    """What executes requests, also of several runs at once, each for itself."""

    def execute(self, requests: Sequence[Any]) -> Sequence[Any]:
        """Return the result of each request; all have one shape."""


def submit(program: Executor, request: Any, width: int = 1) -> Any:
    """Have a request executed, with others in a stack of `width` runs if there are any.

    A stack that is not full is filled up: to the last bits, the result of a run depends on the
    width, and on nothing that its neighbours do.
    """
    run = getcurrent()
    if isinstance(run, _Run):
        return run.parent.switch(_Pending(run, program, request, width))
    found = _execute(program, [request], width)[0]
    if isinstance(found, BaseException):
        raise found
    return found


def width_of(most: int) -> int:
    """How many runs are in a stack with this one: a power of two, at most `most`; 1 if alone."""
    run = getcurrent()
    return min(most, run.share) if isinstance(run, _Run) else 1


def runs_here() -> int:
    """How many runs are under way in this process, this one among them."""
    run = getcurrent()
    return run.scheduler.runs if isinstance(run, _Run) else 1


def _execute(program: Executor, requests: list, width: int) -> Sequence[Any]:
    """The result of each request, or the error that it raised."""
    if width > 1 and program not in _not_stackable:
        try:
            return program.execute(requests + requests[:1] * (width - len(requests)))
        except Exception as error:
            # A mechanism may do what can't be done for several runs at once, or memory is short;
            # what is wrong with a run itself shows again below.
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            log.warning("runs train side by side, for they can't be stacked: %s", reason)
            _not_stackable.add(program)
        except BaseException as error:  # Ctrl-C
            return [error] * len(requests)
    return [_execute_alone(program, request) for request in requests]


def _execute_alone(program: Executor, request: Any) -> Any:
    """The result of one request; an error is its own, and none of the others'."""
    try:
        return program.execute([request])[0]
    except BaseException as error:
        return error


class _Run(greenlet):
    """A run under way."""

    scheduler: StackScheduler
    number: int  # among all runs
    kind: Hashable  # the same as of those that may be in a stack with it
    share: int  # the width of a stack of those


@dataclass(eq=False)
class _Pending:
    """A request whose run waits for the result."""

    run: _Run
    program: Executor
    request: Any
    width: int

    @property
    def form(self) -> tuple:
        """For which a program is compiled."""
        return self.width, getattr(self.request, "shape", None)


class StackScheduler:
    """Has runs train together.

    Args:
        threads: how many stacks are executed at a time.
        at_a_time: how many runs are under way at a time; None: all.
    """

    def __init__(self, threads: int, at_a_time: int | None = None) -> None:
        self.runs, self._threads, self._at_a_time = 0, threads, at_a_time
        self._compiled: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # for which forms
        self._under_way: dict[_Run, None] = {}  # in the order in which they began
        self._ready: deque[tuple[_Run, Any]] = deque()  # runs to switch to, with what they get
        self._waiting: list[_Pending] = []
        self._executing: dict[Future, list[_Pending]] = {}
        self._results: dict[int, Any] = {}
        self._stop: BaseException | None = None

    def run(
        self, works: Sequence[Callable[[], Result]], alike: Sequence[Hashable] | None = None
    ) -> list[Result]:
        """Do works, each of them a run; returns what each returned, in their order.

        Those with the same word in `alike` may be stacked; by default all. The first that raises
        has the others interrupted at their requests.

        Raises:
            KeyboardInterrupt: interrupted, as is each run that was not done.
            BaseException: what a work raised.
        """
        to_begin = deque(self._new_runs(works, alike or [None] * len(works)))
        self.runs = min(len(works), self._at_a_time or len(works))
        with ThreadPoolExecutor(self._threads) as self._pool:
            while self._under_way or (to_begin and not self._stop):
                try:
                    while to_begin and len(self._under_way) < self.runs and not self._stop:
                        self._under_way[to_begin[0]] = None
                        self._ready.append((to_begin.popleft(), None))
                    self._advance()
                except KeyboardInterrupt as interrupt:
                    self._interrupt(interrupt)
        if self._stop is not None:
            raise self._stop
        return [self._results[number] for number in range(len(works))]

    def _new_runs(self, works: Sequence[Callable], kinds: Sequence[Hashable]) -> list[_Run]:
        runs = []
        for number, (work, kind) in enumerate(zip(works, kinds, strict=True)):
            run = _Run(lambda _, work=work: work())
            run.scheduler, run.number, run.kind = self, number, kind
            each = -(-kinds.count(kind) // self._threads)  # so that every thread has a stack
            run.share = 1 << (each - 1).bit_length()
            run.gr_context = contextvars.copy_context()
            runs.append(run)
        return runs

    def _advance(self) -> None:
        """Switch to a run that is ready, or wait for results; execute the stacks that are full."""
        if not self._ready:
            wait(self._executing, return_when=FIRST_COMPLETED)
        for future in [each for each in self._executing if each.done()]:
            self._answer(self._executing.pop(future), future.result())
        if self._ready:
            self._switch_to(*self._ready.popleft())
        self._execute_stacks()

    def _switch_to(self, run: _Run, result: Any) -> None:
        """Let a run work until its next request, or its end."""
        try:
            is_error = isinstance(result, BaseException)
            found = run.throw(result) if is_error else run.switch(result)
        except BaseException as error:  # raised again once all have ended
            del self._under_way[run]
            self._interrupt(error)
            return
        if run.dead:
            del self._under_way[run]
            self._results[run.number] = found
        elif self._stop is not None:
            self._ready.append((run, KeyboardInterrupt()))
        else:
            self._waiting.append(found)

    def _execute_stacks(self) -> None:
        """Execute full stacks, and others if no run of their kind could still fill them."""
        waiting = {pending.run for pending in self._waiting}
        busy = {run.kind for run in self._under_way if run not in waiting}
        stacks: dict[tuple, list[_Pending]] = {}
        for pending in self._waiting:
            stacks.setdefault((id(pending.program), *pending.form), []).append(pending)
        self._waiting = []
        for (_, width, _), stack in stacks.items():
            while len(stack) >= width or (stack and stack[0].run.kind not in busy):
                self._begin(stack[:width])
                del stack[:width]
            self._waiting += stack

    def _begin(self, stack: list[_Pending]) -> None:
        """Execute a stack: in a thread, but here at first, for tracing isn't safe in threads."""
        program, form = stack[0].program, stack[0].form
        work = program, [pending.request for pending in stack], stack[0].width
        forms = self._compiled.setdefault(program, set())
        if form in forms:
            self._executing[self._pool.submit(_execute, *work)] = stack
        else:
            self._answer(stack, _execute(*work))
            forms.add(form)

    def _answer(self, stack: Sequence[_Pending], results: Sequence[Any]) -> None:
        """Let runs go on with the results of their requests, or interrupt them."""
        for pending, result in zip(stack, results, strict=False):
            self._ready.append((pending.run, KeyboardInterrupt() if self._stop else result))

    def _interrupt(self, reason: BaseException) -> None:
        """Interrupt every run, those whose requests are executed once that is done."""
        self._stop, self._waiting = self._stop or reason, []
        executing = {pending.run for stack in self._executing.values() for pending in stack}
        left = [run for run in self._under_way if run not in executing]
        self._ready = deque((run, KeyboardInterrupt()) for run in left)
