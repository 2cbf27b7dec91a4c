"""Downloads into a cache: checked by digest, resumed where they stopped."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from attnlab.errors import RequestError
from attnlab.tasks.base import Progress

# Python's own names are turned away by some sites, manythings.org among them.
USER_AGENT = "Mozilla/5.0 (compatible; attnlab)"
_CHUNK = 1 << 13  # what a cut can lose
_TIMEOUT = 30  # seconds without a byte
_ATTEMPTS = 5


def fetch(
    url: str,
    folder: Path,
    name: str,
    *,
    known: str | None = None,
    check: Callable[[Path], None] | None = None,
    progress: Progress | None = None,
) -> Path:
    """The file at a URL, from the cache where it lies there whole.

    The digest must be the known one. Where none is known, that of the first download is kept beside
    the file as `NAME.sha256` and every later read and download is held against it.

    Args:
        url: http or https.
        folder: the cache; made where it is missing.
        name: the file's name in the cache.
        known: SHA-256 that the file must have, in hex.
        check: judges a finished download before it is kept, raising `RequestError`.
        progress: told the bytes that are here, of how many, and the file's name.

    Returns:
        Path of the file.

    Raises:
        RequestError: the file isn't there, can't be reached or kept, or has another digest.
    """
    if not re.match(r"https?://[^/\s]", url):
        raise RequestError(f"data.url: expected an address http://... or https://..., got {url!r}.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(folder / f".{name}.lock"):
            return _fetch(url, folder, name, known, check, progress)
    except OSError as error:
        reason = error.strerror or str(error)
        raise RequestError(f"{folder}: expected room for {name}, but: {reason}.") from error


def cache_folder(cache: Path, name: str, url: str, usual: str) -> Path:
    """The folder of a corpus's downloads; another address than the usual one has its own."""
    folder = cache.expanduser() / name
    return folder if url == usual else folder / sha256(url.encode()).hexdigest()[:12]


def _fetch(
    url: str,
    folder: Path,
    name: str,
    known: str | None,
    check: Callable[[Path], None] | None,
    progress: Progress | None,
) -> Path:
    import pooch
    import requests

    pooch.get_logger().setLevel("WARNING")
    path, record = folder / name, folder / f"{name}.sha256"
    expected = known or _recorded(record)
    downloader = ResumingDownloader(folder / f"{name}.part", check, progress)
    try:
        pooch.retrieve(url, expected and f"sha256:{expected}", name, folder, downloader=downloader)
    except requests.RequestException as error:
        raise RequestError(_explained(error, url, downloader)) from error
    except RequestError:
        raise
    except ValueError as error:  # pooch's word for another digest
        hint = "" if known else f" (delete {record} to accept the new file)"
        raise RequestError(
            f"{url}: expected a file with SHA-256 {expected}, got {downloader.digest}{hint}."
        ) from error
    if not expected:
        _record(record, pooch.file_hash(str(path)), name)
    return path


class ResumingDownloader:
    """A downloader for pooch that goes on where an earlier one was cut off.

    What has arrived lies in a `.part` file, and beside it the server's version of the file (its
    ETag or date); the server is asked for the rest as long as the version is still the same.

    Attributes:
        digest: SHA-256 of the finished download.
    """

    def __init__(
        self,
        part: Path,
        check: Callable[[Path], None] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.part, self.version = part, part.with_name(f"{part.name}.json")
        self.check = check
        self.progress = progress or (lambda done, total, what: None)
        self.digest = ""

    def __call__(self, url: str, output_file: str, pooch: Any, check_only: bool = False) -> None:
        """Download `url` to `output_file`; pooch's protocol."""
        import requests
        from pooch import file_hash
        from requests.exceptions import ChunkedEncodingError

        for attempt in range(_ATTEMPTS):
            before = self.arrived()
            try:
                self._go_on(url)
                break
            except (requests.ConnectionError, requests.Timeout, ChunkedEncodingError):
                # Another attempt is worth it only while bytes come in.
                if attempt + 1 == _ATTEMPTS or self.arrived() <= before:
                    raise
        self.version.unlink(missing_ok=True)
        try:
            if self.check:
                self.check(self.part)
        except RequestError:
            self.part.unlink(missing_ok=True)
            raise
        self.digest = file_hash(str(self.part))
        os.replace(self.part, output_file)

    def arrived(self) -> int:
        """Bytes that are here already."""
        return self.part.stat().st_size if self.part.exists() else 0

    def _go_on(self, url: str) -> None:
        import requests

        # Unpacked on the way, bytes could not be counted for the next attempt.
        headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
        version = self._version(url)
        if version:
            headers |= {"Range": f"bytes={self.arrived()}-", "If-Range": version}
        with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
            if response.status_code == 416 and version:  # nothing is left to send, or all is new
                if response.headers.get("Content-Range") == f"bytes */{self.arrived()}":
                    return
                self.version.unlink()
                return self._go_on(url)
            response.raise_for_status()
            start = self._start(response)
            total = _length(response)
            with open(self.part, "r+b" if start else "wb") as stream:
                stream.seek(start)
                stream.truncate()
                self._remember(url, response)
                self._receive(response, stream, start, total and start + total)

    def _receive(self, response: Any, stream: BinaryIO, done: int, total: int | None) -> None:
        name = self.part.name.removesuffix(".part")
        self.progress(done, total, name)
        for chunk in response.iter_content(_CHUNK):
            stream.write(chunk)
            done += len(chunk)
            self.progress(done, total, name)

    def _start(self, response: Any) -> int:
        """Where the bytes of a response belong: behind what is here, or at the beginning."""
        content_range = response.headers.get("Content-Range", "")
        resumed = response.status_code == 206 and content_range.startswith(
            f"bytes {self.arrived()}-"
        )
        return self.arrived() if resumed else 0

    def _version(self, url: str) -> str | None:
        """The version of the file whose beginning is here; None where nothing can be resumed."""
        try:
            kept = json.loads(self.version.read_bytes())
            return kept["version"] if kept["url"] == url and self.arrived() else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _remember(self, url: str, response: Any) -> None:
        tag = response.headers.get("ETag", "W/")
        version = response.headers.get("Last-Modified") if tag.startswith("W/") else tag
        if version and "Content-Encoding" not in response.headers:
            self.version.write_text(json.dumps({"url": url, "version": version}), "utf-8")
        else:
            self.version.unlink(missing_ok=True)


def _length(response: Any) -> int | None:
    """Bytes that a response announces; None where it doesn't, or where they come packed."""
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isdigit() and "Content-Encoding" not in response.headers else None


def _explained(error: Exception, url: str, downloader: ResumingDownloader) -> str:
    """Why a download failed, in one sentence."""
    response = getattr(error, "response", None)
    if response is not None:
        return (
            f"{url}: expected the file, but the server answered {response.status_code} "
            f"{response.reason}."
        )
    kept = downloader.arrived()
    if kept:
        return (
            f"{url}: the download was cut off after {kept:,} bytes, which are kept: "
            "the same command goes on from there."
        )
    return (
        f"{url}: expected to reach the server, but it did not answer ({type(error).__name__}); "
        "without a network, give the files by data.path."
    )


def _recorded(record: Path) -> str | None:
    """The digest kept at the first download; None where there was none."""
    try:
        found = re.match(r"[0-9a-f]{64}\b", record.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        found = None
    if not found:
        raise RequestError(f"{record}: expected a SHA-256 in hex, got a damaged file: delete it.")
    return found.group()


def _record(record: Path, digest: str, name: str) -> None:
    temporary = record.with_name(f".{record.name}.new")
    temporary.write_text(f"{digest}  {name}\n", "utf-8")  # as sha256sum -c reads it
    os.replace(temporary, record)


@contextlib.contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    """Hold a lock file while the body runs; the system frees it when a process dies."""
    try:
        import fcntl
    except ImportError:  # no such locks on Windows
        yield
        return
    with open(lock, "w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
