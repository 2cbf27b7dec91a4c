"""Runs that train together: side by side in one process, those of equal shapes stacked.

Each run works in a thread of its own as if it were alone, one thread at a time, up to where it
wants gradient steps, or validation rows read. That is done for several runs at once: runs that
share a program are stacked into one call of it, and several such calls run beside each other.
"""

from __future__ import annotations

import contextvars
import logging
import queue
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

log = logging.getLogger("attnlab")
Result = TypeVar("Result")
_here = threading.local()  # `member`: of the run that works in this thread
_alone: weakref.WeakSet = weakref.WeakSet()  # programs that turned out not to be stackable


class Program(Protocol):
    """What takes the steps of several runs at once, each for itself."""

    def carry_out(self, wishes: Sequence[Any]) -> Sequence[Any]:
        """What comes of the steps that each run wants, or of other wishes of one shape."""


def take(program: Program, steps: Any, width: int = 1) -> Any:
    """Take the steps that a run wants, with others of a stack of `width` runs where there are.

    What else `program` can do for several runs is asked for in the same way.

    A stack that is not full is filled up: to the last bits, what comes of a run depends on the
    width, and on nothing that its neighbours do.
    """
    member = getattr(_here, "member", None)
    if member is None:
        (found,) = _taken(program, [steps], width)[:1]
        if isinstance(found, BaseException):
            raise found
        return found
    return member.ask(_Wish(member, program, steps, width))


def width_of(most: int) -> int:
    """How many runs are in a stack with that of this thread: a power of two, `most` at most.

    1 for a run that is alone.
    """
    member = getattr(_here, "member", None)
    return 1 if member is None else min(most, member.share)


def runs_here() -> int:
    """How many runs share this process with that of this thread, itself among them."""
    member = getattr(_here, "member", None)
    return 1 if member is None else member.together.runs


def _taken(program: Program, steps: list, width: int) -> Sequence[Any]:
    if width > 1 and program not in _alone:
        try:
            return program.carry_out(steps + steps[:1] * (width - len(steps)))
        except Exception as error:
            # A mechanism may do what can't be done for several runs at once, or memory is short;
            # what is wrong with a run itself shows again below.
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            log.warning("runs train side by side, for they can't be stacked: %s", reason)
            _alone.add(program)
    return [_taken_alone(program, each) for each in steps]


def _taken_alone(program: Program, steps: Any) -> Any:
    """What comes of the steps of one run; an error is its own, and none of the others'."""
    try:
        return program.carry_out([steps])[0]
    except BaseException as error:
        return error


@dataclass(eq=False)
class _Wish:
    member: _Member
    program: Program
    steps: Any
    width: int

    @property
    def form(self) -> tuple:
        """For which a program is compiled."""
        return self.width, getattr(self.steps, "shape", None)


@dataclass(eq=False)
class _Taken:
    wishes: list[_Wish]
    results: Sequence[Any]


@dataclass(eq=False)
class _Ended:
    member: _Member
    result: Any = None
    error: BaseException | None = None


@dataclass(eq=False)
class _Member:
    together: Together
    kind: Hashable  # the same as of those that may be in a stack with it
    share: int  # the width of a stack of those
    reply: queue.SimpleQueue = field(default_factory=queue.SimpleQueue)

    def ask(self, wish: _Wish) -> Any:
        with self.together.resting():
            self.together.events.put(wish)
            answer = self.reply.get()
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Together:
    """Some runs that train together.

    Args:
        threads: how many stacks are trained at a time.
        at_a_time: how many runs are under way at a time; None: all.
    """

    def __init__(self, threads: int, at_a_time: int | None = None) -> None:
        self.runs, self._threads, self._at_a_time = 0, threads, at_a_time
        self.events: queue.SimpleQueue = queue.SimpleQueue()
        self._turn = threading.Lock()  # who holds it works
        self._compiled: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # for which forms
        self._pool = ThreadPoolExecutor(threads)
        self._waiting: list[_Wish] = []
        self._busy: Counter[Hashable] = Counter()  # of each kind, who works or has steps taken
        self._stop: BaseException | None = None

    def carry_out(
        self, works: Sequence[Callable[[], Result]], alike: Sequence[Hashable] | None = None
    ) -> list[Result]:
        """Do works, each of them a run; returns what each returned, in their order.

        Those with the same word in `alike` may be stacked; by default all. The first that raises
        has the others interrupted where they want steps.

        Raises:
            KeyboardInterrupt: interrupted, as is each run that was not done.
            BaseException: what a work raised.
        """
        threads, results = [], {}
        self.runs = min(len(works), self._at_a_time or len(works))
        kinds = alike or [None] * len(works)
        for work, kind in zip(works, kinds, strict=True):
            each = -(-kinds.count(kind) // self._threads)  # so that every thread has a stack
            member = _Member(self, kind, 1 << (each - 1).bit_length())
            inside = contextvars.copy_context()
            results[member] = None
            thread = threading.Thread(target=inside.run, args=(self._work, member, work))
            threads.append((kind, thread))
        # A thread of its own, for a Ctrl-C may come anywhere in this one. It is not joined: Python
        # holds a thread for ended when a `join` is interrupted (bpo-46726).
        with self._pool, ThreadPoolExecutor(1) as scheduler:
            schedule = scheduler.submit(self._schedule, threads, results)
            while not schedule.done():
                try:
                    wait([schedule])
                except KeyboardInterrupt as interrupt:
                    self.events.put(interrupt)
        schedule.result()
        if self._stop is not None:
            raise self._stop
        return list(results.values())

    def _schedule(
        self, members: Sequence[tuple[Hashable, threading.Thread]], results: dict[_Member, Any]
    ) -> None:
        """Have the members work, and their steps taken, until all have ended."""
        to_begin, under_way = deque(members), 0
        while to_begin or under_way:
            while to_begin and under_way < self.runs:
                kind, thread = to_begin.popleft()
                self._busy[kind] += 1
                under_way += 1
                thread.start()
            event = self.events.get()
            if isinstance(event, BaseException):
                self._interrupt(event)
            else:
                if isinstance(event, _Ended):
                    results[event.member], under_way = event.result, under_way - 1
                self._take_in(event)
            if self._stop is not None:
                to_begin.clear()

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Let another member work while the body waits."""
        self._turn.release()
        try:
            yield
        finally:
            self._turn.acquire()

    def _work(self, member: _Member, work: Callable[[], Any]) -> None:
        _here.member, ended = member, _Ended(member)
        with self._turn:
            try:
                ended.result = work()
            except BaseException as error:  # raised again where all have ended
                ended.error = error
        self.events.put(ended)

    def _take_in(self, event: _Wish | _Taken | _Ended) -> None:
        if isinstance(event, _Taken):
            for wish, result in zip(event.wishes, event.results, strict=False):
                self._answer(wish, result)
        elif isinstance(event, _Wish):
            self._busy[event.member.kind] -= 1
            self._waiting.append(event)
        else:
            self._busy[event.member.kind] -= 1
            if event.error is not None:
                self._interrupt(event.error)
        if self._stop is not None:
            self._interrupt(self._stop)
        self._train_what_waits()

    def _train_what_waits(self) -> None:
        """Train full stacks, and others when none of their kind that is busy could fill them."""
        stacks: dict[tuple, list[_Wish]] = {}
        for wish in self._waiting:
            stacks.setdefault((id(wish.program), *wish.form), []).append(wish)
        idle = {wish.member.kind for wish in self._waiting if not self._busy[wish.member.kind]}
        self._waiting = []
        for (_, width, _), wishes in stacks.items():
            while len(wishes) >= width or (wishes and wishes[0].member.kind in idle):
                self._busy.update(wish.member.kind for wish in wishes[:width])
                self._pool.submit(self._train, wishes[:width])
                del wishes[:width]
            self._waiting += wishes

    def _train(self, wishes: list[_Wish]) -> None:
        results: Sequence[Any]
        program, form = wishes[0].program, wishes[0].form
        forms = self._compiled.setdefault(program, set())
        # What a member does meanwhile, as beginning afresh, would disturb the tracing.
        alone = nullcontext() if form in forms else self._turn
        try:
            with alone:
                results = _taken(program, [w.steps for w in wishes], wishes[0].width)
                forms.add(form)
        except BaseException as error:  # raised where each run waits for its steps
            results = [error] * len(wishes)
        self.events.put(_Taken(wishes, results))

    def _interrupt(self, reason: BaseException) -> None:
        """Interrupt every member that waits for steps, now or later."""
        self._stop = self._stop or reason
        for wish in self._waiting:
            self._busy[wish.member.kind] += 1
            self._answer(wish, None)
        self._waiting = []

    def _answer(self, wish: _Wish, result: Any) -> None:
        wish.member.reply.put(result if self._stop is None else KeyboardInterrupt())
