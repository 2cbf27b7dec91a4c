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

from attnlab.process import processors, variable

# The variable with the typed command, which a sweep's processes inherit.
TYPED = "ATTNLAB_COMMAND"
PACKAGES = (
    *("attnlab", "tensorflow", "keras", "numpy", "scipy", "hydra-core", "omegaconf", "mlflow"),
    *("matplotlib", "h5py", "tokenizers", "sacrebleu"),
)
# Variables that set the number of threads, and so the order of sums.
THREADS = ("TF_NUM_INTRAOP_THREADS", "OMP_NUM_THREADS", "TF_ENABLE_ONEDNN_OPTS")
# The flag that `training.tensorflow_internals` adds to the user's $XLA_FLAGS.
OWN_XLA_FLAG = "--xla_backend_extra_options=xla_cpu_disable_loop_unrolling"


def environment() -> dict[str, Any]:
    """Return the entries of environment.json; the version of a missing package is None.

    Versions come from the packages' metadata, so nothing is imported. Environment variables may
    contain credentials, so only thread counts and XLA's flags are included.
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
    """Return the user of this process; None if it has no name, as in some containers."""
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return None


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
    """Return the differences between two environments, as in `numpy 2.1.0, now 2.2.0`."""
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
    """Return the git commit of a checkout, and whether tracked files differ from it.

    None if `root` isn't the top of a checkout, or git is missing.
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
