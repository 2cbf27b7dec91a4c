"""One run on several hosts: the first one trains, evaluates and saves it; the others help.

All hosts run the same command. The first host, the chief, tells the others, the workers, which
steps to take; then each takes its part of them. Workers write nothing, and the chief sends them all
values at the start of each epoch. So a run resumes on other hosts, or on one.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.config.sections import RunConfig, TrainerConfig
from attnlab.errors import HostLost, RequestError, RunFailed
from attnlab.records import logs
from attnlab.run.building import import_tensorflow, make_learner, make_task, start_afresh
from attnlab.tasks.base import Chunk, Learner, TaskData, assign

if TYPE_CHECKING:
    from attnlab.training.hosts import Messages

_RUN, _STEPS, _END = "run", "steps", "end"


def on_all_hosts(trainer: TrainerConfig, run: Callable[[], Any]) -> None:
    """Call `run`; if the run has several hosts, only the chief does, and the workers help.

    Raises:
        RequestError: the hosts can't be connected, or this one can't load the same data.
        HostLost: another host has ended.
    """
    global _workers
    messages = None if trainer.devices == 1 else _connected(trainer)
    if messages is None:
        run()
        return
    if not messages.hosts.is_chief:
        _help(messages)
        return
    _workers = Workers(messages)
    try:
        run()
    except HostLost:
        raise
    except Exception:
        _workers.end()
        raise
    _workers.end()


def _connected(trainer: TrainerConfig) -> Messages | None:
    import_tensorflow()
    from attnlab.training import devices

    hosts = devices.hosts_for(trainer)
    if hosts is None:
        return None
    if hosts.is_chief and logs.verbosity >= 0:
        text = f"attnlab: waiting until all {len(hosts.addresses)} hosts have started"
        print(text, file=sys.stderr, flush=True)
    return devices.messages_between(hosts)


class Workers:
    """The workers of a run, as its chief commands them; without any, nothing happens."""

    def __init__(self, messages: Messages | None) -> None:
        self._messages = messages
        self._epoch = 0  # of the values that the workers have
        self._computing = False  # whether they take steps, for which they need this process

    @staticmethod
    def here() -> Workers:
        """Return the workers of this process."""
        return _workers

    @property
    def compiler(self) -> bool | None:
        """Whether a new run is prepared for XLA; None: the model decides.

        The workers' processors may differ, so the chief decides for all. With a GPU it is as on one
        of them: a translator's batches depend on it.
        """
        if self._messages is None:
            return None
        from attnlab.training.steps import has_gpu

        return has_gpu()

    def required(self) -> AbstractContextManager[None]:
        """Raise `HostLost` in place of TensorFlow's errors about workers in the body."""
        if self._messages is None:
            return nullcontext()
        from attnlab.training.hosts import lost_hosts_explained

        return lost_hosts_explained(self._messages.hosts)

    def prepare(self, config: RunConfig, data: TaskData) -> None:
        """Let the workers load the run's data; returns when all have them.

        Raises:
            RunFailed: one can't, or has other data.
        """
        if self._messages is None:
            return
        self._messages.send([_RUN, dataclasses.asdict(config), data.digest])
        if failed := self._messages.failed(False):
            raise RunFailed(f"{', '.join(failed)} can't compute the run, and says why.")

    @contextmanager
    def taking_steps(
        self, learner: Learner, epoch: int, chunk: int, rates: np.ndarray, first_step: int
    ) -> Iterator[None]:
        """Let the workers call `Learner.train`, as this process does in the body.

        Args:
            learner: of this process.
            epoch: number of the epoch.
            chunk: the chunk's place in the epoch, from 0.
            rates: (steps,) learning rates.
            first_step: number of gradient steps of the run before the chunk.
        """
        if self._messages is None:
            yield
            return
        values = learner.trained_values() if epoch != self._epoch else []
        self._computing = True
        self._messages.send([_STEPS, epoch, chunk, first_step], [rates, *values])
        self._epoch = epoch
        yield
        self._computing = False

    def end(self) -> None:
        """Let the workers end; the run is complete without them.

        If they compute, they wait for this process and would not hear it: they end when it does.
        """
        if self._messages is not None and not self._computing:
            with suppress(HostLost), self.required():
                self._messages.send([_END])


_workers = Workers(None)


def _help(messages: Messages) -> None:
    """Take the steps for which the chief asks, until it ends."""
    from attnlab.training.hosts import lost_hosts_explained

    with lost_hosts_explained(messages.hosts):
        (what, *content), _ = messages.receive()
        if what == _END:
            return
        config, task = _loaded(messages, *content)
        start_afresh(config.seed)
        learner = make_learner(config, task)
        chunks: Sequence[Chunk] = []
        while (found := messages.receive())[0][0] == _STEPS:
            (_, epoch, chunk, first_step), (rates, *values) = found
            if values:  # a new epoch
                assign(learner.trained_variables(), values)
                chunks = learner.chunks(epoch)
            learner.train(chunks[chunk], rates, first_step)


def _loaded(messages: Messages, settings: dict[str, Any], digest: str) -> tuple[RunConfig, Any]:
    """Return the chief's configuration and its task with data, and tell the chief."""
    config = RunConfig(**settings)
    try:
        task = make_task(config)
        config.require_same_files()
        found = task.load(config.seed).digest
        if found != digest:
            raise RequestError(
                f"data: this host has other data than the first one (digest {found[:12]}, there "
                f"{digest[:12]}): all hosts need the same files."
            )
    except Exception:
        messages.failed(True)
        raise
    messages.failed(False)
    return config, task
