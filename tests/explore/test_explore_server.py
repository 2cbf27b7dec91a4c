"""The server of `attnlab explore`: its answers, and what it refuses."""

from __future__ import annotations

import html
import http.client
import json
import re
import shutil
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from command_line import CommandsHere

from attnlab.explore.server import prepare
from attnlab.records.run_directory import RunDirectory

CROSS = "decoder_0 cross_attention"
ASKED = {"slot": 0, "epoch": 2, "entries": {"text": "The old dog sleeps."}}


class Served(NamedTuple):
    """A server in a thread of this process."""

    host: str
    path: str

    def __call__(
        self, name: str, asked: Any = None, method: str = "POST", **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        """The status, the content and the headers of an answer."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        body = asked if isinstance(asked, bytes) else json.dumps(asked).encode()
        path = name if name.startswith("/") else self.path + name
        connection.request(method, path, None if method == "GET" else body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content, {k.lower(): v for k, v in answer.getheaders()}

    def json(self, name: str, asked: Any) -> dict[str, Any]:
        status, content, _ = self(name, asked)
        assert status == 200, content
        return json.loads(content)


@pytest.fixture(scope="module")
def served(exploring) -> Iterator[Served]:
    folders = [RunDirectory(exploring.folder)] * 2
    with ThreadPoolExecutor(1) as computing:
        listening = socket.create_server(("127.0.0.1", 0))
        address, serve = prepare(folders, computing, listening, is_remote=False)
        thread = threading.Thread(target=serve)
        thread.start()
        parts = urlsplit(address)
        yield Served(parts.netloc, parts.path)
        serve.func.__self__.should_exit = True
        thread.join()


def test_the_page_knows_the_runs_and_nothing_is_written(served, exploring):
    files = {path: path.stat().st_mtime_ns for path in exploring.folder.rglob("*")}
    status, content, headers = served("", method="GET")
    text = html.unescape(content.decode())
    assert status == 200 and "no-store" in headers["cache-control"]
    assert "connect-src 'self'" in text and "default-src 'none'" in text
    (info,) = re.findall(r'<script[^>]*id="info"[^>]*>(.*?)</script>', text, re.DOTALL)
    run, other = json.loads(info)["runs"]
    assert run["epochs"] == [1, 2] and run["starts"] == {"text": "The old dog sleeps."}
    assert run == other and json.loads(info)["differs"] == []
    answer = served.json("predict", {**ASKED, "changes": {CROSS: {"hidden": [1]}}})
    layer = answer["layers"][-1]
    assert layer["columns"] == [*range(6)] and layer["column_words"][1] == "old"
    assert answer["score"]["kind"] == "log probability" and answer["forecast"] is None
    assert 'class="sentences"' in answer["maps"] and "<table" in answer["table"]
    assert "entropy" in served.json("heads", ASKED)["html"]
    assert {path: path.stat().st_mtime_ns for path in exploring.folder.rglob("*")} == files


def test_a_rank_tells_its_progress(served):
    status, content, headers = served("rank", ASKED)
    lines = [json.loads(line) for line in content.splitlines()]
    assert status == 200 and headers["content-type"] == "application/x-ndjson"
    assert lines[:-1] == [{"done": n, "total": 6} for n in range(6)]
    assert "100 test items" in lines[-1]["html"]


def test_a_layer_is_saved(served):
    asked = {**ASKED, "layer": CROSS}
    for form, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("csv", b"head,row,row_word")):
        status, content, headers = served("save", {**asked, "format": form})
        assert status == 200 and content.startswith(start)
        assert headers["content-disposition"] == f'attachment; filename="attention.{form}"'
    rows = content.decode().splitlines()[1:]
    assert sum(float(row.rpartition(",")[2]) for row in rows[:6]) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"epoch": "2"}, "epoch: expected a number, got '2'."),
        ({"epoch": 3}, "epoch: expected one of [1, 2], got 3."),
        ({"slot": 2}, "slot: expected 0 to 1, got 2."),
        ({"entries": {"sentence": "a"}}, "entries: expected text."),
        ({"entries": {"text": 3}}, "entries: expected a text, got 3."),
        ({"changes": {CROSS: {"head": [0]}}}, "changes: "),
        ({"entries": {"text": "\ud83d"}}, "entries: 'utf-8' codec can't encode"),
        ({"changes": [1]}, "changes: "),
        ({"changes": {CROSS: {"heads": ["x"]}}}, "changes: "),
        (
            {"changes": {"a": {"heads": [0]}}},
            "layer: expected one of encoder_0, ",
        ),
    ],
)
def test_wrong_requests_get_a_sentence(served, changed, said):
    status, content, _ = served("predict", {**ASKED, **changed})
    assert status == 422 and json.loads(content)["error"].startswith(said)


def test_foreign_requests_are_refused(served):
    foreign = [
        served("/predict", ASKED),
        served(f"/{'x' * 22}/predict", ASKED),
        served("predict", ASKED, Host="attacker.example"),
        served("predict", ASKED, Origin="http://attacker.example"),
        served("", method="GET", Host="attacker.example"),
    ]
    assert [status for status, *_ in foreign] == [403] * 5
    assert all(b"Open the address that attnlab explore printed" in said for _, said, _ in foreign)
    assert served("predict", ASKED, Origin=f"http://{served.host}")[0] == 200
    assert served("predict", b"[1]")[0] == served("predict", b"\xff")[0] == 400
    assert served("predict", b"x" * 8_000_001)[0] == 413
    assert served("../../etc/passwd", method="GET")[0] in (403, 404)


@pytest.mark.slow
def test_the_command_serves_until_it_is_interrupted(exploring):
    attnlab = exploring.attnlab
    with attnlab.start("explore", "latest", "--no-browser") as process:
        try:
            printed = process.stdout.readline()
            parts = urlsplit(re.findall(r"http://\S+", printed)[0])
            opened = Served(parts.netloc, parts.path)
            assert opened("", method="GET")[0] == 200 and parts.hostname == "127.0.0.1"
            outcome = attnlab("explore", "latest", "--no-browser", "--port", parts.port)
            said = f"--port={parts.port}: can't be used: Address already in use"
            assert outcome.code == 2 and said in outcome.err
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0, process.stderr.read()
        finally:
            process.kill()


def test_wrong_commands_are_refused(exploring, trained, tmp_path):
    bare = shutil.copytree(exploring.folder, tmp_path / "bare")
    shutil.rmtree(bare / "weights")
    run = str(exploring.folder)
    for words, said in (
        ((), "RUN: expected one or two runs, got 0."),
        ((run, run, run), "RUN: expected one or two runs, got 3."),
        ((run, str(trained.folder)), "RUN: expected two runs of one kind, got "),
        ((str(bare),), "has no saved weights"),
        ((run, "--host", "0.0.0.0"), "--host=0.0.0.0: other machines could use the page"),
        ((run, "--host", "203.0.113.1", "--allow-remote"), "--port=8800: can't be used"),
    ):
        outcome = CommandsHere(exploring.attnlab.folder)("explore", *words, "--no-browser")
        assert outcome.code == 2 and said in outcome.err
