"""Downloads from a local server: cached, checked, and refused in one sentence."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from download_server import serving

from attnlab.errors import RequestError
from attnlab.tasks.downloads import cache_folder, fetch

CONTENT = bytes(range(251)) * 4001  # about 1 MB
CHUNK = 8192  # what a cut can lose at most
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server():
    with serving({"/pairs.zip": CONTENT}) as server:
        yield server


def file_of(server) -> str:
    return f"{server.url}/pairs.zip"


@pytest.fixture
def get(server, tmp_path):
    def get(url=None, **options) -> Path:
        return fetch(url or file_of(server), tmp_path / "cache", "pairs.zip", **options)

    return get


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.endswith(".lock")}


def test_a_download_is_cached(server, get, tmp_path):
    path = get()
    assert path.read_bytes() == CONTENT
    assert get() == path
    assert len(server.requests) == 1
    assert left(tmp_path / "cache") == {"pairs.zip", "pairs.zip.sha256"}


def test_the_digest_is_recorded_as_sha256sum_reads_it(get):
    record = get().with_name("pairs.zip.sha256")
    assert record.read_text() == f"{DIGEST}  pairs.zip\n"


def test_progress_reaches_the_end(get):
    seen = []
    get(progress=lambda *what: seen.append(what))
    assert seen[0][1:] == (len(CONTENT), "pairs.zip") and seen[0][0] < len(CONTENT)
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    assert seen[-1] == (len(CONTENT), len(CONTENT), "pairs.zip")


def test_a_connection_that_breaks_is_tried_again(server, get, tmp_path):
    server.cuts = [40 * CHUNK, 30 * CHUNK]
    assert get().read_bytes() == CONTENT
    assert len(server.requests) == 3
    assert left(tmp_path / "cache") == {"pairs.zip", "pairs.zip.sha256"}


def test_a_connection_that_always_breaks_is_reported_and_leaves_no_file(server, get, tmp_path):
    server.cuts = [16 * CHUNK] * 9
    with pytest.raises(RequestError, match="download failed: no complete answer"):
        get()
    assert len(server.requests) == 5
    assert left(tmp_path / "cache") == set()


def test_a_killed_download_is_not_used(server, tmp_path):
    code = (
        "import sys, time; from pathlib import Path; "
        "from attnlab.tasks.downloads import fetch;"
        "slow = lambda done, total, what: (print(done, flush=True), time.sleep(60));"
        "fetch(sys.argv[1], Path(sys.argv[2]), 'pairs.zip', progress=slow)"
    )
    words = [sys.executable, "-c", code, file_of(server), str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as it:
        it.stdout.readline()
        it.kill()
    assert fetch(file_of(server), tmp_path, "pairs.zip").read_bytes() == CONTENT
    assert left(tmp_path) == {"pairs.zip", "pairs.zip.sha256"}


def test_another_digest_than_the_known_one_is_refused(get, tmp_path):
    with pytest.raises(RequestError, match=f"SHA-256 {'0' * 64}, got {DIGEST}"):
        get(known="0" * 64)
    assert left(tmp_path / "cache") == set()
    assert get(known=DIGEST).read_bytes() == CONTENT


def test_a_new_download_is_checked_by_the_digest_of_the_first(server, get):
    path = get()
    path.unlink()
    server.files["/pairs.zip"] = b"something new"
    with pytest.raises(RequestError, match=r"delete .*pairs\.zip\.sha256 to accept"):
        get()
    path.with_name("pairs.zip.sha256").unlink()
    assert get().read_bytes() == b"something new"


def test_a_damaged_file_in_the_cache_is_fetched_again(server, get):
    path = get()
    path.write_bytes(CONTENT[:-1])
    assert get().read_bytes() == CONTENT
    assert len(server.requests) == 2


def test_a_damaged_record_is_named(get):
    record = get().with_name("pairs.zip.sha256")
    record.write_text("garbage")
    with pytest.raises(RequestError, match=r"pairs\.zip\.sha256: expected a SHA-256"):
        get()


def test_a_refused_download_is_not_cached(get, tmp_path):
    def refuse(path):
        raise RequestError("a login page")

    with pytest.raises(RequestError, match="a login page"):
        get(check=refuse)
    assert left(tmp_path / "cache") == set()


def test_a_missing_file_is_named_with_the_servers_answer(server, get):
    with pytest.raises(RequestError, match=r"/gone\.zip: download failed: .* 404 Not Found"):
        get(file_of(server).replace("pairs", "gone"))


def test_offline(get):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/pairs.zip"
        with pytest.raises(
            RequestError, match="no complete answer .* without a network, set data.path"
        ):
            get(url)


@pytest.mark.parametrize("url", ["", "pairs.zip", "file:///etc/passwd", "ftp://x/y", "http://"])
def test_an_invalid_address_is_refused(get, url):
    with pytest.raises(RequestError, match=r"data\.url: expected a URL that"):
        fetch(url, Path("nowhere"), "pairs.zip")
    with pytest.raises(RequestError, match=r"task\.url: expected a URL that"):
        fetch(url, Path("nowhere"), "ETTh1.csv", section="task")
    assert not Path("nowhere").exists()


def test_a_full_disk_is_named_with_its_folder(get, tmp_path, monkeypatch):
    def full(path, *arguments, **options):
        if Path(path).name.startswith("tmp"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return open(path, *arguments, **options)

    monkeypatch.setattr("pooch.downloaders.open", full, raising=False)
    with pytest.raises(RequestError, match=r"cache: can't store pairs\.zip: No space"):
        get()


def test_a_cache_that_is_a_file(get, tmp_path):
    (tmp_path / "cache").write_text("")
    with pytest.raises(RequestError, match="cache: can't store pairs.zip: File exists"):
        get()


def test_two_at_once_download_once(server, tmp_path):
    paths = []
    threads = [
        threading.Thread(
            target=lambda: paths.append(fetch(file_of(server), tmp_path / "cache", "pairs.zip"))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.read_bytes() for path in paths] == [CONTENT] * 4
    assert len(server.requests) == 1


def test_another_address_has_its_own_place_in_the_cache(tmp_path):
    usual = cache_folder(tmp_path, "corpus", "http://a", "http://a")
    other = cache_folder(tmp_path, "corpus", "http://b", "http://a")
    assert usual == tmp_path / "corpus"
    assert other.parent == usual
    assert other != cache_folder(tmp_path, "corpus", "http://c", "http://a")
