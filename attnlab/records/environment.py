"""What a run ran on: versions, machine, code. No environment variable that may be secret."""

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

from attnlab.process import variable

# The command as it was typed, for the processes of a sweep, too.
TYPED = "ATTNLAB_COMMAND"
PACKAGES = (
    *("attnlab", "tensorflow", "keras", "numpy", "scipy", "hydra-core", "omegaconf", "mlflow"),
    *("matplotlib", "h5py", "tokenizers", "sacrebleu"),
)
# What decides how many threads compute, and so in which order sums are taken.
THREADS = ("TF_NUM_INTRAOP_THREADS", "OMP_NUM_THREADS", "TF_ENABLE_ONEDNN_OPTS")
# What `training.tensorflow_internals` adds to $XLA_FLAGS; the rest is the user's.
OWN_XLA_FLAG = "--xla_backend_extra_options=xla_cpu_disable_loop_unrolling"


def environment() -> dict[str, Any]:
    """The entries of environment.json; packages are None where one is missing.

    Versions come from the packages' metadata, so nothing is imported. Environment variables are
    left out but for numbers of threads and XLA's flags, since they may hold credentials.
    """
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": platform.machine(),
        "processor_model": _processor_model(),
        "cpus": processors(),
        "gpu": has_gpu(),
        "xla_flags": (variable("XLA_FLAGS") or "").replace(OWN_XLA_FLAG, "").strip() or None,
        "threads": {name: value for name in THREADS if (value := variable(name))},
        "packages": {name: _version(name) for name in PACKAGES},
        "code": code_version(Path(__file__).resolve().parents[2]),
        "user": user(),
        "command": variable(TYPED) or shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }


def user() -> str | None:
    """Who runs this process; None where the system has no name, as in some containers."""
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return None


def processors() -> int:
    """How many this process may use."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def has_gpu() -> bool:
    """Whether TensorFlow may find a GPU on this machine; TensorFlow is not imported."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):  # empty hides all GPUs from CUDA
        return False
    return any(any(Path("/dev").glob(name)) for name in ("nvidia[0-9]*", "kfd", "dxg"))


@cache
def _processor_model() -> str | None:
    """The processor's name, which says more than its architecture; None if it isn't known."""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
        return next(
            (line.partition(":")[2].strip() for line in lines if "model name" in line), None
        )
    return platform.processor() or None


def differences(began: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two environments, in words: `numpy 2.1.0, now 2.2.0`."""
    old, new = _comparable(began), _comparable(now)
    return [f"{k} {old.get(k)}, now {new[k]}" for k in new if old.get(k) != new[k]]


def _comparable(environment: Mapping[str, Any]) -> dict[str, Any]:
    code = environment.get("code") or {}
    commit = f"{str(code.get('commit'))[:10]}{' with changes' if code.get('dirty') else ''}"
    names = ("python", "processor", "cpus", "processor_model", "gpu", "xla_flags")
    threads = environment.get("threads") or {}
    return {
        **{name: environment.get(name) for name in names},
        **(environment.get("packages") or {}),
        **{name: threads.get(name) for name in THREADS},
        **({"code": commit} if code else {}),
    }


def code_version(root: Path) -> dict[str, Any] | None:
    """The git commit of a checkout and whether tracked files differ: `{"commit", "dirty"}`.

    None where `root` is no checkout's top, or git is missing.
    """
    if not (root / ".git").exists():
        return None
    commit = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain", "--untracked-files=no")
    return None if commit is None else {"commit": commit, "dirty": bool(changes)}


def _git(root: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=5
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


@cache
def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
