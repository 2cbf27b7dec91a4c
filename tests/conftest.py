"""Shared fixtures: runs by the real command line, and composed configurations."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import (
    CONF,
    THREADS,
    TINY,
    CommandLine,
    CommandsHere,
    Outcome,
    TrainedRun,
    some_pairs,
    without_figures,
)
from filelock import FileLock
from hypothesis import settings

from attnlab.internals import vectorize_short_loops

if TYPE_CHECKING:
    from matplotlib.text import Text

# No test asserts a duration: a busy machine takes long for the first example.
settings.register_profile("untimed", deadline=None, max_examples=50)
settings.load_profile("untimed")

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
for variable in THREADS:
    os.environ.setdefault(variable, "1")
vectorize_short_loops()  # before a test compiles anything: a run in its process is as one elsewhere

# A script that starts the tests in the background makes them, and what they start, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Start with the file that takes minutes; at the end it would run alone."""
    items.sort(key=lambda item: "test_killing" not in item.nodeid)


def pytest_collection_finish():
    """Exclude imports from garbage collection: TensorFlow has millions of objects.

    Each run collects garbage when it starts.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def released_programs():
    """Release the compiled programs of a file, and exclude its imports from garbage collection."""
    yield
    if "attnlab.training.compilation" in sys.modules:
        sys.modules["attnlab.training.compilation"]._cache.clear()
    if len(gc.get_objects(generation=2)) > 100_000:
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def same_environment():
    """Isolate tests from each other's `--config-dir` and `-q`."""
    if "attnlab.records.logs" in sys.modules:
        sys.modules["attnlab.records.logs"].verbosity = 0
    os.environ.pop("ATTNLAB_CONFIG_DIR", None)


@pytest.fixture(autouse=True)
def same_random_state():
    """Isolate tests from earlier ones; a run also makes TensorFlow require seeds."""
    if "keras" in sys.modules:
        sys.modules["keras"].utils.set_random_seed(0)


@pytest.fixture
def attnlab(tmp_path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def here(tmp_path, monkeypatch) -> CommandsHere:
    """Commands in this process, in an empty folder and a clean environment."""
    commands = CommandsHere(tmp_path)
    for name in [name for name in os.environ if name.startswith("ATTNLAB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ATTNLAB_RUNS", str(commands.runs))
    monkeypatch.setenv("PYTHONPATH", commands.environment["PYTHONPATH"])  # of worker processes
    monkeypatch.chdir(tmp_path)
    return commands


@pytest.fixture(scope="module")
def no_figures():
    """Draw no figures at the end of runs in this process."""
    with without_figures():
        yield


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory) -> Path:
    """A folder that all processes of these tests share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def empty_store(shared_folder) -> Path:
    """An empty MLflow store, which tests copy because creating one takes seconds."""
    from attnlab.records.mlflow import connect, store_uri

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        connect(store_uri(shared_folder), shared_folder)
    return shared_folder / "mlflow.db"


def trained_once(
    folder: Path, store: Path, files: dict[str, bytes], words: tuple[str, ...]
) -> TrainedRun:
    """The run of a command in a folder with some files; only the first process that asks runs it.

    All others wait for it. No test changes the run.
    """
    folder.mkdir(exist_ok=True)
    ended = folder.with_suffix(".json")
    with FileLock(folder.with_suffix(".lock")):
        attnlab = CommandLine(folder, None if ended.exists() else store)
        if not ended.exists():
            for name, content in files.items():
                (folder / name).write_bytes(content)
            ended.write_text(json.dumps(attnlab(*words)))
    outcome = Outcome(*json.loads(ended.read_text()))
    assert outcome.code == 0, outcome.err
    (path,) = attnlab.run_folders()
    return TrainedRun(attnlab, outcome, path)


@pytest.fixture(scope="session")
def trained(shared_folder, empty_store) -> TrainedRun:
    """A run over a CSV file as spreadsheets write it, with MLflow."""
    months = [f"{1990 + month // 12}-{month % 12 + 1:02d}" for month in range(97)]
    rows = [f"{month},{50 + 13 * (number % 7)}" for number, month in enumerate(months)]
    text = "\r\n".join(["month,rain", *rows, ""])
    words = (
        *("task=series", "task.path=rain.csv", "task.column=rain", "task.time_column=month"),
        *("task.history=7", "attention=luong_global", *TINY, "trainer.jit=false"),
    )
    files = {"rain.csv": b"\xef\xbb\xbf" + text.encode()}
    return trained_once(shared_folder / "trained", empty_store, files, words)


@pytest.fixture(scope="session")
def translating(shared_folder, empty_store) -> TrainedRun:
    """A run that translates, with MLflow."""
    lines = [f"{pair.source}\t{pair.target}\r\n" for pair in some_pairs(90)]
    words = (
        *("task=translate", "data=files", "data.path=pairs.tsv"),
        *("attention=bahdanau", "model.units=8", "model.embedding=6", "model.maxout_units=4"),
        "model.cell=simple",
        *("trainer.epochs=2", "trainer.batch_size=400", "paths.data=cache"),
    )
    files = {"pairs.tsv": "".join(lines).encode()}
    return trained_once(shared_folder / "translating", empty_store, files, words)


@pytest.fixture(scope="session")
def exploring(shared_folder, empty_store) -> TrainedRun:
    """A Transformer that translates with words, though wrongly."""
    words = (
        *("task=translate", "data.pairs=1000", "model=transformer", "attention=multi_head"),
        *("attention.heads=2", "model.layers=1", "model.units=32", "model.feed_forward=32"),
        *("trainer.epochs=2", "trainer.batch_by=items", "trainer.batch_size=16"),
        *("optimizer=adam", "optimizer.learning_rate=0.005", "trainer.jit=false"),
        "tracking.enabled=false",
    )
    return trained_once(shared_folder / "exploring", empty_store, {}, words)


@pytest.fixture(scope="session")
def compose(tmp_path_factory):
    """Compose and check a configuration from overrides, in this process, with a new runs folder."""

    def compose(*overrides: str):
        from hydra import compose, initialize_config_dir

        from attnlab.config import composing as config

        config.register_schema()
        with initialize_config_dir(str(CONF), version_base="1.3"):
            runs = f"paths.runs={tmp_path_factory.mktemp('runs')}"
            return config.from_hydra(
                compose("config", [runs, "tracking.enabled=false", *overrides])
            )

    return compose


@pytest.fixture(scope="session")
def learner_of(compose):
    """A function from overrides to the runner's learner, with the task loaded."""

    def learner_of(*overrides: str):
        from attnlab.runner.train import make_learner, make_task, start_afresh

        config = compose(*overrides)
        task = make_task(config)
        task.load(config.seed)
        start_afresh(config.seed)
        return make_learner(config, task)

    return learner_of


def visible_texts(artist) -> Iterator[Text]:
    """All visible texts of a figure, without the labels of ticks beyond an axis' ends."""
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis, Tick
    from matplotlib.text import Text

    if isinstance(artist, Text) and artist.get_text().strip():
        yield artist
    for child in artist.get_children():
        hidden = not child.get_visible()
        if isinstance(artist, Axes) and isinstance(child, Axis):
            hidden |= not artist.axison
        if isinstance(child, Tick):
            low, high = sorted(artist.get_view_interval())
            margin = 1e-6 * (high - low)
            hidden |= not low - margin <= child.get_loc() <= high + margin
        if not hidden:
            yield from visible_texts(child)


@pytest.fixture
def legible_texts():
    """Check that no text of a figure covers another or leaves the figure; return the texts."""

    def texts(figure):
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        FigureCanvasAgg(figure).draw()
        drawn = [(t.get_text(), t.get_window_extent().padded(-1)) for t in visible_texts(figure)]
        for number, (text, box) in enumerate(drawn):
            assert figure.bbox.padded(1).contains(box.x0, box.y0), text
            assert figure.bbox.padded(1).contains(box.x1, box.y1), text
            for other, other_box in drawn[:number]:
                assert not box.overlaps(other_box), (text, other)
        return [text for text, _ in drawn]

    return texts


@pytest.fixture(scope="session")
def three_groups(tmp_path_factory):
    """Synthetic runs of five seeds for none, bahdanau (better) and pooling; only read by tests."""
    from compared_runs import BETTER, NONE, SAME, write_group

    runs = tmp_path_factory.mktemp("three_groups")
    for attention, values in (("none", NONE), ("bahdanau", BETTER), ("pooling", SAME)):
        write_group(runs, attention, values)
    return runs


@pytest.fixture
def runs(three_groups, tmp_path):
    """A copy of these runs, to which tests add runs."""
    return shutil.copytree(three_groups, tmp_path / "runs")


@pytest.fixture
def realdata() -> Path:
    """The folder of the real corpora."""
    folder = os.environ.get("ATTNLAB_REALDATA")
    if not folder:
        pytest.skip("needs $ATTNLAB_REALDATA, a folder of the real corpora")
    return Path(folder)
