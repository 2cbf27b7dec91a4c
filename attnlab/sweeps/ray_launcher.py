"""Hydra's launcher `ray`: each job is a task of a Ray cluster.

Unlike hydra-ray-launcher, it takes one result at a time, so a lost worker or node costs only its
own job. Ray itself retries nothing: the same command resumes what was lost.
"""

from __future__ import annotations

import logging
import math
import os
import shutil
import signal
import socket
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from filelock import FileLock
from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

from attnlab.errors import RequestError
from attnlab.process import set_up, variable
from attnlab.records.environment import processors
from attnlab.run.command import check_for_interrupt

TARGET = "hydra_plugins.attnlab.RayLauncher"
LOCAL = "local"
# Variables that jobs need from the process that launches them; nodes have their own others.
_SENT = ("ATTNLAB_", "MLFLOW_", "TF_", "XLA_", "KERAS_", "HYDRA_")
_MOST_WAITING = 256  # tasks that Ray knows beyond those that run, so that each wait looks at few
_SECONDS_TO_ANSWER, _SECONDS_BETWEEN_LOOKS, _SECONDS_TO_STOP = 5.0, 1.0, 20.0
# Folder of a local cluster's files. /tmp, because the path of a socket has at most 107 bytes.
_TEMPORARY = Path("/tmp" if os.name == "posix" else tempfile.gettempdir())
_PREFIX, _LOCK = "attnlab-ray-", "attnlab.lock"
# After a kill, Ray's agents live for a minute and make their folders again if these are missing.
_SECONDS_WITHOUT_CHANGE = 300.0
log = logging.getLogger(__name__)


@dataclass
class RayConf:
    """The settings `hydra.launcher` of `hydra/launcher=ray`."""

    _target_: str = TARGET
    address: str | None = None  # HOST:PORT, auto or local; None for $RAY_ADDRESS, else local
    num_cpus: float = 1.0  # processors per job
    num_gpus: float = 0.0  # GPUs per job; Ray lets a job see only its own
    max_calls: int | None = None  # jobs per worker process, 0 for no limit; None: attnlab chooses


class JobLost(Exception):
    """A job has no result, because its process or its node ended."""


class RayLauncher(Launcher):
    """Runs each job as a Ray task; `connected` must be open."""

    def __init__(self, **settings: Any):
        self._settings, self._cpus = settings, float(settings["num_cpus"])

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Store what the jobs need."""
        self._shared = (hydra_context, config, task_function)

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        """Run all jobs; the result of a lost job is a `JobLost`.

        Raises the error of a job that stops the sweep. Running jobs are then interrupted, as by
        Ctrl-C, and may write a checkpoint.
        """
        import ray

        setup_globals()
        sent = {k: v for k, v in os.environ.items() if k.startswith(_SENT)}
        # A reference inside a list stays one, so a worker reads what jobs share only once.
        shared = [ray.put((Singleton.get_state(), *self._shared, os.getcwd(), sent))]
        calls = {key: self._settings[key] for key in ("num_cpus", "num_gpus", "max_calls")}
        if self._settings["num_gpus"]:
            calls["max_calls"] = 1  # TensorFlow holds a GPU until its process ends
        task = ray.remote(max_retries=0, **calls)(_job)
        waiting = [(initial_job_idx + i, list(w)) for i, w in enumerate(job_overrides)][::-1]
        running: dict[Any, int] = {}
        found: dict[int, JobReturn] = {}
        lacks_nodes = False
        try:
            while waiting or running:
                most = _MOST_WAITING + int(ray.cluster_resources().get("CPU", 0) / self._cpus)
                while waiting and len(running) < most:
                    number, words = waiting.pop()
                    running[task.remote(shared, number, words)] = number
                ended, _ = ray.wait([*running], timeout=_SECONDS_BETWEEN_LOOKS)
                check_for_interrupt()
                if not (ended or lacks_nodes or _slots(self._cpus, self._settings["num_gpus"])):
                    lacks_nodes = True
                    log.warning(
                        "No node of the Ray cluster is large enough for the jobs any more: they "
                        "wait for one. Ctrl-C ends the sweep."
                    )
                for reference in ended:
                    found[running.pop(reference)] = _result(reference)
        except BaseException:
            _interrupt([*running])
            raise
        return [found[number] for number in sorted(found)]


_read: dict[Any, Any] = {}  # what the jobs of the current launch share, in a worker


def _job(shared: Sequence[Any], number: int, words: list[str]) -> JobReturn | BaseException:
    """Run a job in a Ray worker; returns an error that stops the sweep."""
    import ray

    (reference,) = shared
    if reference not in _read:
        _read.clear()
        _read[reference] = ray.get(reference)
    state, context, config, function, folder, environment = _read[reference]
    os.chdir(folder)
    os.environ.update(environment)
    set_up()
    setup_globals()
    Singleton.set_state(state)
    composed = context.config_loader.load_sweep_config(config, words)
    job = composed.hydra.job
    with open_dict(job):
        job.id, job.num = f"{job.name}_{number}", number
    HydraConfig.instance().set_config(composed)
    folders = ("hydra.sweep.dir", "hydra.sweep.subdir")
    try:
        return run_job(function, composed, *folders, hydra_context=context)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return error


def _result(reference: Any) -> JobReturn:
    """Return the result of a task that has ended; raises an error that stops the sweep."""
    import ray

    try:
        found = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        return JobReturn(status=JobStatus.FAILED, _return_value=error.cause or error)
    except ray.exceptions.RayError as error:
        reason = str(error).strip().partition("\n")[0]
        lost = JobLost(f"{type(error).__name__}: {reason}")
        return JobReturn(status=JobStatus.FAILED, _return_value=lost)
    if isinstance(found, BaseException):
        raise found
    return found


def _interrupt(references: list[Any]) -> None:
    """Interrupt tasks; end those that have not stopped after some seconds."""
    import ray

    with suppress(ray.exceptions.RayError):
        for reference in references:
            ray.cancel(reference)
        if references:
            _, left = ray.wait(references, num_returns=len(references), timeout=_SECONDS_TO_STOP)
            for reference in left:
                ray.cancel(reference, force=True)


def _nodes() -> list[tuple[float, float]]:
    """Return processors and GPUs of each node."""
    import ray

    found = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return [(each.get("CPU", 0.0), each.get("GPU", 0.0)) for each in found]


def _slots(cpus: float, gpus: float) -> int:
    """Return how many jobs that need so much the nodes run at the same time."""
    return sum(
        int(min(has // cpus, gpus_there // gpus if gpus else math.inf))
        for has, gpus_there in _nodes()
    )


@contextmanager
def _signals_held() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM act after the body.

    Ray doesn't end processes that it was starting when it was interrupted. `ray.init` sets its own
    handler of SIGTERM, so handlers can't be set in the body.
    """
    known = {int(n): signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    held = {number: handler for number, handler in known.items() if callable(handler)}
    came: list[int] = []
    set_handler = signal.signal
    for number in held:
        set_handler(number, lambda number, _: came.append(number))

    def set_other(signalnum: int, handler: Any) -> Any:
        return held.get(signalnum) or set_handler(signalnum, handler)

    signal.signal = set_other
    try:
        yield
    finally:
        signal.signal = set_handler
        for number, handler in held.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


def _new_folder() -> tuple[Path, FileLock]:
    """Make the folder of a local cluster, with a lock that ends with this process.

    Also removes the folders of processes that were killed.
    """
    _remove_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_TEMPORARY))
    lock = FileLock(folder / "new.lock")
    with suppress(OSError):  # without the lock nobody else removes the folder
        lock.acquire(blocking=False)
        os.rename(lock.lock_file, folder / _LOCK)  # so a file of this name has been locked
    return folder, lock


def _remove_abandoned() -> None:
    """Remove this user's folders whose lock no process holds, and that don't change any more.

    Folders without a lock stay.
    """
    if os.name != "posix":
        return
    for folder in _TEMPORARY.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            found, lock = folder.lstat(), folder / _LOCK
            own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
            if not own or not lock.is_file():
                continue
            changed = max(path.lstat().st_mtime for path in [folder, *folder.rglob("*")])
            if time.time() - changed >= _SECONDS_WITHOUT_CHANGE:
                with FileLock(lock, blocking=False):
                    _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a folder; if Ray's last processes still write to it, mark the rest as abandoned."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        (folder / _LOCK).touch()


class Connection:
    """The connection of a sweep to a Ray cluster; a local cluster starts and ends with it.

    Raises `RequestError` if Ray isn't installed, or a setting is wrong.
    """

    def __init__(self, settings: DictConfig):
        if find_spec("ray") is None:
            raise RequestError(
                "hydra/launcher=ray: Ray is not installed. It comes with pip install "
                "'attnlab[ray]'."
            )
        self._address = settings.address or variable("RAY_ADDRESS") or LOCAL
        self._cpus, self._gpus = float(settings.num_cpus), float(settings.num_gpus)
        self._folder: Path | None = None
        self._lock: FileLock | None = None  # of the folder
        if self._cpus <= 0:
            raise RequestError(f"hydra.launcher.num_cpus={settings.num_cpus}: must be above 0.")
        if self._gpus < 0:
            raise RequestError(f"hydra.launcher.num_gpus={settings.num_gpus}: must be at least 0.")
        if self._address.startswith("ray://"):
            raise RequestError(
                f"hydra.launcher.address={self._address}: expected HOST:PORT, auto or local, and "
                "a command that runs on a node of the cluster."
            )

    def open(self) -> None:
        """Connect, or start a local cluster; does nothing if that is done.

        Raises:
            RequestError: no cluster answers, or no node is large enough for a job.
        """
        if self._folder is not None:
            return
        if self._address not in (LOCAL, "auto"):
            self._require_answer()
        import ray

        own: dict[str, Any] = {}
        if self._address == LOCAL:
            own = {"num_cpus": processors(), "include_dashboard": False}
        try:
            with self._quiet() as folder, self._held():
                ray.init(
                    address=self._address,
                    log_to_driver=False,
                    configure_logging=False,
                    **own,
                    _temp_dir=folder if own else None,
                )
        except BaseException as error:
            self.close()
            if isinstance(error, (ConnectionError, RuntimeError, ValueError, TimeoutError)):
                raise RequestError(self._no_cluster(error)) from error
            raise
        if not self.slots:
            nodes = _nodes()
            self.close()
            raise RequestError(self._too_large(nodes))

    def close(self) -> None:
        """Disconnect, and end a local cluster."""
        if self._folder is None:
            return
        import ray

        folder, self._folder = self._folder, None
        with self._held():
            try:
                ray.shutdown()
            finally:
                _remove(folder)
                self._lock = None

    @property
    def slots(self) -> int:
        """Return how many jobs the cluster runs at the same time, with the current nodes."""
        return _slots(self._cpus, self._gpus)

    def _held(self) -> AbstractContextManager[None]:
        return _signals_held() if self._address == LOCAL else nullcontext()

    @contextmanager
    def _quiet(self) -> Iterator[str]:
        """Yield a new folder, for a local cluster's files, and restore what `ray.init` changes.

        Ray lets workers import from the working folder, where a file random.py would replace
        Python's own; so the working folder has no modules meanwhile.
        """
        self._folder, self._lock = _new_folder()
        before, handler = os.getcwd(), signal.getsignal(signal.SIGTERM)
        logger = logging.getLogger("ray")
        level = logger.level
        logger.setLevel(logging.ERROR)
        os.chdir(self._folder)
        try:
            yield str(self._folder)
        finally:
            os.chdir(before)
            logger.setLevel(level)
            signal.signal(signal.SIGTERM, handler)

    def _require_answer(self) -> None:
        host, _, port = self._address.rpartition(":")
        if not host or not port.isdigit():
            raise RequestError(
                f"hydra.launcher.address={self._address}: expected HOST:PORT, auto or local."
            )
        try:
            socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_ANSWER).close()
        except (OSError, OverflowError) as error:
            raise RequestError(self._no_cluster(error)) from error

    def _no_cluster(self, error: Exception) -> str:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        return (
            f"hydra.launcher.address={self._address}: no Ray cluster answers: {reason.rstrip('.')}."
        )

    def _too_large(self, nodes: list[tuple[float, float]]) -> str:
        listed = ", ".join(f"{cpus:g} CPUs and {gpus:g} GPUs" for cpus, gpus in sorted({*nodes}))
        return (
            f"hydra.launcher.num_cpus={self._cpus:g} hydra.launcher.num_gpus={self._gpus:g}: no "
            f"node of the Ray cluster is large enough. The nodes have {listed}."
        )
