"""Check an MLflow store quickly, without importing MLflow; problems become one sentence."""

from __future__ import annotations

import re
import shlex
import sqlite3
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

from attnlab.errors import RequestError
from attnlab.records.mlflow.internals import migrations
from attnlab.records.mlflow.settings import sqlite_path, without_password

# How long to wait for a locked database, or for a server's answer.
PATIENCE_SECONDS = 5.0
_SYNC = "then attnlab runs sync logs the run folders again"
# SQLite's primary result codes, which Python names from 3.11 on, as it gives them from then on.
_BUSY, _LOCKED, _CORRUPT, _NOT_A_DATABASE = 5, 6, 11, 26
_REVISION = re.compile(r"^(revision|down_revision)\b.*=(.*)$", re.MULTILINE)


def check_store(uri: str, *, writing: bool = True) -> None:
    """Check that a store can be used; a missing SQLite file is fine.

    SQLite files are checked at once, servers within seconds, other stores not at all. With
    `writing`, no other process may be writing the file. Raises `RequestError` if the file is
    locked, damaged, no database or of another MLflow version, or the server does not answer.
    """
    if uri.startswith(("http://", "https://")):
        _check_server(uri)
    path = sqlite_path(uri)
    if path is not None and path.exists():
        _check_sqlite(path, uri, writing)


def _check_sqlite(path: Path, uri: str, writing: bool) -> None:
    if not path.is_file():
        raise RequestError(f"MLflow: expected an SQLite file, but {path} is a folder.")
    try:
        # `rw` makes no file; each statement is its own transaction.
        place = f"{path.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(place, uri=True, isolation_level=None)) as database:
            database.execute(f"PRAGMA busy_timeout = {PATIENCE_SECONDS * 1000:.0f}")
            names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
            if "alembic_version" in names:
                _check_schema(database, path, uri)
            elif names:
                raise RequestError(
                    f"MLflow: {path} is a database, but not one of MLflow: move it away, {_SYNC}."
                )
            if writing:
                database.execute("BEGIN IMMEDIATE")
                database.rollback()
    except sqlite3.Error as error:
        raise RequestError(_sqlite_problem(path, error)) from error


def _sqlite_problem(path: Path, error: sqlite3.Error) -> str:
    # Python 3.10 has no error code; an operational error means a lock, others a damaged file.
    guess = _BUSY if isinstance(error, sqlite3.OperationalError) else _NOT_A_DATABASE
    code = getattr(error, "sqlite_errorcode", guess) & 0xFF
    if code in (_BUSY, _LOCKED):
        return (
            f"MLflow: {path} is locked by another process: end what writes to it (a sweep, attnlab "
            "ui, a database browser), and try again."
        )
    what = {_CORRUPT: "damaged", _NOT_A_DATABASE: "not an SQLite database"}.get(code)
    if what:
        return f"MLflow: {path} is {what}: move it away, {_SYNC}."
    return f"MLflow: {path} can't be used ({error})."


def _check_schema(database: sqlite3.Connection, path: Path, uri: str) -> None:
    """Check that the database's schema is that of the installed MLflow."""
    found = [version for (version,) in database.execute("SELECT version_num FROM alembic_version")]
    known, followed = schema_versions()
    if not found or not known:
        return
    if found[0] in followed:
        raise RequestError(
            f"MLflow: {path} has the schema of an older MLflow: copy the file, upgrade it with: "
            f"mlflow db upgrade {shlex.quote(uri)}"
        )
    if found[0] not in known:
        raise RequestError(
            f"MLflow: {path} has the schema of a newer MLflow: upgrade this one with: "
            "pip install --upgrade mlflow"
        )


def schema_versions() -> tuple[set[str], set[str]]:
    """Return all schema versions that the installed MLflow knows, and those that have successors.

    They are read from the migration scripts, because importing MLflow takes seconds.
    """
    named: dict[str, set[str]] = {"revision": set(), "down_revision": set()}
    for path in migrations():
        for name, value in _REVISION.findall(path.read_text(encoding="utf-8")):
            named[name].update(re.findall(r"['\"](\w+)['\"]", value))
    return named["revision"], named["down_revision"]


def _check_server(uri: str) -> None:
    """Check that a server answers; MLflow checks the answer itself later."""
    try:
        urllib.request.urlopen(f"{uri.rstrip('/')}/health", timeout=PATIENCE_SECONDS).close()
    except urllib.error.HTTPError:
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        text = getattr(reason, "strerror", None) or str(reason)
        raise RequestError(
            f"MLflow: the server {without_password(uri)} does not answer ({text}): start it, or "
            "name another store with $MLFLOW_TRACKING_URI."
        ) from error
