"""Train several runs in one process; requests of equal shape are stacked into one program call.

Each run is a greenlet that works as if it were alone, until it submits a request for gradient steps
or predictions. The scheduler executes requests of equal shape in one call of their program,
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
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

log = logging.getLogger("attnlab")
Result = TypeVar("Result")
_not_stackable: weakref.WeakSet = weakref.WeakSet()  # programs whose stacks have failed


def _execute(program: Any, requests: list, width: int) -> Sequence[Any]:
    """Return the result of each request, or the error that it raised."""
    if width > 1 and program not in _not_stackable:
        try:
            return program.execute(requests + requests[:1] * (width - len(requests)))
        except Exception as error:
            # The mechanism may not be vectorizable, or memory is short. Errors of a single run
            # occur again below.
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            log.info("runs train one by one, for they can't be stacked: %s", reason)
            _not_stackable.add(program)
        except BaseException as error:  # Ctrl-C
            return [error] * len(requests)
    results = []
    for request in requests:
        try:
            results += program.execute([request])
        except BaseException as error:
            results.append(error)
    return results


class _Run(greenlet):
    """An active run."""

    number: int  # its index among all runs
    kind: Hashable  # equal for runs that may be stacked
    share: int  # the width of its stacks


@dataclass(eq=False)
class _Pending:
    """A request and the run that waits for its result."""

    run: _Run
    program: Any
    request: Any
    width: int

    @property
    def form(self) -> tuple:
        """The stack width and shape that a program is compiled for."""
        return self.width, getattr(self.request, "shape", None)


class StackScheduler:
    """Runs several training runs as greenlets and executes their requests in stacks.

    Args:
        threads: number of stacks that are executed at a time.
        at_a_time: number of runs that are active at a time; None: all.

    Attributes:
        runs: how many runs are active at a time.
    """

    def __init__(self, threads: int = 1, at_a_time: int | None = None) -> None:
        self.runs, self._threads, self._at_a_time = 1, threads, at_a_time
        self._compiled: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # program -> forms
        self._under_way: dict[_Run, None] = {}  # active runs in the order of their start
        self._ready: deque[tuple[_Run, Any]] = deque()  # runs to switch to, with their results
        self._waiting: list[_Pending] = []
        self._executing: dict[Future, list[_Pending]] = {}
        self._results: dict[int, Any] = {}
        self._stop: BaseException | None = None

    def run(
        self, works: Sequence[Callable[[], Result]], alike: Sequence[Hashable] | None = None
    ) -> list[Result]:
        """Call each of `works`, which train a run, and return their results in order.

        Runs with equal entries in `alike` may be stacked; by default all. If one raises, the others
        are interrupted at their next request.

        Raises:
            KeyboardInterrupt: interrupted; all unfinished runs are interrupted, too.
            BaseException: the first error of a run.
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

    def width_of(self, most: int) -> int:
        """Return the width of the calling run's stacks: a power of two, at most `most`."""
        run = getcurrent()
        return min(most, run.share) if isinstance(run, _Run) else 1

    def submit(self, program: Any, request: Any, width: int) -> Any:
        """Return the result of a request of the calling run, stacked with those of other runs.

        An incomplete stack is padded with copies of its first request. Results depend on the stack
        width (by rounding), never on the other runs. Outside of `run`, a request has a stack of its
        own.

        Args:
            program: its method `execute` takes a list of requests of one shape, and returns the
                result of each.
            request: what to execute.
            width: the number of requests in a stack.
        """
        run = getcurrent()
        if isinstance(run, _Run):
            return run.parent.switch(_Pending(run, program, request, width))
        (result,) = _execute(program, [request], width)[:1]
        if isinstance(result, BaseException):
            raise result
        return result

    def _new_runs(self, works: Sequence[Callable], kinds: Sequence[Hashable]) -> list[_Run]:
        runs = []
        for number, (work, kind) in enumerate(zip(works, kinds, strict=True)):
            run = _Run(lambda _, work=work: work())
            run.number, run.kind = number, kind
            size = -(-kinds.count(kind) // self._threads)  # every thread gets a stack
            run.share = 1 << (size - 1).bit_length()
            run.gr_context = contextvars.copy_context()
            runs.append(run)
        return runs

    def _advance(self) -> None:
        """Switch to a run that is ready, or wait for results; then execute full stacks."""
        if not self._ready:
            wait(self._executing, return_when=FIRST_COMPLETED)
        for future in [f for f in self._executing if f.done()]:
            self._answer(self._executing.pop(future), future.result())
        if self._ready:
            self._switch_to(*self._ready.popleft())
        self._execute_stacks()

    def _switch_to(self, run: _Run, result: Any) -> None:
        """Continue a run until its next request or its end."""
        try:
            is_error = isinstance(result, BaseException)
            outcome = run.throw(result) if is_error else run.switch(result)
        except BaseException as error:  # raised again after all runs have ended
            del self._under_way[run]
            self._interrupt(error)
            return
        if run.dead:
            del self._under_way[run]
            self._results[run.number] = outcome
        elif self._stop is not None:
            self._ready.append((run, KeyboardInterrupt()))
        else:
            self._waiting.append(outcome)

    def _execute_stacks(self) -> None:
        """Execute full stacks, and incomplete ones that no active run can fill."""
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
        """Execute a stack in a thread; the first time here, because tracing isn't thread-safe."""
        program, form = stack[0].program, stack[0].form
        work = program, [pending.request for pending in stack], stack[0].width
        forms = self._compiled.setdefault(program, set())
        if form in forms:
            self._executing[self._pool.submit(_execute, *work)] = stack
        else:
            self._answer(stack, _execute(*work))
            forms.add(form)

    def _answer(self, stack: Sequence[_Pending], results: Sequence[Any]) -> None:
        """Make runs ready with the results of their requests, or interrupt them."""
        for pending, result in zip(stack, results, strict=False):
            self._ready.append((pending.run, KeyboardInterrupt() if self._stop else result))

    def _interrupt(self, reason: BaseException) -> None:
        """Interrupt every run; runs with a request in execution are interrupted after it."""
        self._stop, self._waiting = self._stop or reason, []
        executing = {pending.run for stack in self._executing.values() for pending in stack}
        left = [run for run in self._under_way if run not in executing]
        self._ready = deque((run, KeyboardInterrupt()) for run in left)
