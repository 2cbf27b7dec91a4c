"""`attnlab ui`: what it refuses, and that the command itself is the server."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys

import pytest
from command_line import answer_of, assert_refused, free_port


def test_ui_needs_a_store_that_is_no_server(here, monkeypatch):
    assert_refused(here("ui"), "mlflow.db' does not exist. Train a run first")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://mlflow.example")
    assert_refused(here("ui"), "is a server: open it in a browser")


def test_ui_reports_a_port_in_use_and_an_unknown_host(here, empty_store):
    here.runs.mkdir()
    shutil.copy(empty_store, here.runs / "mlflow.db")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert f"--port={port}: can't be used " in here("ui", "--port", port).err
    assert "--host=nowhere.invalid" in here("ui", "--host", "nowhere.invalid").err


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_ui_serves_until_it_is_stopped_and_leaves_no_server(tmp_path, empty_store, number):
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    (tmp_path / "random.py").write_text("raise SystemExit(3)")  # in the working folder
    port = free_port()
    words = [sys.executable, "-m", "attnlab", "ui", "--port", str(port), "--runs", str(tmp_path)]
    server = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert answer_of(f"http://127.0.0.1:{port}/health") == b"OK"
    finally:
        server.send_signal(number)
        out, err = server.communicate(timeout=60)
    assert f"http://127.0.0.1:{port}" in out and "Traceback" not in err
    socket.create_server(("127.0.0.1", port)).close()
