"""Runs that train together, compared with runs that train alone."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest

from attnlab.internals import import_tensorflow
from attnlab.training.stacking import StackScheduler

import_tensorflow()


class Doubling:
    """A program that doubles its steps, which are numbers, and records its calls."""

    def __init__(self, most=99):
        self.calls, self._most = [], most

    def execute(self, runs):
        if len(runs) > self._most:
            raise TypeError("no converter for NonsenseOp")
        self.calls.append(list(runs))
        return [2 * run for run in runs]


def taking(stack, program, start, times, width=2):
    """A run that submits steps several times."""

    def work():
        result = start
        for _ in range(times):
            result = stack.submit(program, result, width)
        return result

    return work


def test_each_run_gets_the_results_of_its_own_steps():
    program, stack, starts = (
        Doubling(),
        StackScheduler(threads=2),
        ((1, 3), (10, 3), (100, 5), (7, 0)),
    )
    works = [taking(stack, program, start, times) for start, times in starts]
    assert stack.run(works) == [8, 80, 3200, 7]
    assert {len(call) for call in program.calls} == {2}  # also what is left of a stack is full
    assert sum(len(set(call)) for call in program.calls) == 3 + 3 + 5


def test_a_request_doesnt_wait_for_other_programs():
    """Fixed: a run whose neighbours had stopped early waited for runs of other programs."""
    done, waited, stack = threading.Event(), [], StackScheduler(threads=2)

    class Slow(Doubling):
        def execute(self, runs):
            if self.calls:  # the first is traced, with nobody at work
                waited.append(done.wait(10))
            return super().execute(runs)

    def alone():
        taking(stack, Doubling(), 1, 5, width=2)()
        done.set()

    stack.run([taking(stack, Slow(), 1, 2, width=1), alone], ["slow", "alone"])
    assert waited == [True]


def test_a_run_that_raises_interrupts_the_others():
    ended, program, stack = [], Doubling(), StackScheduler(threads=2)

    def failing():
        stack.submit(program, 1, 2)
        raise ZeroDivisionError("mine")

    def others():
        try:
            while True:
                stack.submit(program, 1, 2)
        except KeyboardInterrupt:
            ended.append("interrupted")
            raise

    with pytest.raises(ZeroDivisionError, match="mine"):
        stack.run([others, failing, others])
    assert len(ended) == 2


@pytest.fixture
def plain_ctrl_c():
    """A Ctrl-C that no command of this process handles."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ctrl_c_after(seconds):
    here = threading.get_ident()
    timer = threading.Timer(seconds, signal.pthread_kill, [here, signal.SIGINT])
    timer.start()
    return timer


@pytest.mark.usefixtures("plain_ctrl_c")
def test_ctrl_c_reaches_the_run_at_work_and_the_others_at_their_requests():
    ended, program, stack = [], Doubling(), StackScheduler(threads=2)

    def work(waits):
        try:
            stack.submit(program, 1, 2) if waits else time.sleep(10)
        except KeyboardInterrupt:
            ended.append(waits)
            raise

    timer = ctrl_c_after(0.2)
    with pytest.raises(KeyboardInterrupt):
        stack.run([lambda: work(True), lambda: work(False)])
    timer.join()
    assert sorted(ended) == [False, True] and not program.calls


def test_programs_that_cannot_be_stacked_run_one_by_one(caplog):
    caplog.set_level("INFO", "attnlab")
    program, stack = Doubling(most=1), StackScheduler()
    works = [taking(stack, program, start, 3) for start in (1, 10, 100)]
    assert stack.run(works) == [8, 80, 800]
    (record,) = caplog.records  # for the log only: users can do nothing about it
    reason = "runs train one by one, for they can't be stacked: no converter for NonsenseOp"
    assert (record.levelname, record.message) == ("INFO", reason)


@pytest.mark.parametrize(("at_a_time", "most"), [(2, 2), (None, 5)])
def test_the_next_run_starts_when_one_ends(at_a_time, most):
    under_way, seen, program = set(), [], Doubling()
    stack = StackScheduler(threads=2, at_a_time=at_a_time)

    def work(number):
        under_way.add(number)
        for _ in range(number + 1):
            stack.submit(program, number, 1)
            seen.append(len(under_way))
        under_way.remove(number)
        return number

    works = [lambda number=number: work(number) for number in range(5)]
    assert stack.run(works) == [0, 1, 2, 3, 4]
    assert max(seen) == most


def test_stacks_are_powers_of_two_for_every_thread():
    def widths(runs, threads, most):
        stack = StackScheduler(threads)
        return stack.run([lambda: stack.width_of(most)] * runs)[0]

    assert [widths(32, 2, most) for most in (1, 8, 32)] == [1, 8, 16]
    assert [widths(runs, 2, 32) for runs in (2, 3, 5, 8, 9)] == [1, 2, 4, 4, 8]
    assert StackScheduler().width_of(32) == 1


# Learners

SMALL = ("task.history=5", "trainer.batch_size=8", "model.units=4")
FIB = ("task=fib", "task.count=60", *SMALL)
BAHDANAU = ("attention=bahdanau", "model.cell=simple")
EACH_ITS_OWN_DATA = (
    *("task=fib_random", "task.train_windows=50", "task.validation_windows=20", *SMALL),
    "task.test_windows=20",
)
CONVOLVED = ("attention.score=general", "model.positions=rope", "model.short_convolution=3")
# No biases: the gradient of the keys' bias is only rounding, which Adam makes as large as any.
BIASED = ("model.positions=t5", "model.layers=1", "attention.biases=false")
LAYERS = ("model.cell=lstm", "model.layers=2", "model.bidirectional=true")


@pytest.fixture
def learners(learner_of):
    """Learners of a configuration for some seeds."""

    def learners(*overrides, seeds=(0, 1, 2)):
        group = []
        for seed in seeds:
            task = () if "task=fib_random" in overrides else FIB
            group.append(learner_of(*task, "trainer.jit=false", *overrides, f"seed={seed}"))
        return group

    return learners


def epochs(learner, stack=None, width=1, count=5, rate=0.01):
    """A run of some epochs: its losses, those of validation among them, and its weights."""

    def work():
        learner.stack, learner.width, losses, done = stack, width, [], 0
        for epoch in range(1, count + 1):
            for chunk in learner.chunks(epoch):
                losses += [*learner.train(chunk, np.full(chunk.steps, rate), done).values]
                done += chunk.steps
            losses += learner.validate(epoch).values()
        return [np.array(losses), *learner.model.get_weights()]

    return work


def assert_agree(first, second):
    """Losses, and weights to 1e-5 of the largest."""
    np.testing.assert_allclose(first[0], second[0], rtol=1e-4)
    largest = max(np.max(np.abs(weight)) for weight in second[1:])
    for one, other in zip(first[1:], second[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * largest)


slow = pytest.mark.slow
OTHERS = ("pooling", "luong_local", "scaled_dot_product", "multi_head")


@pytest.mark.parametrize(
    "overrides",
    [
        ("attention=none",),
        (*BAHDANAU, "optimizer.clip_norm=1", "model.dropout=0.2", "attention.dropout=0.1"),
        (*BAHDANAU, "trainer.accumulate=2", "model.dropout=0.2"),
        *(pytest.param((f"attention={name}",), marks=slow) for name in OTHERS),
        pytest.param((*BAHDANAU, "optimizer=sgd"), marks=slow),
        pytest.param(("attention=luong_global", *LAYERS, "model.dropout=0.3"), marks=slow),
        pytest.param(("model=transformer", "attention=multi_head", *BIASED), marks=slow),
        pytest.param(("model=transformer", "attention=luong_global", *CONVOLVED), marks=slow),
        pytest.param(("attention=none", *EACH_ITS_OWN_DATA, "optimizer=adamw"), marks=slow),
    ],
)
def test_stacked_runs_agree_with_separate_runs(learners, caplog, overrides):
    alone = [epochs(learner)() for learner in learners(*overrides)]
    stack = StackScheduler(threads=2)
    works = [epochs(learner, stack, width=2) for learner in learners(*overrides)]
    for one, other in zip(stack.run(works), alone, strict=True):
        assert_agree(one, other)
    assert not caplog.messages  # they were stacked


def test_a_run_doesnt_depend_on_its_neighbours_to_the_bit(learners):
    overrides = (*BAHDANAU, "trainer.jit=true")
    (only,) = learners(*overrides, seeds=(5,))
    stack = StackScheduler()
    expected = epochs(only, stack, 4, count=2)()  # fills its stack itself
    others = learners(*overrides, seeds=(1, 5, 2, 3))
    others[0].model.set_weights([np.full_like(w, np.nan) for w in others[0].model.get_weights()])
    rates = (0.01, 0.01, 3e4, 0.002)
    works = [
        epochs(learner, stack, 4, 2, rate) for learner, rate in zip(others, rates, strict=True)
    ]
    works[3:] = [epochs(others[3], stack, 4, 1, 0.002)]  # stops early
    results = stack.run(works)
    assert np.isnan(results[0][0]).all()
    for one, other in zip(results[1], expected, strict=True):
        np.testing.assert_array_equal(one, other)
