"""A Ctrl-C that Python ignores still interrupts."""

import os
import signal
import weakref

import pytest

from attnlab import errors


@pytest.fixture(autouse=True)
def handlers():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    errors.listen_for_interrupts()
    yield
    errors._interrupted.clear()
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_signal_interrupts_at_once():
    for number in (signal.SIGINT, signal.SIGTERM):
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
            signal.pause()
        errors.listen_for_interrupts()  # anew
        errors.check_for_interrupt()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_in_a_callback_is_not_lost():
    class Thing:
        pass

    thing = Thing()
    keeper = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGINT))
    errors.check_for_interrupt()
    del thing  # Python prints the exception and forgets it
    assert keeper() is None
    with pytest.raises(KeyboardInterrupt):
        errors.check_for_interrupt()


def test_an_ignored_ctrl_c_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    errors.listen_for_interrupts()
    os.kill(os.getpid(), signal.SIGINT)
    errors.check_for_interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
