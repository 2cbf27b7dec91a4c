"""Hydra's launcher `ray`: each job is a task of a Ray cluster.

Ray retries nothing: a lost process or node costs only its own jobs, and the same command resumes
them.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError, check_for_interrupt, listen_for_interrupts
from attnlab.records.environment import processors

if TYPE_CHECKING:
    from omegaconf import DictConfig

# Environment variables that jobs get from the launching process; the others are the node's.
_SENT = ("ATTNLAB_", "MLFLOW_", "TF_", "XLA_", "KERAS_", "HYDRA_")
_SECONDS_TO_ANSWER, _SECONDS_TO_STOP = 5.0, 20.0


@dataclass
class RayConf:
    """The settings `hydra.launcher` of `hydra/launcher=ray`."""

    address: str | None = None  # HOST:PORT, auto or local; None for $RAY_ADDRESS, else local
    num_cpus: float = 1.0  # processors per job
    num_gpus: float = 0.0  # GPUs per job; Ray lets a job see only its own
    max_calls: int = 0  # jobs per worker process; 0: no limit, but 1 with GPUs


def train_on_ray(
    train: Callable[..., Any], groups: Sequence[Any], work: Any, settings: DictConfig
) -> Iterator[Any]:
    """Call `train(number, group, work)` as a Ray task for each group.

    Yields the result of each task that ends, unless its process or node is lost. Raises
    `RequestError` if no cluster answers, or no node is large enough for a job.
    """
    if find_spec("ray") is None:
        raise RequestError(
            "hydra/launcher=ray: Ray is not installed. It comes with pip install 'attnlab[ray]'."
        )
    import ray

    work = replace(work, threads=max(1, int(settings.num_cpus)))
    # TensorFlow holds a GPU until its process ends.
    calls = 1 if settings.num_gpus else settings.max_calls
    with _cluster(settings):
        options = {"num_cpus": settings.num_cpus, "num_gpus": settings.num_gpus}
        task = ray.remote(max_retries=0, max_calls=calls, **options)(train)
        running = {task.remote(number, group, work) for number, group in enumerate(groups)}
        try:
            while running:
                ended, _ = ray.wait([*running], timeout=1.0)
                check_for_interrupt()
                for reference in ended:
                    running.remove(reference)
                    with suppress(ray.exceptions.RayError):
                        yield ray.get(reference)
        finally:
            for reference in running:  # interrupted: they may write a checkpoint
                ray.cancel(reference)
            if running:
                ray.wait([*running], num_returns=len(running), timeout=_SECONDS_TO_STOP)


@contextmanager
def _cluster(settings: DictConfig) -> Iterator[None]:
    """Connect to a cluster; a local one starts and ends with the body."""
    import ray

    address = settings.address or os.environ.get("RAY_ADDRESS") or "local"
    try:
        host, _, port = address.rpartition(":")
        if host:  # Ray itself would wait for minutes
            socket.create_connection((host, int(port)), _SECONDS_TO_ANSWER).close()
        local: dict[str, Any] = {"num_cpus": processors(), "include_dashboard": False}
        ray.init(
            address,
            log_to_driver=False,
            configure_logging=False,
            runtime_env={"env_vars": {k: v for k, v in os.environ.items() if k.startswith(_SENT)}},
            **(local if address == "local" else {}),
        )
    except (OSError, RuntimeError, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise RequestError(
            f"hydra.launcher.address={address}: no Ray cluster answers: {reason.rstrip('.')}."
        ) from error
    try:
        listen_for_interrupts()  # Ray has a handler of its own
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        needs = {"CPU": settings.num_cpus, "GPU": settings.num_gpus}
        if not any(all(node.get(k, 0.0) >= need for k, need in needs.items()) for node in nodes):
            sizes = ", ".join(f"{n.get('CPU', 0):g} CPUs {n.get('GPU', 0):g} GPUs" for n in nodes)
            raise RequestError(
                f"hydra.launcher.num_cpus={settings.num_cpus:g} num_gpus={settings.num_gpus:g}: no "
                f"node of the Ray cluster is so large: {sizes}."
            )
        yield
    finally:
        ray.shutdown()
