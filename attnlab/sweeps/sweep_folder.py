"""A sweep's folder: what it is, who runs it, and what came of it."""

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
_LONGEST = 255  # bytes of a name, in the file systems that there are


class SweepFolder:
    """`<runs>/sweeps/<name>`: sweep.json, table.csv, sweep.log, and of a search its study.

    Its runs are among all others and are found by the digests of their configurations.
    """

    def __init__(self, path: Path):
        self.path = Path(path)
        self.name = self.path.name
        self.table = self.path / "table.csv"
        self.log = self.path / "sweep.log"

    @classmethod
    def named(cls, runs: Path, name: str) -> SweepFolder:
        """The folder of a sweep; raises `RequestError` where no folder can have the name."""
        is_long = len(name.encode("utf-8", "replace")) > _LONGEST
        if not name or name.startswith(".") or Path(name).name != name or is_long:
            raise RequestError(f"sweep.name: expected a name that a folder can have, got {name!r}.")
        return cls(runs / "sweeps" / name)

    def create(self) -> None:
        """Make the folder, if it is not there; raises `RequestError` where it can't be made."""
        runs = str(self.path.parents[1])
        with explained(f"paths.runs: expected a folder that can be written, got {runs!r}"):
            self.path.mkdir(parents=True, exist_ok=True)

    def read(self) -> dict[str, Any]:
        """What sweep.json says, {} of a sweep that has not begun; raises `RequestError`."""
        path = self.path / "sweep.json"
        return files.read_json(path) if path.is_file() else {}

    @contextmanager
    def changing(self) -> Iterator[dict[str, Any]]:
        """What sweep.json says, to be changed in the body; other processes wait meanwhile."""
        # Not the folder's own lock: the copy in MLflow is begun under that.
        with flocked(self.path.parent):
            known = self.read()
            yield known
            known["updated"] = _now()
            files.write_json(self.path / "sweep.json", known)

    def update(self, **changes: Any) -> None:
        """Change entries of sweep.json; the others stay."""
        with self.changing() as known:
            known.update(changes)

    def begin_launch(self, entries: Mapping[str, Any], varying: Mapping[str, Iterable[str]]) -> int:
        """Note a launch, which may add values to keys that vary; returns its number, from 1."""
        with self.changing() as known:
            values = known.setdefault("varying", {})
            for key, more in varying.items():
                values[key] = list(dict.fromkeys([*values.get(key, []), *more]))
            number = int(known.get("launches", 0)) + 1
            known.update(entries, launches=number, finished=False)
            known.setdefault("started", _now())
        return number

    def end(self, state: str) -> None:
        """Note how the sweep ended, and that it was now."""
        self.update(state=state, ended=_now())

    def stop_launch(self, number: int) -> None:
        """Note that what a launch has in a queue shall not begin."""
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

        They are `jobs`, how many are in each state, and of the `best` one what it is best `by` and
        its `monitored` value.
        """
        with self.changing() as known:
            known.setdefault("results", {})[task] = dict(results)

    def require_same(
        self, kind: str, fixed: Mapping[str, str], varying: Mapping[str, Iterable[str]]
    ) -> None:
        """Check that the folder is of this command, with its keys of one value and of several.

        Raises `RequestError` where it belongs to another kind of sweep, or one of other fixed
        values.
        """
        before = self.read()
        if not before:
            return
        if before.get("kind") != kind:
            raise RequestError(
                f"sweep.name: {self.name} is a {before.get('kind')} and this command a {kind}: "
                "expected another name."
            )
        known, varied = before.get("fixed", {}), before.get("varying", {})
        for key in sorted({*known, *fixed} - {*varied, *varying}):
            old, new = known.get(key, "its default"), fixed.get(key, "its default")
            if old != new:
                raise RequestError(
                    f"sweep.name: {self.name} was begun with {key}={old}, which this command has "
                    f"as {new}: expected the same or another name."
                )


def _now() -> str:
    return datetime.now(timezone.utc).isoformat()
