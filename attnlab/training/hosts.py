"""The hosts of one run: which there are, how they connect, and messages from the first to all.

`TF_CONFIG` names the hosts; Ray Train and Kubernetes set it. Without it Slurm's variables do. Every
host runs the same command in a process of its own. TensorFlow calls the first one the chief.
"""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np
import tensorflow as tf

from attnlab.errors import HostLost, RequestError, explained, plain_text
from attnlab.process import variable
from attnlab.training.tensorflow_internals import slurm_hosts, slurm_tasks_per_host

Result = TypeVar("Result")
_CONFIG = "TF_CONFIG"
_STEP = "SLURM_STEP_"
# Seconds within which all hosts must have started.
PATIENCE = 300.0
# Seconds between two attempts to reach the chief, and seconds within which a greeting comes.
_PAUSE, _SECONDS_PER_ANSWER = 0.2, 5.0
_LONGEST = 16  # bytes of a greeting
_ALL = b"all"  # the chief's answer, when all are here
# Slurm's jobs use ports from here on, by their number, because several jobs may share a host.
_FIRST_PORT, _PORTS = 20_000, 10_000


class Hosts(NamedTuple):
    """The hosts of a run and the place of this process among them."""

    addresses: tuple[str, ...]  # HOST:PORT of each process, the chief first
    index: int

    @property
    def is_chief(self) -> bool:
        """Whether this process commands the others."""
        return self.index == 0

    def connect(self, gpus: int) -> tf.distribute.Strategy:
        """Return the strategy of all hosts when all have started; Ctrl-C ends the wait.

        Args:
            gpus: number of GPUs of each host; 0: each host computes on its processors.

        Raises:
            RequestError: a host didn't start, or the port is in use.
        """
        self._meet()
        cluster = tf.train.ClusterSpec({"worker": list(self.addresses)})
        place = {"task_type": "worker", "task_id": self.index, "rpc_layer": "grpc"}
        resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
            cluster, num_accelerators={"GPU": gpus}, **place
        )
        try:
            with _own_signals():
                return tf.distribute.MultiWorkerMirroredStrategy(resolver)
        except tf.errors.OpError as error:
            raise RequestError(
                f"trainer.devices: {self.addresses[self.index]} can't be used: {plain_text(error)}"
            ) from error

    def _meet(self) -> None:
        """Wait until all hosts are here: TensorFlow would wait for ever, and ignore Ctrl-C."""
        end, port = time.monotonic() + PATIENCE, int(self.addresses[self.index].rpartition(":")[2])
        with explained(f"trainer.devices: port {port} of this host can't be used"):
            server = socket.create_server(("", port))
        try:
            with server:
                if self.is_chief:
                    self._welcome(server, end)
            if not self.is_chief:
                self._greet(end)
        except TimeoutError:
            raise RequestError(
                f"trainer.devices: not all of {', '.join(self.addresses)} started the run within "
                f"{PATIENCE:.0f} s: start the same command on each host."
            ) from None

    def _welcome(self, server: socket.socket, end: float) -> None:
        """Wait for a greeting from each worker, then answer all."""
        with ExitStack() as open_ones:
            here: dict[int, socket.socket] = {}
            while not here.keys() >= {*range(1, len(self.addresses))}:
                server.settimeout(max(end - time.monotonic(), 0.001))
                worker, _ = server.accept()
                open_ones.enter_context(worker).settimeout(_SECONDS_PER_ANSWER)
                with suppress(OSError, ValueError):  # it is no worker, or has ended
                    here[int(worker.recv(_LONGEST))] = worker
                here = {index: each for index, each in here.items() if _is_open(each)}
            for worker in here.values():
                with suppress(OSError):  # it has ended
                    worker.sendall(_ALL)

    def _greet(self, end: float) -> None:
        """Tell the chief that this worker is here, as soon as it listens; wait for its answer."""
        name, _, port = self.addresses[0].rpartition(":")
        while True:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            with suppress(OSError):
                with socket.create_connection((name, int(port)), timeout=left) as chief:
                    chief.sendall(str(self.index).encode())
                    if chief.recv(_LONGEST) == _ALL:
                        return
            time.sleep(_PAUSE)


def _is_open(connection: socket.socket) -> bool:
    """Return whether the other side, which waits for an answer, has not ended."""
    connection.setblocking(False)
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        connection.settimeout(_SECONDS_PER_ANSWER)


def hosts_of_this_run() -> Hosts | None:
    """Return the hosts that the environment names; None if this process is the only one.

    Raises:
        RequestError: `TF_CONFIG` is not valid, or Slurm's variables don't fit each other.
    """
    text = variable(_CONFIG)
    found = _of_tensorflow(text) if text else _of_slurm(os.environ)
    return found if found and len(found.addresses) > 1 else None


def _of_tensorflow(text: str) -> Hosts:
    try:
        config = json.loads(text)
        cluster, task = config.get("cluster", {}), config.get("task", {})
        jobs = {job: list(addresses) for job, addresses in cluster.items() if addresses}
        place, index = str(task.get("type", "worker")), int(task.get("index", 0))
    except (AttributeError, TypeError, ValueError):
        raise RequestError(
            f'{_CONFIG}: expected JSON such as {{"cluster": {{"worker": ["host1:2222", '
            f'"host2:2222"]}}, "task": {{"type": "worker", "index": 0}}}}, got {text}.'
        ) from None
    addresses = (*jobs.get("chief", []), *jobs.get("worker", []))
    if not addresses:
        raise RequestError(f"{_CONFIG}: names no hosts: add cluster.worker, or unset {_CONFIG}.")
    if other := next((job for job in [*jobs, place] if job not in ("chief", "worker")), None):
        raise RequestError(f"{_CONFIG}: expected jobs named chief or worker, got {other}.")
    if wrong := next((each for each in addresses if not _is_address(each)), None):
        raise RequestError(f"{_CONFIG}: expected addresses HOST:PORT, got {wrong}.")
    if not 0 <= index < len(jobs.get(place, [])):
        raise RequestError(f"{_CONFIG}: task {place} {index} is not in its cluster.")
    return Hosts(addresses, index + (len(jobs.get("chief", [])) if place == "worker" else 0))


def _is_address(text: Any) -> bool:
    host, _, port = str(text).rpartition(":")
    return bool(host) and port.isdecimal() and 0 < int(port) < 1 << 16


def _of_slurm(environment: Mapping[str, str]) -> Hosts | None:
    """Return the tasks of a job step, each a host; None outside of a step with several."""
    if environment.get(f"{_STEP}NUM_TASKS", "1") == "1":
        return None
    try:
        names = slurm_hosts(environment[f"{_STEP}NODELIST"])
        tasks = slurm_tasks_per_host(environment[f"{_STEP}TASKS_PER_NODE"])
        places = [
            (name, at) for name, count in zip(names, tasks, strict=True) for at in range(count)
        ]
        index, step = int(environment["SLURM_PROCID"]), int(environment.get(f"{_STEP}ID", "0"))
        job, on_host = int(environment["SLURM_JOB_ID"]), int(environment["SLURM_LOCALID"])
        is_in_place = places[index][1] == on_host
    except (LookupError, ValueError) as error:
        raise RequestError(
            f"{_STEP}*: expected the variables that srun sets for each task, but {error!r}."
        ) from error
    if not is_in_place:
        raise RequestError("trainer.devices: start the tasks in blocks: srun --distribution=block.")
    first = _FIRST_PORT + (job * 16 + step) % _PORTS
    return Hosts(tuple(f"{name}:{first + at}" for name, at in places), index)


class Messages:
    """Messages that reach every host, carried by the operation that also adds gradients."""

    def __init__(self, hosts: Hosts, strategy: tf.distribute.Strategy) -> None:
        self.hosts, self._strategy = hosts, strategy
        self._replicas = strategy.num_replicas_in_sync // len(hosts.addresses)
        signature = [tf.TensorSpec((None,), tf.int64)]
        self._sum = tf.function(self._sum_of_hosts, input_signature=signature, autograph=False)

    def send(self, message: Any, arrays: Sequence[np.ndarray] = ()) -> None:
        """Send a JSON-ready value and arrays; for the chief."""
        stream = io.BytesIO()
        text = np.frombuffer(json.dumps(message).encode(), np.uint8)
        np.savez(stream, text, *arrays)
        content = np.frombuffer(stream.getvalue(), np.uint8)
        self.added([content.size])
        self.added(np.pad(content, (0, -content.size % 8)).view(np.int64))

    def receive(self) -> tuple[Any, list[np.ndarray]]:
        """Return what the chief sends next; Ctrl-C ends the wait."""
        (size,) = interruptible(lambda: self.added([0]))
        content = self.added(np.zeros(-(-int(size) // 8))).tobytes()[:size]
        with np.load(io.BytesIO(content), allow_pickle=False) as parts:
            text, *arrays = (parts[f"arr_{at}"] for at in range(len(parts.files)))
        return json.loads(text.tobytes()), arrays

    def failed(self, here: bool) -> list[str]:
        """Return the addresses of the hosts that call this with true; all call it."""
        flags = np.zeros(len(self.hosts.addresses))
        flags[self.hosts.index] = here
        found = interruptible(lambda: self.added(flags))
        return [each for each, flag in zip(self.hosts.addresses, found, strict=True) if flag]

    def added(self, own: Any) -> np.ndarray:
        """Return the sum of the integers (n,) of all hosts, on each of them."""
        total = self._sum(tf.constant(own, tf.int64))
        return self._strategy.experimental_local_results(total)[0].numpy()

    def _sum_of_hosts(self, own):
        def on_device(own):
            context = tf.distribute.get_replica_context()
            is_first = context.replica_id_in_sync_group % self._replicas == 0
            return context.all_reduce("SUM", tf.where(is_first, own, tf.zeros_like(own)))

        return self._strategy.run(on_device, (own,))


@contextmanager
def lost_hosts_explained(hosts: Hosts) -> Iterator[None]:
    """Turn TensorFlow's errors about a host that doesn't answer into `HostLost`."""
    try:
        yield
    except (
        tf.errors.UnavailableError,
        tf.errors.AbortedError,
        tf.errors.CancelledError,
        tf.errors.DeadlineExceededError,
    ) as error:
        whose = "another host" if hosts.is_chief else f"the first host, {hosts.addresses[0]},"
        raise HostLost(f"{whose} has ended or can't be reached.") from error


def interruptible(compute: Callable[[], Result]) -> Result:
    """Return the result of a call in another thread, so that Ctrl-C ends the wait for it."""
    found: Future[Result] = Future()

    def work() -> None:
        try:
            found.set_result(compute())
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return found.result()


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep Python's handler of SIGTERM, which TensorFlow replaces in a cluster."""
    try:
        yield
    finally:
        handler = signal.getsignal(signal.SIGTERM)
        if threading.current_thread() is threading.main_thread() and handler is not None:
            signal.signal(signal.SIGTERM, handler)
