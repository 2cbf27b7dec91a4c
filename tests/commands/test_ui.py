"""`attnlab ui`: what it refuses, the server that it starts, and how it ends."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from attnlab.cli import main
from attnlab.commands import servers, ui
from attnlab.commands.servers import check_port
from attnlab.commands.ui import check_store
from attnlab.errors import RequestError


def test_ui_needs_a_store(tmp_path):
    with pytest.raises(RequestError, match=r"mlflow\.db' does not exist\. Train a run first"):
        check_store(f"sqlite:///{tmp_path}/mlflow.db", tmp_path)
    (tmp_path / "mlflow.db").write_text("")
    check_store(f"sqlite:///{tmp_path}/mlflow.db", tmp_path)


def test_ui_refuses_a_remote_server():
    with pytest.raises(RequestError, match="is a server: open it in a browser"):
        check_store("https://mlflow.example", Path())


def test_ui_reports_a_port_in_use():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RequestError, match=rf"--port={port}: can't be used on "):
            check_port("127.0.0.1", port)
    check_port("127.0.0.1", port)
    with pytest.raises(RequestError, match="--host=no"):
        check_port("nowhere.invalid", port)


@pytest.mark.parametrize(("ended", "code"), [("exit()", 0), ("exit(3)", 1), ("1 / 0", 1)])
def test_ui_returns_its_servers_exit_code(tmp_path, monkeypatch, capfd, ended, code):
    """The server's exit code is the command's exit code."""
    (tmp_path / "mlflow.db").write_text("")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(ui, "server_command", lambda *_: [sys.executable, "-c", ended])
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert main(["ui", "--runs", str(tmp_path), "--port", str(port)]) == code
    assert f"MLflow UI at http://127.0.0.1:{port}" in capfd.readouterr().out


def test_ui_and_its_servers_dont_import_from_the_working_folder(tmp_path, monkeypatch):
    """Uvicorn looks for modules in the working folder, even if Python doesn't."""
    (tmp_path / "random.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    assert servers.run_server([sys.executable, "-m", "random"]) == 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="sends POSIX signals")
def test_ui_serves_and_ends_quietly(tmp_path, empty_store):
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "attnlab", "ui", "--port", str(port), "--runs", str(tmp_path)]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert answers(f"http://127.0.0.1:{port}/health") == b"OK"
    finally:
        server.send_signal(signal.SIGINT)
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
