"""A sweep's folder: its command, its launches and its results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from attnlab.errors import RequestError, explained
from attnlab.records import files
from attnlab.records.status import flocked

GRID, SEARCH = "grid", "search"
_LONGEST = 255  # most bytes of a name, on all common file systems


class SweepFolder:
    """`<runs>/sweeps/<name>` with sweep.json, table.csv, sweep.log, and a search's study.

    The runs are in the runs folder, and are found by the digests of their configurations.
    """

    def __init__(self, path: Path):
        self.path = Path(path)
        self.name = self.path.name
        self.table = self.path / "table.csv"
        self.log = self.path / "sweep.log"

    @classmethod
    def named(cls, runs: Path, name: str) -> SweepFolder:
        """Return the folder of a sweep; raises `RequestError` if the name can't be a folder's."""
        is_long = len(name.encode("utf-8", "replace")) > _LONGEST
        if not name or name.startswith(".") or Path(name).name != name or is_long:
            raise RequestError(f"sweep.name={name}: can't be the name of a folder.")
        return cls(runs / "sweeps" / name)

    def create(self) -> None:
        """Create the folder if it is missing; raises `RequestError` if it can't be created."""
        runs = str(self.path.parents[1])
        with explained(f"paths.runs: expected a folder that can be written, got {runs!r}"):
            self.path.mkdir(parents=True, exist_ok=True)

    def read(self) -> dict[str, Any]:
        """Read sweep.json; {} for a new sweep. Raises `RequestError` if it is damaged."""
        path = self.path / "sweep.json"
        return files.read_json(path) if path.is_file() else {}

    @contextmanager
    def changing(self) -> Iterator[dict[str, Any]]:
        """Yield the content of sweep.json, and write the changes made to it; others wait."""
        # Not the folder's own lock, which the copy in MLflow takes.
        with flocked(self.path.parent):
            known = self.read()
            yield known
            known["updated"] = _now()
            files.write_json(self.path / "sweep.json", known)

    def update(self, **changes: Any) -> None:
        """Change entries of sweep.json."""
        with self.changing() as known:
            known.update(changes)

    def begin_launch(self, entries: Mapping[str, Any], varying: Mapping[str, Iterable[str]]) -> int:
        """Record a launch and its values of varying keys; returns its number, from 1."""
        with self.changing() as known:
            values = known.setdefault("varying", {})
            for key, more in varying.items():
                values[key] = list(dict.fromkeys([*values.get(key, []), *more]))
            number = int(known.get("launches", 0)) + 1
            known.update(entries, launches=number, finished=False)
            known.setdefault("started", _now())
        return number

    def end(self, state: str) -> None:
        """Record the final state and the time."""
        self.update(state=state, ended=_now())

    def stop_launch(self, number: int) -> None:
        """Record that queued work of a launch must not start."""
        with self.changing() as known:
            known.setdefault("stopped", []).append(number)

    def is_stopped(self, number: int) -> bool:
        """Whether a launch was stopped."""
        return number in self.read().get("stopped", [])

    def add_parent(self, task: str, run_id: str) -> None:
        """Store the id of the sweep's own MLflow run in a task's experiment."""
        with self.changing() as known:
            known.setdefault("parents", {})[task] = run_id

    def add_results(self, task: str, results: Mapping[str, str]) -> None:
        """Store the results for a task.

        They are `jobs` (counts of each state), `best` (the best run), `by` (what decides the best
        run), and its `monitored` value.
        """
        with self.changing() as known:
            known.setdefault("results", {})[task] = dict(results)

    def require_same(
        self, kind: str, fixed: Mapping[str, str], varying: Mapping[str, Iterable[str]]
    ) -> None:
        """Check that the folder belongs to this command.

        Raises:
            RequestError: It belongs to another kind of sweep, or its fixed values differ.
        """
        before = self.read()
        if not before:
            return
        if before.get("kind") != kind:
            raise RequestError(
                f"sweep.name: {self.name} is a {before.get('kind')}, but this command is a {kind}: "
                "choose another name."
            )
        known, varied = before.get("fixed", {}), before.get("varying", {})
        for key in sorted({*known, *fixed} - {*varied, *varying}):
            old, new = known.get(key, "its default"), fixed.get(key, "its default")
            if old != new:
                raise RequestError(
                    f"sweep.name: {self.name} was started with {key}={old}, but this command has "
                    f"{new}: use the same value, or choose another name."
                )


def _now() -> str:
    return datetime.now(timezone.utc).isoformat()
