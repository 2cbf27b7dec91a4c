"""Downloads from a local server: cached, checked, and refused in one sentence."""

from __future__ import annotations

import hashlib
import socket
import subprocess
import sys
import threading

import pytest
from download_server import serving

from attnlab.errors import RequestError
from attnlab.tasks.data.published import Published

CONTENT = bytes(range(251)) * 4001  # about 1 MB
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server():
    with serving({"/pairs.zip": CONTENT}) as server:
        yield server


def published(server, sha256=DIGEST, name="pairs.zip") -> Published:
    return Published(f"{server.url}/{name}", sha256)


def names(folder) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name != ".lock"}


def test_a_download_is_cached_and_reports_progress(server, tmp_path):
    seen = []
    path = published(server).fetch(tmp_path, progress=lambda *what: seen.append(what))
    assert path.read_bytes() == CONTENT and names(tmp_path) == {"pairs.zip"}
    assert seen[-1] == (len(CONTENT), len(CONTENT), "pairs.zip")
    assert published(server).fetch(tmp_path) == path == published(server).path(tmp_path)
    assert len(server.requests) == 1


def test_a_broken_connection_is_tried_again(server, tmp_path):
    server.cuts = [9999]
    assert published(server).fetch(tmp_path).read_bytes() == CONTENT
    assert len(server.requests) == 2


def test_a_damaged_file_in_the_cache_is_fetched_again(server, tmp_path):
    path = published(server).fetch(tmp_path)
    path.write_bytes(CONTENT[:-1])
    assert published(server).fetch(tmp_path).read_bytes() == CONTENT


def test_another_digest_is_refused_and_not_stored(server, tmp_path):
    with pytest.raises(RequestError, match=f"expected the file with SHA-256 {'0' * 64}"):
        published(server, "0" * 64).fetch(tmp_path)
    assert names(tmp_path) == set()


def test_another_url_has_a_folder_of_its_own_and_no_known_digest(server, tmp_path):
    file = Published("https://example.org/pairs.zip", "0" * 64)
    path = file.fetch(tmp_path, f"{server.url}/pairs.zip")
    assert path.read_bytes() == CONTENT
    assert path.parent.parent == tmp_path and path != file.path(tmp_path)


def test_a_killed_download_is_not_used(server, tmp_path):
    code = (
        "import sys, time; from pathlib import Path;"
        "from attnlab.tasks.data.published import Published;"
        "slow = lambda done, total, what: (print(done, flush=True), time.sleep(60));"
        "Published(sys.argv[1]).fetch(Path(sys.argv[2]), progress=slow)"
    )
    words = [sys.executable, "-c", code, f"{server.url}/pairs.zip", str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.kill()
    assert published(server).fetch(tmp_path).read_bytes() == CONTENT
    assert names(tmp_path) == {"pairs.zip"}


def test_two_at_once_download_once(server, tmp_path):
    threads = [threading.Thread(target=published(server).fetch, args=[tmp_path]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.requests) == 1


def test_the_servers_answer_is_named(server, tmp_path):
    with pytest.raises(RequestError, match=r"/gone\.zip: download failed: .* 404 Not Found"):
        published(server, name="gone.zip").fetch(tmp_path)


def test_offline(tmp_path):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))  # bound, but nobody listens
        file = Published(f"http://127.0.0.1:{busy.getsockname()[1]}/pairs.zip")
        with pytest.raises(RequestError, match="no answer .* set task.path"):
            file.fetch(tmp_path, section="task")


@pytest.mark.parametrize("url", ["pairs.zip", "file:///etc/passwd", "ftp://x/y"])
def test_only_http_is_fetched(url, tmp_path):
    with pytest.raises(RequestError, match=r"data\.url: expected http"):
        Published("https://example.org/pairs.zip").fetch(tmp_path, url)
