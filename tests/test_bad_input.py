"""A wrong request gets one clear sentence and exit code 2; a broken environment, a warning."""

from __future__ import annotations

import json
import logging
import shutil
import signal
import subprocess

import pytest
from command_line import assert_refused
from sweep_examples import SMALL, query, wait_for

COMPLAINT = "attnlab: "


# A row per cause: the words, and parts of the sentence.
REQUESTS = [
    # An option or a key that doesn't exist.
    ("attention=bahdanu", "Did you mean bahdanau?"),
    ("-m seed=0,1 attention=bahdanau,luong_loca", "Did you mean luong_local?"),
    ("-m search=nothing", "search=nothing: there is no such option."),
    ("-m hydra/launcher=jobli seed=0,1", "hydra/launcher", "jobli"),
    ("tsk=fib", "tsk: there is no such key. Did you mean task?"),
    ("-m task=sunspots task.histry=3,4", "Did you mean task.history?"),
    ("lr=0.01", "lr: there is no such key. Did you mean optimizer.learning_rate?"),
    ("+attention.width=3", "attention.width: there is no such key. Valid: name, "),
    ("attention=bahdanau attention.window=3", "attention.window: there is no such key. It is a "),
    ("task=masked_words model=rnn", "model=rnn: tasks of masked_words have transformer."),
    # A type or a range.
    ("trainer.epochs=many", "trainer.epochs: expected a whole number at least 1, got many."),
    ("-m model.units=4,0", "model.units: expected a whole number at least 1, got 0."),
    ("model.cell=lst", "one of simple, gru, lstm, got lst. Did you mean lstm?"),
    ("-m seed=0,1 sweep.retry_failed=maybe", "sweep.retry_failed: expected true or false"),
    ("-m seed=0,1 sweep.name=a/b", "sweep.name=a/b: can't be the name of a folder."),
    ("-m seed=0,1 paths.runs=a,b", "paths.runs=a,b: only one value is allowed"),
    ("-m attention=glob(x*)", "attention=glob(x*): has no values, so the grid is empty."),
    ("-m optimizer.learning_rate=interval(0,1)", "a search (search=NAME) takes intervals."),
    # Settings that can't be combined.
    ("attention=multi_head attention.heads=5", "attention.heads: expected a divisor", "got 5."),
    (
        "attention=multi_head attention.window=3 model=rnn",
        "attention.window: needs model.name=transformer or vit (it counts the steps of one "
        "sequence), got model.name=rnn.",
    ),
    (
        "optimizer=adadelta optimizer.clip_value=1",
        "optimizer.clip_value: needs optimizer.clip_norm=null, got optimizer.clip_norm=1.0.",
    ),
    ("attention=none model=transformer", "model.name=transformer: ", "Valid: rnn, embeddings."),
    (
        "model=transformer attention=bahdanau model.positions=rope",
        "model.positions=rope: BahdanauAttention can't have rotary positions: ",
    ),
    ("attention.name=pooling", "attention.name=pooling: the name can't be changed without"),
    ("task.validation=0 trainer.patience=1", "trainer.patience=1 needs validation data"),
    ("task.validation=0 schedule=plateau", "schedule=plateau needs validation data"),
    ("task=sunspots model.at_once=25", "model.at_once: expected at most task.history=24, got 25."),
    ("-m model.at_once=1 attention.dropout=0,0.1", "model.at_once: needs attention.dropout=0, got"),
    ("task=sunspots task.history=3000", "task.history=3000 and task.horizon=1: no window fits"),
    ("task=series", "task.path: expected a text (it is the CSV file"),
    ("task=series task.path=no.csv", "task.path: no.csv can't be read: No such file or directory."),
    # Settings of sweeps and searches.
    ("task=fib sweep.name=x", "sweep.name=x: this setting is for sweeps. Add -m."),
    ("hydra/launcher=joblib", "hydra/launcher=joblib: this setting is for sweeps. Add -m."),
    ("-m hydra/sweeper=basic seed=0,1", "hydra/sweeper=basic: only Hydra's launcher"),
    ("-m search.trials=5 seed=0,1", "seed=0,1: a search allows only one value"),
    ("-m search.trials=5", "search.space: expected a range for at least one key"),
    ("-m search=rnn_small search.trails=3", "search.trails: there is no such key. Did you mean"),
    ("-m search=rnn_small search.metrics=test.rmse", "search.metrics: expected one of"),
    ("-m search=rnn_small hydra/launcher=joblib", "hydra/launcher=joblib: a search runs in one"),
    ("-m search=rnn_small search.space.model.unts={int:[2,4]}", "model.unts: there is no such"),
    # Words that aren't a command line.
    ("sunspots bahdanau", "sunspots: there is no such command.", "Settings are KEY=VALUE."),
    ("eval latest", "eval: there is no such command. Did you mean evaluate?"),
    ("help forcast", "forcast: there is no such command. Did you mean forecast?"),
    ("foo --help", "foo: there is no such command."),
    ("seed=0,1", "expected one value, several with -m."),
    ("model.units=[", "model.units=[: expected KEY=VALUE."),
    ("--multirn task=fib", "unrecognized arguments: --multirn. Valid options: --multirun, "),
    ("--config-path nowhere", "--config-path: expected a folder or a YAML file, got nowhere."),
    ("--config-dir /nowhere task=fib", "--config-dir: expected a folder, got /nowhere."),
    ("tracking.uri=http://me:secret@host", "must not contain a user name or password"),
    # Commands.
    (f"runs --runs {'x' * 300}", f"{'x' * 300}", ": file name too long."),
    ("runs --runs nowhere", "--runs: expected an existing folder, got 'nowhere'."),
    ("forecast", "Missing argument 'RUN'."),
    ("forecast latest --stps 3", "Did you mean '--steps'?"),
    ("evaluate latest", "there is none among the 0 runs in ", "ATTNLAB_RUNS=FOLDER"),
    ("evaluate nowhere", "RUN: expected a run folder", "got 'nowhere'"),
    ("plot .", "with a status.json, got '.'"),
    ("forecast lastest", "got 'lastest': none of the 0 runs in ", "Did you mean latest?"),
    ("compare attention=none", "attention=none: type --attention none."),
    ("compare --json attention=none", "attention=none: type --attention none."),
    ("runs failed=true", "failed=true: type --failed."),
    ("evaluate latest epoch=3", "epoch=3: type --epoch 3."),
    ("compare --where attention=none", "there are no runs in "),
    ("report NOSWEEP", "RUN: expected a run folder", "got 'NOSWEEP': none of the 0 runs in "),
    ("plot", "RUN: expected RUN, positional-encoding, or one of"),
    ("plot positional-encoding --output /proc/nowhere", "--output: /proc/nowhere can't be written"),
    ("explain attention.windw", "Did you mean attention.window?"),
    ("estimate task=fib trainer.epochs=0", "trainer.epochs: expected a whole number at least 1"),
    ("data fetch tatoba", "NAME: ", "Did you mean tatoeba?"),
    ("data fetch book", "NAME: ", "can't be downloaded"),
    ("study bok", "NAME: expected a study, got 'bok'. Did you mean book?"),
    ("study book paths.runs=x", "paths.runs=x: not with a study, which has --seeds and --runs"),
    ("summarize nowhere.txt", "FILE: nowhere.txt can't be read"),
    ("runs sync latest --task fib", "RUN: name runs, or give filters that choose runs, not both."),
    ("plan", "Missing option '--difference'"),
]
# Of commands on completed runs of three mechanisms.
REQUESTS_OF_RUNS = [
    ("compare --by atention", "--by: no run has the config key 'atention'. Did you mean"),
    ("compare --by trainer", "'trainer'. Did you mean trainer.epochs?"),
    ("compare --by seed", "--by: leave out seed"),
    ("compare --by ,", "--by: expected config keys such as attention, got ','"),
    ("compare --where model.cell", "--where: expected KEY=VALUE such as"),
    ("compare --metric rmsee", "got 'rmsee'. Did you mean rmse?"),
    ("compare --reference pool", "--reference: no group is 'pool'. Groups: bahdanau, none, "),
    ("compare --plot x.gif", "--plot: expected a file that ends with .png, .pdf, .svg"),
    ("compare --task sunspot", "None of the 15 runs satisfies all filters."),
    ("plan --difference nan%", "--difference=nan%: must be"),
    ("plan --difference 0.02 --geometric", "--difference=0.02: must be a percentage"),
    ("runs --where model.unit=8", "config key 'model.unit'. Did you mean model.units?"),
    ("vocabulary latest", "RUN: latest: expected a run that reads texts, but there is none among"),
    ("plot embeddings latest", "expected a completed run with saved weights that this command can"),
    ("export latest", "Missing option '--format'"),
]


@pytest.mark.parametrize(("words", "sentence"), [(w, s) for w, *s in REQUESTS])
def test_a_wrong_request(here, words, sentence):
    outcome = here(*words.split())
    assert_refused(outcome, *sentence)
    assert "secret" not in outcome.err
    assert here.run_folders() == []


@pytest.mark.parametrize(("words", "sentence"), REQUESTS_OF_RUNS)
def test_a_wrong_request_of_runs(here, three_groups, words, sentence):
    here.runs = three_groups
    assert_refused(here(*words.split()), sentence)


def test_a_run_that_fails_ends_with_1(here):
    failing = (*SMALL, "trainer.epochs=2", "optimizer.learning_rate=1e38", "model.anchor=false")
    code, out, err = here(*failing, "tracking.enabled=false")
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith(f"{COMPLAINT}failed: epoch "), err


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/runs"])
def test_a_runs_folder_that_cannot_be_written(here, place):
    (here.folder / "file").touch()
    outcome = here("task=fib", f"paths.runs={place}")
    assert_refused(outcome, "paths.runs: expected a folder that can be written", place)


# Of a completed run: the command, a file with its new content, and parts of the sentence.
DAMAGE = [
    ("evaluate", "status.json", {"state": "running", "epoch": 1}, "RUN: ", "but killed (epoch 1)"),
    ("evaluate", "status.json", "{", "status.json: damaged"),
    ("evaluate", "status.json", None, "with a status.json"),
    ("evaluate", "config.yaml", "task: 3", "task: expected "),
    ("forecast", "config.yaml", "a: [b", "config.yaml: damaged or missing"),
    ("evaluate", "metrics.json", "{", "metrics.json: damaged"),
    ("evaluate", "weights/*", None, "has no saved weights"),
    ("forecast", "assets/scaler.json", "{}", "scaler.json: damaged or missing: "),
    ("plot", "history.csv", "epoch,loss\n1\n", "history.csv: damaged"),
    ("plot", "predictions.csv", None, "predictions.csv: damaged or missing"),
    ("forecast", "weights/*", b"\7" * 1000, "weights.h5: can't read this run's weights: "),
]


@pytest.fixture
def copied(trained, here):
    """A copy of the trained run, which a test damages."""
    folder = here.runs / "series" / "luong_global" / "copy"
    shutil.copytree(trained.folder, folder)
    shutil.copy(trained.attnlab.folder / "rain.csv", here.folder)
    return folder


@pytest.mark.parametrize(
    ("verb", "name", "content", "words"), [(v, n, c, w) for v, n, c, *w in DAMAGE]
)
def test_a_damaged_run(here, copied, verb, name, content, words):
    for path in copied.glob(name):
        if content is None:
            path.unlink()
        elif isinstance(content, dict):
            path.write_text(json.dumps({**json.loads(path.read_text()), **content}))
        elif isinstance(content, bytes):  # in the middle, which HDF5 finds late
            whole = path.read_bytes()
            path.write_bytes(whole[:600] + content + whole[600 + len(content) :])
        else:
            path.write_text(content)
    assert_refused(here(verb, copied), *words)


def test_wrong_options_for_a_run(here, copied):
    for words, sentence in (
        ("evaluate latest --epoch x", "--epoch: expected best, last or one of the saved epochs 1"),
        ("evaluate latest --part all", "--part: expected one of train, validation, test, got all."),
        ("forecast latest --history no.csv", "--history: no.csv can't be read: No such file"),
        ("forecast latest --id a --history no.csv", "--id and --history: give only one of them."),
    ):
        assert_refused(here(*words.split()), sentence)


def test_a_model_that_cannot_be_is_refused_before_the_data_are_prepared(here):
    (here.folder / "pairs.tsv").write_text("no pair")
    data = ("task=translate", "data=files", "data.path=pairs.tsv")
    assert_refused(here(*data), "pairs.tsv")
    for words, sentence in (
        ("attention=luong_global model.input_feeding=true model.placement=before_step", "feeding"),
        ("attention=luong_global model.encoder_units=5", "score=dot needs a query and a memory"),
    ):
        assert_refused(here(*data, *words.split()), sentence)
    assert here.run_folders() == []


@pytest.fixture
def small_disk(tmp_path):
    """A disk on which a run's first files fit and its weights don't."""
    folder = tmp_path / "full"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_full_disk_costs_files_and_not_the_result(attnlab, small_disk):
    words = (*SMALL, "trainer.epochs=4", "tracking.enabled=false", f"paths.runs={small_disk}")
    _, out, err = attnlab.run(*words)
    assert "best epoch" in out
    lines = [line for line in err.splitlines() if line.startswith(f"{COMPLAINT}{small_disk}")]
    assert "could not write" in lines[0] and "the run continues" in lines[0]
    assert all("could not be drawn" in line for line in lines[1:])


def test_a_tracking_server_that_does_not_answer_costs_a_warning(here, caplog):
    server = ("tracking.uri=http://127.0.0.1:9", "tracking.timeout=240")
    out = here.run(*SMALL, "trainer.epochs=1", *server).out
    (warning,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert warning.message.startswith("MLflow's copy of ")
    (folder,) = here.run_folders()
    assert json.loads((folder / "status.json").read_text())["state"] == "completed"
    assert (folder / "metrics.json").is_file() and "best epoch" in out


@pytest.mark.slow
def test_an_interrupted_run_is_recorded_everywhere(attnlab, empty_store):
    """By Ctrl-C; `test_interrupts` has SIGTERM, too."""
    attnlab.runs.mkdir()
    shutil.copy(empty_store, attnlab.runs / "mlflow.db")
    words = (*SMALL, "trainer.epochs=999", "trainer.batch_size=1")
    with attnlab.start(*words) as process:
        wait_for(lambda: [*attnlab.runs.glob("fib/*/*/weights/epoch_001.weights.h5")])
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    (folder,) = attnlab.run_folders()
    said = err.splitlines()[-1]
    assert process.returncode == 130 and said.startswith(f"{COMPLAINT}interrupted: ")
    assert said.endswith(f"; run folder {folder}; attnlab resume latest continues it")
    assert "Traceback" not in err
    status = json.loads((folder / "status.json").read_text())
    assert (status["state"], status["error"]) == ("killed", "interrupted")
    rows = (folder / "history.csv").read_text().splitlines()
    # The interruption may come between the two files.
    assert len(rows) - 1 - status["epoch"] in (0, 1)
    killed = [("KILLED",)]  # by the process that follows it
    wait_for(lambda: query(attnlab, "select status from runs") == killed)
