"""The environment of a run: versions, machine, code; no variables that may be secret."""

from __future__ import annotations

import getpass
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from attnlab.records.files import flatten

# The variable with the typed command, which a sweep's processes inherit.
TYPED = "ATTNLAB_COMMAND"
PACKAGES = (
    *("attnlab", "tensorflow", "keras", "numpy", "scipy", "hydra-core", "omegaconf", "mlflow"),
    *("matplotlib", "h5py", "tokenizers", "sacrebleu"),
)
# Variables that set the number of threads, and so the order of sums.
THREADS = ("TF_NUM_INTRAOP_THREADS", "OMP_NUM_THREADS", "TF_ENABLE_ONEDNN_OPTS")
_IDLE = ("user", "command", "platform", "resumed")  # entries that don't change results
# The flag that `internals` adds to the user's $XLA_FLAGS.
OWN_XLA_FLAG = "--xla_backend_extra_options=xla_cpu_disable_loop_unrolling"


def environment() -> dict[str, Any]:
    """Return the entries of environment.json; the version of a missing package is None.

    Versions come from the packages' metadata, so nothing is imported. Environment variables may
    contain credentials, so only thread counts and XLA's flags are included.
    """
    user = None
    with suppress(OSError, KeyError, ImportError):  # it has no name, as in some containers
        user = getpass.getuser()
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": platform.machine(),
        "processor_model": _processor_model(),
        "cpus": processors(),
        "gpu": has_gpu(),
        "xla_flags": os.environ.get("XLA_FLAGS", "").replace(OWN_XLA_FLAG, "").strip() or None,
        "threads": {name: value for name in THREADS if (value := os.environ.get(name))},
        "packages": {name: _version(name) for name in PACKAGES},
        "code": code_version(Path(__file__).resolve().parents[2]),
        "user": user,
        "command": os.environ.get(TYPED) or shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }


def processors() -> int:
    """Return how many processors this process may use."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def has_gpu() -> bool:
    """Return whether this machine has a GPU that TensorFlow may find, without importing it."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):  # empty hides all GPUs from CUDA
        return False
    return any(any(Path("/dev").glob(name)) for name in ("nvidia[0-9]*", "kfd", "dxg"))


@cache
def _processor_model() -> str | None:
    """Return the processor's model name; None if unknown."""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
        return next(
            (line.partition(":")[2].strip() for line in lines if "model name" in line), None
        )
    return platform.processor() or None


def differences(began: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what may change results, as in `packages.numpy 2.1.0, now 2.2.0`."""
    old, new = (flatten(recorded, _IDLE) for recorded in (began, now))
    return [f"{key} {old.get(key)}, now {new[key]}" for key in new if old.get(key) != new[key]]


def code_version(root: Path) -> dict[str, Any] | None:
    """Return the git commit of a checkout, and whether tracked files differ from it.

    None if `root` isn't the top of a checkout, or git is missing.
    """
    if not (root / ".git").exists():
        return None
    results = []
    for words in (("rev-parse", "HEAD"), ("status", "--porcelain", "--untracked-files=no")):
        try:
            done = subprocess.run(
                ["git", "-C", str(root), *words], capture_output=True, timeout=5, check=True
            )
        except (OSError, subprocess.SubprocessError):
            return None
        results.append(done.stdout.decode(errors="replace").strip())
    return {"commit": results[0], "dirty": bool(results[1])}


@cache
def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
