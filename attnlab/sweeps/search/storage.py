"""Where a search's trials are kept: a journal, whose lock dies with its process, or a database."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import optuna
from filelock import FileLock
from optuna.exceptions import DuplicatedStudyError
from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import StudyDirection

from attnlab.errors import RequestError
from attnlab.sweeps.search.settings import SearchSettings

JOURNAL = "study.log"
# What a study's values mean, so that none is continued by mistake.
_MEANING = "attnlab:meaning"

# How often to try a database whose tables another process may just be making.
_ATTEMPTS = 6

# Optuna would log every trial; this project prints its own lines.
optuna.logging.set_verbosity(optuna.logging.ERROR)


# The lock of a file, to be held in a `with`; it ends with its process.
locked = partial(FileLock, poll_interval=0.01)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Optuna's warnings about its own features from the terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def is_url(place: str) -> bool:
    """Whether a storage's location is that of a database."""
    return "://" in place


def location(settings: SearchSettings, folder: Path) -> str:
    """Return the path or URL of a search's storage."""
    return settings.storage or str(folder.absolute() / JOURNAL)


def enter(
    settings: SearchSettings, storage: optuna.storages.BaseStorage, name: str, place: str
) -> None:
    """Find the study in the storage, or begin it there.

    Raises `RequestError` where it holds another search; it is left as it was.
    """
    studies = [study.study_name for study in storage.get_all_studies()]
    meaning = {
        "metrics": ", ".join(settings.metrics),
        "directions": ", ".join(settings.directions),
        "space": settings.space.describe(),
        "command": " ".join(settings.fixed),
        "grid": "",
        "files": ", ".join(f"{key} {digest[:12]}" for key, digest in settings.files.items()),
    }
    if settings.sampler == "grid":
        grid = settings.space.grid()
        meaning["grid"] = ", ".join(f"{len(values)} of {key}" for key, values in grid.items())
    if name not in studies:
        if studies and not is_url(place):
            raise RequestError(
                f"{place}: expected the search {name}, got {', '.join(sorted(studies))}: take "
                f"sweep.name={min(studies)} to go on with it, or another search.storage."
            )
        kinds = {"min": StudyDirection.MINIMIZE, "max": StudyDirection.MAXIMIZE}
        with suppress(DuplicatedStudyError):  # another process was faster
            storage.create_new_study([kinds[d] for d in settings.directions], name)
    key = storage.get_study_id_from_name(name)
    there = storage.get_study_user_attrs(key).get(_MEANING)
    if there is None and not storage.get_all_trials(key, deepcopy=False):
        storage.set_study_user_attr(key, _MEANING, there := meaning)
    for what, expected in meaning.items():
        found = (there or {}).get(what)
        if found != expected:
            raise RequestError(
                f"{place}: holds the search {name} with another {what.rstrip('s')} "
                f"(expected {expected or 'none'}, got {found or 'none'}): take another sweep.name "
                "or search.storage."
            )


def journal(path: Path) -> BaseStorage:
    """Return Optuna's storage in a file, made if it is missing; raises `RequestError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _require_journal(path)
        # Optuna's own locks are files, which a killed process leaves behind.
        lock: Any = locked(path.with_name(f"{path.name}.lock"))
        with lock:
            path.touch()
            written = path.read_bytes()
            if not written.endswith(b"\n"):
                # A full disk cut the last line off; the next one would be glued to it.
                os.truncate(path, written.rfind(b"\n") + 1)
        return JournalStorage(JournalFileBackend(str(path), lock))
    except RequestError:
        raise
    except OSError as error:
        raise RequestError(f"{path}: can't be used to store a search: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AssertionError) as error:
        raise RequestError(
            f"{path}: damaged, so what the search has tried is not known: restore it, or start "
            "again with another sweep.name or search.storage."
        ) from error


def _require_journal(path: Path) -> None:
    """Refuse a file that Optuna did not write, before anything is appended to it."""
    if path.is_dir():
        raise RequestError(f"search.storage: expected a file or a database's URL, got {path}/.")
    if not path.exists() or path.stat().st_size == 0:
        return
    with open(path, "rb") as stream:
        line = stream.readline(1_000_000)
    try:
        entry = json.loads(line)
        known = isinstance(entry, dict) and {"op_code", "worker_id"} <= set(entry)
    except ValueError:
        known = False
    if not known:
        raise RequestError(
            f"search.storage: expected a journal that a search has written, or a new file, got "
            f"{path}."
        )


def database(url: str) -> BaseStorage:
    """Return Optuna's storage in a database; raises `RequestError` if it can't be used."""
    from sqlalchemy.exc import SQLAlchemyError

    failed: Exception | None = None
    for _ in range(_ATTEMPTS):
        try:
            tables = _tables(url)
            if tables - {"version_info", "alembic_version"} and "studies" not in tables:
                # Somebody else's, such as MLflow's, gets no tables added.
                raise RequestError(
                    "search.storage: expected a database that is empty or holds searches, got "
                    f"{url}, which has {', '.join(sorted(tables)[:3])}."
                )
            return optuna.storages.RDBStorage(url, engine_kwargs=_engine_options(url))
        except RequestError:
            raise
        except (ImportError, ValueError, RuntimeError, SQLAlchemyError) as error:
            failed = error
            if not isinstance(error, SQLAlchemyError) or not _has_tables(url):
                break
            time.sleep(0.5)  # another process may be making the tables
    reason = str(getattr(failed, "orig", None) or failed).strip().splitlines()[0]
    raise RequestError(
        f"search.storage: the database {url} can't be used: {reason.rstrip('.')}."
    ) from failed


def _has_tables(url: str) -> bool:
    from sqlalchemy.exc import SQLAlchemyError

    try:
        return bool(_tables(url))
    except SQLAlchemyError:
        return False


def _tables(url: str) -> set[str]:
    import sqlalchemy

    engine = sqlalchemy.create_engine(url, **_engine_options(url))
    try:
        return set(sqlalchemy.inspect(engine).get_table_names())
    finally:
        engine.dispose()


def _engine_options(url: str) -> dict[str, Any]:
    """Return options with which processes wait for each other: SQLite lets one write at a time."""
    return {"connect_args": {"timeout": 60}} if url.startswith("sqlite") else {}
