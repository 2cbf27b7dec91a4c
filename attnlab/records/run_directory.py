"""A run's folder: its files, its status, its lock, and how runs are found."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from attnlab.errors import RequestError, RunBusy, explained
from attnlab.records import files

if TYPE_CHECKING:
    import numpy as np
    from filelock import FileLock

REPORT = "report.html"  # `attnlab report` writes it to the folder of a run or a sweep
# Advice for a message that a run isn't found.
OTHER_FOLDER = "--runs FOLDER or ATTNLAB_RUNS=FOLDER names it"
SYNC = "attnlab runs sync completes both"  # figures and MLflow's copy
_PATIENCE_SECONDS = 1.0
FORMAT = 2  # of a run folder; see docs/reference/run-folder.md
STATES = ("running", "completed", "failed", "killed")
_ADVICE = {
    "running": "wait until it is completed",
    "failed": "read its run.log and train it again",
    "killed": "attnlab resume continues it",
}
_changing_status = Lock()  # a thread writes a run's epochs, and another its end
_FOLDERS = ("weights", "checkpoint", "assets", "plots")


class NoSuchRun(RequestError):
    """A text is neither a folder nor an id of a run."""


class RunDirectory:
    """One run's folder, `<runs>/<task>/<attention>/<date>_<time>_s<seed>`.

    Every file is replaced as a whole, so a run killed at any moment leaves a readable folder.
    `create` makes a new folder, `open` checks an existing one.
    """

    def __init__(self, path: Path):
        self.path = Path(path)
        self.status = Status(self.path / "status.json")
        self.history = files.History(self.path / "history.csv")
        self.assets = self.path / "assets"  # the task's scaler or tokenizer
        self.plots = self.path / "plots"
        self.checkpoint = self.path / "checkpoint"

    @classmethod
    def create(
        cls,
        runs: Path,
        task: str,
        attention: str,
        seed: int,
        config: Mapping[str, Any] | None = None,
        **entries: Any,
    ) -> RunDirectory:
        """Make the folder of a new run, unique even if several start in one second.

        The run's state is "running"; the caller holds its lock next. `config` becomes config.yaml,
        and `entries` join status.json. Raises `RequestError` if a name can't be a folder's name, or
        the folder can't be written.
        """
        for key, name in {"task.name": task, "attention.name": attention}.items():
            if not name or name in (".", "..") or Path(name).name != name:
                raise RequestError(f"{key}: {name!r} can't be the name of a folder.")
        runs = Path(runs).absolute()
        started = datetime.now(timezone.utc)
        entries |= {"task": task, "attention": attention, "seed": seed}
        with explained(f"paths.runs: expected a folder that can be written, got {str(runs)!r}"):
            parent = runs / task / attention
            parent.mkdir(parents=True, exist_ok=True)
            # The name is hidden until the folder is complete, because listed runs can be resumed.
            run = cls(parent / f".new-{uuid4().hex}")
            run.make_folders()
            if config is not None:
                run.write_config(config)
            run.status.write("running", epoch=0, started=started.isoformat(), **entries)
            return cls(_rename(run.path, f"{started.astimezone():%Y-%m-%d_%H%M%S}_s{seed}"))

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Return the run in a folder; raises `RequestError` if it isn't a run's, or is damaged."""
        run = cls(Path(path).absolute())
        # Its path is that of the folder of all runs, task, attention, run.
        if len(run.path.parts) < 5 or not (run.path / "status.json").is_file():
            raise RequestError(
                "RUN: expected a folder FOLDER/TASK/ATTENTION/RUN with a status.json, got "
                f"{str(path)!r}."
            )
        run.status.read()
        return run

    @property
    def name(self) -> str:
        """The last three parts of the path: task, attention, and start time with seed."""
        return "/".join(self.path.parts[-3:])

    @property
    def word(self) -> str:
        """The run's name for commands: `latest` if it is the newest run, else its path."""
        newest = [entry.run.path for entry in list_runs(default_runs_folder())[-1:]]
        return "latest" if self.path in newest else str(self.path)

    def weights_path(self, epoch: int) -> Path:
        """Return the path of the weights after `epoch` (from 1), a file that Keras can load."""
        return self.path / "weights" / f"epoch_{epoch:03d}.weights.h5"

    def weights_epochs(self) -> list[int]:
        """Return the epochs whose weights are saved, ascending."""
        names = (path.name for path in self.path.glob("weights/epoch_*.weights.h5"))
        numbers = (name.removeprefix("epoch_").removesuffix(".weights.h5") for name in names)
        return sorted(int(number) for number in numbers if number.isdigit())

    def make_folders(self) -> None:
        """Make missing subfolders; raises `OSError`."""
        for folder in _FOLDERS:
            (self.path / folder).mkdir(parents=True, exist_ok=True)

    def discard_after(self, epochs: int) -> None:
        """Remove the weights of later epochs, and incomplete files of killed processes."""
        later = [self.weights_path(epoch) for epoch in self.weights_epochs() if epoch > epochs]
        ours = f".tmp-{os.getpid()}-"  # another thread may be writing these
        halves = [p for p in self.path.rglob(".tmp-*") if not p.name.startswith(ours)]
        for path in [*later, *halves]:
            path.unlink(missing_ok=True)

    # The following methods raise `OSError` if a file can't be written, and `RequestError` if it is
    # missing or damaged.

    def write_json(self, name: str, data: Any) -> None:
        """Write a JSON file into the folder; NaN and infinities become null."""
        files.write_json(self.path / name, data)

    def read_metrics(self) -> dict[str, Any]:
        """Return the content of metrics.json."""
        return files.read_json(self.path / "metrics.json")

    def read_environment(self) -> dict[str, Any] | None:
        """Return the content of environment.json; None if it is missing or damaged."""
        with suppress(RequestError):
            return files.read_json(self.path / "environment.json")
        return None

    def write_predictions(self, columns: Mapping[str, Any]) -> None:
        """Write predictions.csv, one row per test item; columns are (N,)."""
        files.write_table(self.path / "predictions.csv", columns)

    def read_predictions(self, text: Collection[str] = ()) -> dict[str, np.ndarray]:
        """Return the columns of predictions.csv as arrays (N,) of int64, float64 or text.

        The columns named in `text`, which a `Kind` declares, are always text.
        """
        return files.read_table(self.path / "predictions.csv", text)

    def write_config(self, config: Mapping[str, Any]) -> None:
        """Write config.yaml."""
        import yaml

        text = yaml.safe_dump(dict(config), sort_keys=False)
        files.write_text(self.path / "config.yaml", text)

    def read_config(self) -> dict[str, Any]:
        """Return the resolved configuration of the run."""
        import yaml

        path = self.path / "config.yaml"
        try:
            text = path.read_text(encoding="utf-8")
            config = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except (OSError, ValueError, yaml.YAMLError) as error:
            reason = " ".join(str(error).split())
            raise RequestError(f"{path}: damaged or missing: {reason}.") from error
        if not isinstance(config, dict):
            raise RequestError(f"{path}: damaged: expected a mapping.")
        return config

    def read_task(self) -> str:
        """Return the name of the run's task from config.yaml."""
        task = self.read_config().get("task")
        if not isinstance(task, dict) or "name" not in task:
            path = self.path / "config.yaml"
            raise RequestError(f"{path}: damaged: task: expected a name, got {task}.")
        return str(task["name"])


class ListedRun(NamedTuple):
    """A run and its status; a damaged run has the state "damaged" and the error."""

    run: RunDirectory
    status: dict[str, Any]

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.run.path

    @property
    def state(self) -> str:
        """The current state: "killed" if no process holds the run's lock any more."""
        state = self.status["state"]
        if state == "completed" and not (self.path / "metrics.json").is_file():
            return "damaged"  # partly deleted
        return "killed" if state == "running" and not is_alive(self.path) else state

    @classmethod
    def of(cls, run: RunDirectory) -> ListedRun:
        """Return the run with its status; missing entries are filled from its path."""
        task, attention, stem = run.path.parts[-3:]
        seed, started = stem.partition("_s")[2].split("_")[0], stem
        with suppress(ValueError):
            began = datetime.strptime(stem[:17], "%Y-%m-%d_%H%M%S").astimezone(timezone.utc)
            started = began.isoformat()
        status: dict[str, Any] = {"task": task, "attention": attention, "started": started}
        status["seed"] = int(seed) if seed.isdigit() else None
        try:
            return cls(run, status | run.status.read())
        except RequestError as error:
            return cls(run, {**status, "state": "damaged", "error": str(error)})


class Status:
    """Reads and writes a status.json, always as a whole; the writer holds the run's lock."""

    def __init__(self, path: Path):
        self._path = path

    def write(self, state: str | None = None, **changes: Any) -> None:
        """Change some entries; a damaged file is replaced. Raises `OSError`."""
        with _changing_status:
            status: dict[str, Any] = {"format": FORMAT}
            with suppress(RequestError):
                status |= files.read_json(self._path)
            if state is not None:
                status["state"] = state
            status.update(changes, updated=datetime.now(timezone.utc).isoformat())
            files.write_json(self._path, status)

    def read(self) -> dict[str, Any]:
        """Return all entries; raises `RequestError` if the file is missing, damaged or too old.

        The state is "killed" if the file says "running" but no process holds the run's lock.
        """
        status = files.read_json(self._path)
        if status.get("format") != FORMAT:
            raise RequestError(
                f"{self._path}: format: expected {FORMAT}, got {status.get('format')!r}. This "
                "version of attnlab can't read the run: train it again."
            )
        if status.get("state") not in STATES:
            raise RequestError(f"{self._path}: damaged: state: got {status.get('state')!r}.")
        if status["state"] == "running" and not is_alive(self._path.parent):
            status["state"] = "killed"
        return status

    def changed(self) -> int:
        """Return when the file was written, in nanoseconds; 0 if it is missing."""
        try:
            return self._path.stat().st_mtime_ns
        except OSError:
            return 0

    def state(self) -> str:
        """Return the run's state."""
        return self.read()["state"]

    def require_completed(self, otherwise: str = "") -> None:
        """Raise `RequestError` with the state and a remedy, plus `otherwise`, unless completed."""
        status = self.read()
        state = status["state"]
        if state != "completed":
            raise RequestError(
                f"RUN: {str(self._path.parent)!r} is not completed but {state} (epoch "
                f"{status.get('epoch', 0)}): {_ADVICE[state]}{otherwise}."
            )


def run_lock(folder: Path) -> FileLock:
    """Return the lock that a process holds while it trains the run in `folder`.

    The kernel releases it when the process ends, however it ends. Acquiring waits for a second,
    because `is_alive` holds the lock for a moment; then it raises `filelock.Timeout`.
    """
    from filelock import FileLock

    return FileLock(Path(folder) / ".lock", timeout=_PATIENCE_SECONDS)


def is_alive(folder: Path) -> bool:
    """Return whether a process holds the lock of the run in `folder`."""
    if not (Path(folder) / ".lock").exists():
        return False
    try:
        with run_lock(folder).acquire(timeout=0):
            return False
    except OSError:  # a `Timeout`, or the lock belongs to another user
        return True


@contextmanager
def hold(folder: Path, seconds: float = _PATIENCE_SECONDS) -> Iterator[None]:
    """Hold the lock of the run in `folder`, after waiting for it at most `seconds`; -1 for ever.

    Raises:
        RunBusy: Another process holds it.
        RequestError: The folder can't be written.
    """
    from filelock import Timeout

    lock = run_lock(folder)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise RunBusy(
            f"{folder}: another process is working in this folder: wait until it has stopped."
        ) from None
    except OSError as error:
        raise RequestError(
            f"{folder}: expected a folder that can be written ({error.strerror or error})."
        ) from error
    try:
        yield
    finally:
        lock.release()


def shown_state(status: Mapping[str, Any]) -> str:
    """Return the state as users see it: `pruned` if a search stopped the run."""
    state = status.get("state", "damaged")
    return "pruned" if state == "killed" and status.get("pruned") else state


def default_runs_folder() -> Path:
    """Return the folder of all runs: `$ATTNLAB_RUNS`, else `runs` in the working folder."""
    return Path(os.environ.get("ATTNLAB_RUNS") or "runs").absolute()


def list_runs(runs: Path) -> list[ListedRun]:
    """Return all runs of a runs folder, also damaged ones, in the order of their start."""
    folders = filter(_is_a_run, run_folders(Path(runs).absolute()))
    listed = [ListedRun.of(RunDirectory(folder)) for folder in folders]
    return sorted(listed, key=lambda entry: (str(entry.status["started"]), entry.run.name))


def find_run(text: str, runs: Path) -> RunDirectory:
    """Return the run that a text names.

    `text` is a run's folder (a path, or the name that `attnlab runs` shows), its MLflow run id or
    the first characters of the id; `commands.options` resolves "latest". Raises `NoSuchRun` if no
    run fits, and `RequestError` if several fit, or the run is damaged.
    """
    runs = Path(runs).absolute()
    if text:
        for path in (Path(text), runs / text):
            exists = False
            with suppress(OSError, RuntimeError, ValueError):  # too long, ~NOBODY, or a NUL in it
                exists = path.expanduser().exists()
            if exists:
                return RunDirectory.open(path.expanduser())
    listed = list_runs(runs)
    matches = [
        run
        for run, status in listed
        if text
        and (run.path.name == text or str(status.get("mlflow_run_id") or "").startswith(text))
    ]
    if len(matches) == 1:
        return RunDirectory.open(matches[0].path)
    if matches:
        names = ", ".join(run.name for run in matches[:5]) + ", ..." * (len(matches) > 5)
        raise RequestError(
            f"RUN: {text!r} fits {len(matches)} runs in {str(runs)!r}: {names}. Type more "
            "characters of the id, or one of these names."
        )
    raise NoSuchRun(
        "RUN: expected a run folder, an MLflow run id or its first characters, or latest, "
        f"got {text!r}: none of the {len(listed)} runs in {str(runs)!r} fits. Another folder of "
        f"runs: {OTHER_FOLDER}."
    )


def run_folders(runs: Path) -> Iterator[Path]:
    """Yield every `<task>/<attention>/<run>`, without walking through MLflow's artifacts."""
    tasks = [path for path in _subfolders(runs) if path.name not in ("artifacts", "sweeps")]
    for attention in (path for task in tasks for path in _subfolders(task)):
        yield from _subfolders(attention)


def _is_a_run(folder: Path) -> bool:
    """Return whether a folder is a run's; a partly deleted run may lack status.json."""
    names = ("status.json", "config.yaml", "history.csv")
    return any((folder / name).is_file() for name in names) or any(folder.glob("weights/epoch_*"))


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(e.path) for e in entries if e.is_dir() and not e.name.startswith(".")]
    except OSError:
        return []


def _rename(folder: Path, stem: str) -> Path:
    """Rename a folder to the first free name of `stem`, `stem_2`, `stem_3`, ..."""
    number, path = 1, folder.with_name(stem)
    while True:
        try:
            return folder.rename(path)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
        number += 1
        path = folder.with_name(f"{stem}_{number}")
