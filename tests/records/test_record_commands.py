"""The verbs that read records: runs, plot, ui."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from attnlab.commands import command
from attnlab.commands.ui import check_port, check_store, server_command
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory


def invoke(verb, *arguments, columns=100):
    runner = CliRunner(env={"COLUMNS": str(columns)})
    return runner.invoke(command(verb), list(map(str, arguments)), catch_exceptions=False)


@pytest.fixture
def runs(tmp_path):
    """A completed, a running, a failed and a damaged run, in this order."""
    made = []
    for number, (task, attention) in enumerate(
        [("fib_random", "scaled_dot_product"), ("fib", "none"), ("fib", "pooling"), ("a", "b")]
    ):
        run = RunDirectory.create(tmp_path, task, attention, 1000 + number)
        run.status.write(started=f"2024-05-0{number + 1}T00:00:00+00:00")
        made.append(run)
    made[0].status.write("completed", epoch=1000, mlflow_run_id="abc123")
    test = {"rmse": 0.0123456, "mae": 0.01}
    made[0].write_json(
        "metrics.json", {"best_value": 123456.789, "test": test, "skill": -0.123456, "units": "x"}
    )
    made[1].history.append({"epoch": 1, "train_loss": 0.1, "val_loss": 0.75})
    made[1].history.append({"epoch": 2, "train_loss": 0.1, "val_loss": 0.25})
    made[1].history.append({"epoch": 3, "train_loss": 0.1, "val_loss": float("nan")})
    made[2].status.write("failed", error="the loss is nan")
    (made[3].path / "status.json").write_text("{")
    return made


def test_table_fits_and_has_the_newest_last(tmp_path, runs):
    shown = invoke("runs", "--runs", tmp_path)
    head, *lines = shown.output.splitlines()
    assert head.split() == "run state task attention seed epoch best test skill age".split()
    assert all(len(line) <= 100 for line in [head, *lines])
    words = [line.split() for line in lines]
    assert [row[1] for row in words] == ["completed", "running", "failed", "damaged"]
    assert words[0][0] == runs[0].path.name
    assert words[0][2:9] == [
        *("fib_random", "scaled_dot_product", "1000", "1000"),
        *("1.23e+05", "0.0123", "-0.12"),
    ]
    assert words[1][4:9] == ["1001", "0", "0.25", "-", "-"]
    assert re.fullmatch(r"\d+[wy]", words[0][9])


def test_no_word_is_cut_off_at_100_columns(tmp_path, runs):
    assert "…" not in invoke("runs", "--runs", tmp_path).output


def test_limit_keeps_the_newest_and_says_so(tmp_path, runs):
    lines = invoke("runs", "--runs", tmp_path, "--limit", 1).output.splitlines()
    assert "damaged" in lines[1]
    assert lines[2].startswith("3 older runs")


def test_json_has_full_values_and_paths(tmp_path, runs):
    rows = json.loads(invoke("runs", "--runs", tmp_path, "--json").output)
    assert rows[0]["skill"] == -0.123456
    assert rows[0]["path"] == str(runs[0].path)
    assert rows[0]["mlflow_run_id"] == "abc123"
    assert rows[2]["error"] == "the loss is nan"


def test_no_runs_yet_says_how_to_start_one(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLAB_RUNS", str(tmp_path / "nothing"))
    shown = invoke("runs")
    assert shown.exit_code == 0
    assert "Start one: attnlab task=fib" in shown.output
    assert invoke("runs", "--json").output == "[]\n"


def test_folder_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(RequestError, match="--runs: expected an existing folder"):
        invoke("runs", "--runs", tmp_path / "nothing")


@pytest.mark.parametrize("verb", ["runs", "plot", "ui"])
def test_verbs_load_nothing_heavy(verb):
    code = (
        f"import sys; from attnlab.commands import command; command({verb!r});"
        "heavy = ('numpy', 'tensorflow', 'keras', 'mlflow', 'matplotlib', 'hydra', 'yaml');"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_plot_refuses_an_unfinished_run(tmp_path, runs):
    with pytest.raises(RequestError, match="is failed"):
        invoke("plot", runs[2].path)


def test_plot_refuses_an_incomplete_run_folder(tmp_path, runs):
    with pytest.raises(RequestError, match=r"predictions\.csv: damaged or missing"):
        invoke("plot", "abc", "--runs", tmp_path)


def test_plot_draws_into_another_folder(tmp_path, runs):
    run = runs[0]
    run.history.append({"epoch": 1, "train_loss": 0.5})
    columns = {"index": [5, 6], "time": ["5", "6"], "step": [1, 1]}
    run.write_predictions({**columns, "target": [0.1, 0.2], "prediction": [0.1, 0.1]})
    run.write_json("metrics.json", {"task": "a", "attention": "b", "seed": 0, "best_epoch": 1})
    shown = invoke("plot", run.path, "--output", tmp_path / "out")
    drawn = [tmp_path / "out" / name for name in ("loss.png", "forecast.png")]
    assert shown.output.splitlines() == [str(path) for path in drawn]
    assert all(path.stat().st_size > 5000 for path in drawn)
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match="--output: expected a folder that can be written"):
        invoke("plot", run.path, "--output", tmp_path / "file" / "deeper")


def test_ui_needs_a_store(tmp_path):
    with pytest.raises(RequestError, match=r"mlflow\.db' does not exist: train a run first"):
        check_store(f"sqlite:///{tmp_path}/mlflow.db", tmp_path)
    (tmp_path / "mlflow.db").write_text("")
    check_store(f"sqlite:///{tmp_path}/mlflow.db", tmp_path)


def test_ui_leaves_a_server_to_itself():
    with pytest.raises(RequestError, match="is a server: open it in a browser"):
        check_store("https://mlflow.example", Path())


def test_ui_says_that_the_port_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RequestError, match=rf"--port: expected a free port .* got {port}"):
            check_port("127.0.0.1", port)
    check_port("127.0.0.1", port)


def test_ui_shows_this_projects_store_and_artifacts(tmp_path):
    words = server_command("sqlite:////r/mlflow.db", tmp_path, "127.0.0.1", 5077)
    assert words[1:4] == ["-m", "mlflow", "ui"]
    options = dict(zip(words[4::2], words[5::2], strict=True))
    assert options["--backend-store-uri"] == "sqlite:////r/mlflow.db"
    assert options["--artifacts-destination"] == (tmp_path / "artifacts").as_uri()
    assert (options["--host"], options["--port"]) == ("127.0.0.1", "5077")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="sends POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ui_serves_and_ends_quietly(tmp_path, empty_store, monkeypatch, number):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    code = "from attnlab.commands import command; command('ui')()"
    words = [sys.executable, "-c", code, "--port", str(port), "--runs", str(tmp_path)]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert answers(f"http://127.0.0.1:{port}/health") == b"OK"
    finally:
        server.send_signal(number)
        out, err = server.communicate(timeout=60)
    assert server.returncode == 0
    assert f"http://127.0.0.1:{port}" in out
    assert "Traceback" not in err


def answers(address):
    for _ in range(600):
        try:
            with urllib.request.urlopen(address, timeout=5) as reply:
                return reply.read()
        except OSError:
            time.sleep(0.1)
    return None
