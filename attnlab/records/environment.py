"""What a run ran on: versions, machine, code. Nothing from environment variables."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = (
    "attnlab",
    "tensorflow",
    "keras",
    "numpy",
    "scipy",
    "hydra-core",
    "omegaconf",
    "mlflow",
    "matplotlib",
    "h5py",
    "tokenizers",
    "sacrebleu",
)


def environment() -> dict[str, Any]:
    """The entries of environment.json.

    Versions come from the packages' metadata, so nothing is imported. The seed stands in the
    config, and environment variables are left out, since they may hold credentials.

    Returns:
        python, platform, processor, cpus, packages (None where one is missing), code (git commit
        and whether files differ from it; None outside a checkout), command.
    """
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": platform.machine(),
        "cpus": os.cpu_count(),
        "packages": {name: _version(name) for name in PACKAGES},
        "code": code_version(Path(__file__).resolve().parents[2]),
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }


def code_version(root: Path) -> dict[str, Any] | None:
    """The git commit of a checkout and whether its tracked files differ from it.

    Args:
        root: The folder that would be the checkout's top.

    Returns:
        `{"commit": ..., "dirty": ...}`, or None where `root` is no checkout or git is missing.
    """
    if not (root / ".git").exists():
        return None
    commit = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain", "--untracked-files=no")
    return None if commit is None else {"commit": commit, "dirty": bool(changes)}


def _git(root: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
