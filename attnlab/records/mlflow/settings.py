"""The URI of a store, and environment variables for MLflow; doesn't import MLflow."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from attnlab.process import variable

# Defaults for MLflow's variables: give up soon on a server that does not answer (MLflow's own
# default is four minutes), print nothing, send no telemetry.
QUIET_ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_UV_AUTO_DETECT": "false",
}

_OF_PATHS = "".join({*string.printable} - {*"%?#"})


def default_uri(runs: Path) -> str:
    """Return the store to use: `$MLFLOW_TRACKING_URI`, else an SQLite file in the runs folder."""
    return variable("MLFLOW_TRACKING_URI") or store_uri(runs)


def store_uri(runs: Path) -> str:
    """Return the URI of the SQLite store in a runs folder."""
    return sqlite_uri(Path(runs).absolute() / "mlflow.db")


def sqlite_uri(path: Path) -> str:
    """Return the URI of an SQLite store; characters with a meaning in URIs are quoted."""
    return f"sqlite:///{quote(path.as_posix(), safe=_OF_PATHS)}"


def own_uri(folder: Path, config: Mapping[str, Any]) -> str:
    """Return the tracking URI of a run in `folder` with this configuration."""
    tracking = config.get("tracking") or {}
    return tracking.get("uri") or default_uri(folder.parents[2])


def sqlite_path(uri: str) -> Path | None:
    """Return the file of an SQLite store; None for other stores."""
    if not uri.startswith("sqlite:///"):
        return None
    return Path(unquote(uri.removeprefix("sqlite:///").partition("?")[0]))


def without_password(text: str) -> str:
    """Return a text with user names and passwords removed from its URIs."""
    return re.sub(r"//[^/@\s]+@", "//", text)
