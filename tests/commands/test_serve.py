"""`attnlab serve` and `attnlab export --register`: MLflow's server and its registry."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import socket
import subprocess

import pytest
from command_line import CommandLine, CommandsHere, assert_refused

from attnlab.commands.serve import curl_line


def test_a_port_in_use_and_an_unfinished_run(trained, tmp_path):
    here = CommandsHere(trained.attnlab.folder)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = here("serve", trained.folder, "--port", port)
    assert_refused(done, f"--port={port}: can't be used on 127.0.0.1")
    copy = shutil.copytree(trained.folder, tmp_path / "runs" / "series" / "none" / "killed")
    status = copy / "status.json"
    status.write_text(status.read_text().replace('"completed"', '"killed"'))
    for words in (("serve",), ("export", "--register", "name")):
        assert_refused(here(words[0], copy, *words[1:]), "killed")


def test_the_line_for_curl_is_quoted():
    words = shlex.split(curl_line(5001, {"inputs": ["it's"]}))
    assert words[:5] == [
        "curl",
        "-s",
        "--noproxy",
        "127.0.0.1",
        "http://127.0.0.1:5001/invocations",
    ]
    assert json.loads(words[-1]) == {"inputs": ["it's"]}


@pytest.mark.slow
def test_serve_answers_curl_and_ends_quietly(trained):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = trained.attnlab.start("serve", trained.folder, "--port", port)
    try:
        assert server.stdout.readline().startswith("serving ")
        line = server.stdout.readline().strip()
        answer = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60)
        assert len(json.loads(answer.stdout)["predictions"]) == 1
    finally:
        server.send_signal(signal.SIGINT)
        _, err = server.communicate(timeout=60)
    assert server.returncode == 0 and "Traceback" not in err
    with socket.create_server(("127.0.0.1", port)):
        pass  # nothing listens any more


@pytest.mark.slow
def test_a_run_is_registered(trained, tmp_path):
    folder = shutil.copytree(trained.attnlab.folder, tmp_path / "moved")
    attnlab = CommandLine(folder)
    (run,) = attnlab.run_folders()
    for version in (1, 2):
        done = attnlab("export", run, "--register", "rain")
        assert (done.code, done.out) == (0, f"registered: models:/rain/{version}\n"), done.err
