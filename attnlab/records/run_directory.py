"""A run's folder: where things lie in it, how they are written, and how runs are found again."""

from __future__ import annotations

import csv
import json
import os
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlab.errors import RequestError
from attnlab.records import files
from attnlab.records.processes import is_running, this_process

if TYPE_CHECKING:
    import numpy as np

STATES = ("running", "completed", "failed", "killed")
_FOLDERS = ("weights", "checkpoint", "assets", "plots")
_ADVICE = {
    "running": "wait until it is done",
    "failed": "see its run.log, and train it again",
    "killed": "train it again",
}


class RunDirectory:
    """One run's folder, `<runs>/<task>/<attention>/<date>_<time>_s<seed>`.

    Every file is replaced as a whole, and history.csv grows by whole rows, so a run killed at any
    moment leaves a folder that can be read.

    Args:
        path: The folder, which need not be checked yet; `create` and `open` are the usual ways in.
    """

    def __init__(self, path: Path):
        self.path = Path(path)
        self._lock = threading.RLock()  # the tracker's thread adds its run id to the status
        self._history_columns: list[str] | None = None

    def __repr__(self) -> str:
        return f"RunDirectory({str(self.path)!r})"

    @classmethod
    def create(cls, runs: Path, task: str, attention: str, seed: int) -> RunDirectory:
        """Make the folder of a new run, unique even when several start in one second.

        Args:
            runs: The folder of all runs; made if missing.
            task: Name of the task.
            attention: Name of the mechanism.
            seed: The run's seed.

        Returns:
            The run, its state "running" and this process its owner.

        Raises:
            RequestError: A name isn't one of a folder, or the folder can't be written.
        """
        for key, name in (("task.name", task), ("attention.name", attention)):
            if not name or name in (".", "..") or Path(name).name != name:
                raise RequestError(f"{key}: a name that can name a folder expected, got {name!r}")
        runs = Path(runs).absolute()
        started = datetime.now(timezone.utc)
        stem = f"{started.astimezone():%Y-%m-%d_%H%M%S}_s{seed}"
        try:
            run = cls(_new_folder(runs / task / attention, stem))
            for folder in _FOLDERS:
                (run.path / folder).mkdir()
            run.write_status(
                "running",
                epoch=0,
                task=task,
                attention=attention,
                seed=seed,
                started=started.isoformat(),
            )
        except OSError as error:
            raise RequestError(
                f"paths.runs: a folder that can be written expected, got {str(runs)!r} "
                f"({error.strerror or error})"
            ) from error
        return run

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """The run in an existing folder.

        Raises:
            RequestError: There is no such folder, it isn't a run's, or its status is damaged.
        """
        path = Path(path)
        if not path.exists():
            raise RequestError(f"RUN: a run folder expected, but {str(path)!r} does not exist")
        if not (path / "status.json").is_file():
            raise RequestError(f"RUN: {str(path)!r} is not a run folder: it has no status.json")
        run = cls(path.absolute())
        run.read_status()
        return run

    @property
    def name(self) -> str:
        """The last three parts of the path: task, attention, and when it began."""
        return "/".join(self.path.parts[-3:])

    @property
    def assets(self) -> Path:
        """Where the task keeps its scaler or tokenizer."""
        return self.path / "assets"

    @property
    def plots(self) -> Path:
        """Where figures go."""
        return self.path / "plots"

    @property
    def checkpoint(self) -> Path:
        """What resuming needs."""
        return self.path / "checkpoint"

    def weights_path(self, epoch: int) -> Path:
        """The weights after `epoch` (from 1), loadable by Keras."""
        return self.path / "weights" / f"epoch_{epoch:03d}.weights.h5"

    def weights_epochs(self) -> list[int]:
        """The epochs whose weights are here, in order."""
        names = (path.name for path in self.path.glob("weights/epoch_*.weights.h5"))
        numbers = (name.removeprefix("epoch_").removesuffix(".weights.h5") for name in names)
        return sorted(int(number) for number in numbers if number.isdigit())

    # Status

    def write_status(self, state: str | None = None, **changes: Any) -> None:
        """Change the given entries of status.json; the others stay.

        Args:
            state: One of `STATES`, or None for no change. "running" makes this process the owner.
            **changes: epoch, mlflow_run_id, config_hash, error, ...

        Raises:
            ValueError: `state` is none of `STATES`.
            OSError: The file can't be written.
        """
        if state is not None:
            if state not in STATES:
                raise ValueError(f"state: one of {', '.join(STATES)} expected, got {state!r}")
            changes["state"] = state
        if state == "running":
            changes.update(this_process())
        with self._lock:
            status = self._status_or_new()
            status.update(changes, updated=datetime.now(timezone.utc).isoformat())
            files.write_json(self.path / "status.json", status)

    def read_status(self) -> dict[str, Any]:
        """What status.json says.

        Raises:
            RequestError: It is missing or damaged.
        """
        status = self._read_json("status.json")
        if status.get("state") not in STATES:
            raise RequestError(
                f"{self.path / 'status.json'}: damaged: state: one of {', '.join(STATES)} "
                f"expected, got {status.get('state')!r}"
            )
        return status

    def state(self) -> str:
        """The run's state; "killed" also for one whose process has gone without a word.

        Raises:
            RequestError: The status is missing or damaged.
        """
        return actual_state(self.read_status())

    def require_completed(self) -> None:
        """Check that the run came to its end.

        Raises:
            RequestError: It didn't; the text says its state and what to do.
        """
        status = self.read_status()
        state = actual_state(status)
        if state != "completed":
            raise RequestError(
                f"RUN: a completed run expected, but {str(self.path)!r} is {state} "
                f"(epoch {status.get('epoch', 0)}): {_ADVICE[state]}"
            )

    def _status_or_new(self) -> dict[str, Any]:
        """The status to change: empty for a new run, and also in place of a damaged one."""
        try:
            return self._read_json("status.json")
        except RequestError:
            return {}

    # History

    def append_history(self, row: Mapping[str, Any]) -> None:
        """Add an epoch's row to history.csv, in one write, so that a kill leaves whole rows.

        Args:
            row: Column to value; the first row decides the columns.

        Raises:
            ValueError: The row has other columns than the first one.
            OSError: The file can't be written.
        """
        path = self.path / "history.csv"
        if self._history_columns is None:
            self._history_columns = _mend_table(path)
        text = ""
        if not self._history_columns:
            self._history_columns = list(row)
            text = files.table_row(row)
        if set(row) != set(self._history_columns):
            raise ValueError(
                f"history.csv: columns {self._history_columns} expected, got {list(row)}"
            )
        text += files.table_row(row[column] for column in self._history_columns)
        with open(path, "ab", buffering=0) as stream:
            stream.write(text.encode("utf-8"))

    def write_history(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Replace history.csv, as a resumed run does with the rows up to its checkpoint.

        Raises:
            OSError: The file can't be written.
        """
        self._history_columns = list(rows[0]) if rows else []
        lines = [self._history_columns, *(list(row.values()) for row in rows)] if rows else []
        files.write_text(self.path / "history.csv", "".join(map(files.table_row, lines)))

    def read_history(self) -> dict[str, list[float]]:
        """The columns of history.csv; a row that was cut off at the end is left out.

        Returns:
            Column to one value a row, `epoch` as int; empty when no epoch has ended.

        Raises:
            RequestError: The file is damaged.
        """
        path = self.path / "history.csv"
        try:
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise RequestError(f"{path}: damaged: {error}") from error
        if lines and not lines[-1].endswith("\n"):
            lines.pop()
        header, *rows = csv.reader(lines) if lines else [[]]
        try:
            columns = {
                name: [float(row[number]) for row in rows] for number, name in enumerate(header)
            }
            if "epoch" in columns:
                columns["epoch"] = [int(epoch) for epoch in columns["epoch"]]
        except (ValueError, IndexError) as error:
            raise RequestError(f"{path}: damaged: {error}") from error
        return columns

    # Other files

    def write_json(self, name: str, data: Any) -> None:
        """Write a JSON file into the folder, whole; NaN and infinities become null.

        Raises:
            OSError: The file can't be written.
        """
        files.write_json(self.path / name, data)

    def write_text(self, name: str, text: str) -> None:
        """Write a text file into the folder, whole.

        Raises:
            OSError: The file can't be written.
        """
        files.write_text(self.path / name, text)

    def write_predictions(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Write predictions.csv: a row for each test item and step, natural units.

        Args:
            columns: Name to array (N,): index, time, step, target, prediction, each baseline.

        Raises:
            ValueError: The columns differ in length.
            OSError: The file can't be written.
        """
        files.write_table(self.path / "predictions.csv", columns)

    def read_predictions(self) -> dict[str, np.ndarray]:
        """The columns of predictions.csv: int64, float64, or text where they aren't numbers.

        Returns:
            Name to array (N,); `time` is always text, since a label may look like a number.

        Raises:
            RequestError: The file is missing or damaged.
        """
        path = self.path / "predictions.csv"
        try:
            with open(path, encoding="utf-8", newline="") as stream:
                header, *rows = csv.reader(stream)
            columns = dict(zip(header, zip(*rows, strict=True), strict=True))
        except (OSError, ValueError, csv.Error) as error:
            raise RequestError(f"{path}: damaged or missing: {error}") from error
        return {name: _array(cells, name == "time") for name, cells in columns.items()}

    def read_metrics(self) -> dict[str, Any]:
        """What metrics.json says.

        Raises:
            RequestError: It is missing or damaged.
        """
        return self._read_json("metrics.json")

    def read_config(self) -> dict[str, Any]:
        """The resolved config of the run.

        Raises:
            RequestError: config.yaml is missing or damaged.
        """
        import yaml

        path = self.path / "config.yaml"
        try:
            config = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            reason = " ".join(str(error).split())
            raise RequestError(f"{path}: damaged or missing: {reason}") from error
        if not isinstance(config, dict):
            raise RequestError(f"{path}: damaged: a mapping expected")
        return config

    def _read_json(self, name: str) -> dict[str, Any]:
        path = self.path / name
        try:
            data = json.loads(path.read_bytes())
        except FileNotFoundError as error:
            raise RequestError(f"{path}: missing, so the run folder is damaged") from error
        except (OSError, ValueError) as error:
            raise RequestError(f"{path}: damaged: {error}") from error
        if not isinstance(data, dict):
            raise RequestError(f"{path}: damaged: an object expected")
        return data


class ListedRun(NamedTuple):
    """A run and its status; the status of a damaged run has the state "damaged" and the error."""

    run: RunDirectory
    status: dict[str, Any]


def default_runs_folder() -> Path:
    """The folder of all runs: `$ATTNLAB_RUNS`, else `runs` here."""
    return Path(os.environ.get("ATTNLAB_RUNS") or "runs").absolute()


def actual_state(status: Mapping[str, Any]) -> str:
    """The state in a status, "killed" where it says "running" but its process has gone."""
    state = status.get("state", "damaged")
    return "killed" if state == "running" and not is_running(status) else state


def list_runs(runs: Path) -> list[ListedRun]:
    """All runs in a runs folder, in the order in which they began; damaged ones too."""
    listed = [_listed(RunDirectory(path.parent)) for path in _status_files(Path(runs).absolute())]
    return sorted(listed, key=lambda entry: (entry.status["started"], entry.run.name))


def find_run(text: str, runs: Path) -> RunDirectory:
    """The run that a user means.

    Args:
        text: A run's folder (its path, or as `attnlab runs` shows it), its MLflow run id or the
            first characters of that, or "latest".
        runs: The folder of all runs.

    Returns:
        The run; its status can be read.

    Raises:
        RequestError: Nothing fits, or several runs do, or the run is damaged.
    """
    runs = Path(runs).absolute()
    if text and text != "latest":
        for path in (Path(text).expanduser(), runs / text):
            if path.exists():
                return RunDirectory.open(path)
    listed = list_runs(runs)
    if text == "latest" and listed:
        return RunDirectory.open(listed[-1].run.path)
    found = [entry.run for entry in listed if text and _is_meant(entry, text)]
    if len(found) == 1:
        return RunDirectory.open(found[0].path)
    if found:
        names = ", ".join(run.name for run in found[:5]) + (", ..." if len(found) > 5 else "")
        raise RequestError(f"RUN: {text!r} fits {len(found)} runs in {str(runs)!r}: {names}")
    raise RequestError(
        f"RUN: a run folder, an MLflow run id or its first characters, or 'latest' expected, "
        f"got {text!r}; {str(runs)!r} has {len(listed)} runs and none fits"
    )


def _is_meant(entry: ListedRun, text: str) -> bool:
    run_id = str(entry.status.get("mlflow_run_id") or "")
    return run_id.startswith(text) or entry.run.path.name == text


def _status_files(runs: Path) -> list[Path]:
    """Every `<task>/<attention>/<run>/status.json`, without walking MLflow's artifacts."""
    found = []
    for task in _subfolders(runs):
        if os.path.basename(task) != "artifacts":
            for attention in _subfolders(task):
                found += [Path(run, "status.json") for run in _subfolders(attention)]
    return [path for path in found if path.is_file()]


def _subfolders(folder: str | Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.is_dir()]
    except OSError:
        return []


def _listed(run: RunDirectory) -> ListedRun:
    """The run with its status, completed from its path where the status lacks something."""
    task, attention, stem = run.path.parts[-3:]
    seed = stem.partition("_s")[2].split("_")[0]
    known = {
        "task": task,
        "attention": attention,
        "seed": int(seed) if seed.isdigit() else None,
        "started": stem,
    }
    try:
        return ListedRun(run, known | run.read_status())
    except RequestError as error:
        return ListedRun(run, {**known, "state": "damaged", "error": str(error)})


def _new_folder(parent: Path, stem: str) -> Path:
    """Make `stem`, or `stem_2`, `stem_3`, ... in `parent`: the first that nobody else made."""
    parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        path = parent / (stem if number == 1 else f"{stem}_{number}")
        try:
            path.mkdir()
            return path
        except FileExistsError:
            number += 1


def _mend_table(path: Path) -> list[str]:
    """Cut off what is no whole row at the end of a CSV; its columns, or [] when it has none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        os.truncate(path, len(whole))
    return next(csv.reader(whole.decode("utf-8").splitlines()), [])


def _array(cells: Sequence[str], as_text: bool) -> np.ndarray:
    """The cells as int64 or float64 if they all are such numbers, else as text."""
    import numpy as np

    for dtype in () if as_text else (np.int64, np.float64):
        try:
            return np.array(cells, dtype=dtype)
        except ValueError:
            continue
    return np.array(cells, dtype=str)
