"""What is wrong with an MLflow store, in one sentence; found out without MLflow, at once."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sqlite3
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

from attnlab.errors import RequestError

# How long another process may hold the database, or a server may take to answer.
PATIENCE_SECONDS = 5.0
_SYNC = "then attnlab runs sync logs the run folders again"


def check_store(uri: str, *, writing: bool = True) -> None:
    """Check that a store can be used; one that does not exist yet can.

    Of an SQLite file it is known at once, of a server in seconds; of other stores nothing is known.

    Args:
        uri: the tracking URI.
        writing: whether it is to be written, which another process may be doing.

    Raises:
        RequestError: it is locked, of another version of MLflow, damaged, no database, or a server
            that does not answer.
    """
    if uri.startswith(("http://", "https://")):
        _check_server(uri)
    path = sqlite_path(uri)
    if path is not None and path.exists():
        _check_sqlite(path, uri, writing)


def sqlite_path(uri: str) -> Path | None:
    """The file of an SQLite store; None of any other."""
    if not uri.startswith("sqlite:///"):
        return None
    return Path(uri.removeprefix("sqlite:///").partition("?")[0])


def shown(uri: str) -> str:
    """A tracking URI without a password in it."""
    return re.sub(r"//[^/@\s]+@", "//", uri)


def _check_sqlite(path: Path, uri: str, writing: bool) -> None:
    if not path.is_file():
        raise RequestError(f"MLflow: expected an SQLite file, but {path} is a folder.")
    try:
        with closing(_connect(path)) as database:
            database.execute(f"PRAGMA busy_timeout = {PATIENCE_SECONDS * 1000:.0f}")
            names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
            if "alembic_version" in names:
                _check_schema(database, path, uri)
            elif names:
                raise RequestError(
                    f"MLflow: expected a store of MLflow, but {path} is the database of something "
                    f"else: move it away, {_SYNC}."
                )
            if writing:
                database.execute("BEGIN IMMEDIATE")
                database.rollback()
    except sqlite3.Error as error:
        raise RequestError(_sqlite_problem(path, str(error))) from error


def _connect(path: Path) -> sqlite3.Connection:
    """A connection that makes no file; every statement is a transaction of its own."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)


def _sqlite_problem(path: Path, reason: str) -> str:
    if "locked" in reason or "busy" in reason:
        return (
            f"MLflow: {path} is locked by another process: end what writes to it (a sweep, attnlab "
            "ui, a database browser), and try again."
        )
    if "not a database" in reason or "malformed" in reason:
        what = "damaged" if "malformed" in reason else "no SQLite database"
        return f"MLflow: {path} is {what}: move it away, {_SYNC}."
    return f"MLflow: {path} can't be used ({reason})."


def _check_schema(database: sqlite3.Connection, path: Path, uri: str) -> None:
    """Compare the database's schema with the installed MLflow's."""
    found = [version for (version,) in database.execute("SELECT version_num FROM alembic_version")]
    known, newest = _revisions()
    if not found or newest is None or found[0] == newest:
        return
    if found[0] in known:
        raise RequestError(
            f"MLflow: {path} has the schema of an older MLflow: copy the file, upgrade it with: "
            f"mlflow db upgrade {shlex.quote(uri)}"
        )
    raise RequestError(
        f"MLflow: {path} has the schema of a newer MLflow: upgrade this one with: "
        "pip install --upgrade mlflow"
    )


def _revisions() -> tuple[set[str], str | None]:
    """The schema versions that the installed MLflow knows, and the newest of them.

    Read from its migrations, since importing MLflow takes seconds. None where they are not found.
    """
    spec = importlib.util.find_spec("mlflow")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    earlier: dict[str, str | None] = {}
    for path in Path(folders[0], "store/db_migrations/versions").glob("*.py") if folders else ():
        text = path.read_text(encoding="utf-8")
        own = re.search(r"^revision\s*=\s*['\"](\w+)['\"]", text, re.MULTILINE)
        before = re.search(r"^down_revision\s*=\s*['\"](\w+)['\"]", text, re.MULTILINE)
        if own:
            earlier[own[1]] = before[1] if before else None
    newest = set(earlier) - set(earlier.values())
    return set(earlier), newest.pop() if len(newest) == 1 else None


def _check_server(uri: str) -> None:
    """Check that something answers there; what it answers is for MLflow to judge."""
    try:
        with urllib.request.urlopen(f"{uri.rstrip('/')}/health", timeout=PATIENCE_SECONDS):
            pass
    except urllib.error.HTTPError:
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        text = getattr(reason, "strerror", None) or str(reason)
        raise RequestError(
            f"MLflow: the server {shown(uri)} does not answer ({text}): start it, or name "
            "another store with $MLFLOW_TRACKING_URI."
        ) from error
