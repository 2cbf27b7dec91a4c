"""`attnlab env`: versions and machine as plain text, to paste into a bug report."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from typing import Any

import click

from attnlab.records.environment import environment, has_gpu

_NAMES = {
    **{"tensorflow": "TensorFlow", "keras": "Keras", "mlflow": "MLflow", "hydra-core": "Hydra"},
    **{"numpy": "NumPy", "scipy": "SciPy"},
}
_NVIDIA_SMI = [
    "nvidia-smi",
    "--query-gpu=name,memory.total,driver_version",
    "--format=csv,noheader",
]
_SECONDS = 20  # that nvidia-smi may take


@click.command("env")
def command() -> None:
    """Print versions and machine as text, to paste into a bug report.

    The text has the versions of attnlab, Python and the libraries, the operating system, processor,
    cores and GPUs. It has no name of a user or computer, and no path.
    """
    for name, value in _facts(environment()).items():
        click.echo(f"{name:<12} {value}")


def _facts(found: Mapping[str, Any]) -> dict[str, Any]:
    """What to print, from the content of environment.json."""
    versions = {name: version or "not installed" for name, version in found["packages"].items()}
    code = found["code"] or {}
    commit = f" (commit {str(code['commit'])[:10]}" if code else ""
    changed = ", with local changes" if code.get("dirty") else ""
    return {
        "attnlab": versions.pop("attnlab") + (f"{commit}{changed})" if code else ""),
        "Python": found["python"],
        **{_NAMES.get(name, name): version for name, version in versions.items()},
        "system": found["platform"],
        "processor": f"{found['processor_model'] or 'unknown'} ({found['processor']})",
        "cores": found["cpus"],
        "GPUs": _gpus(),
        "threads": " ".join(f"{k}={v}" for k, v in found["threads"].items()) or "not set",
    }


def _gpus() -> str:
    """Name each GPU with its memory and driver, by `nvidia-smi`, which needs no TensorFlow."""
    if not has_gpu():
        return "none"
    try:
        done = subprocess.run(_NVIDIA_SMI, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return "found, but nvidia-smi doesn't run"
    return "; ".join(done.stdout.splitlines()) or "found, but nvidia-smi doesn't name it"
