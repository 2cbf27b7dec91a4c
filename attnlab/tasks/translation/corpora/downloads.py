"""Downloads into a cache: checked by digest, resumed where they stopped."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from attnlab.errors import RequestError
from attnlab.records.files import write_text
from attnlab.tasks.base import Progress

# Python's own names are turned away by some sites, manythings.org among them. Unpacked on the way,
# bytes could not be counted for the next attempt.
_HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; attnlab)",
    "Accept-Encoding": "identity",
}
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
    import filelock

    if not re.match(r"https?://[^/\s]", url):
        raise RequestError(f"data.url: expected an address http://... or https://..., got {url!r}.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder / f".{name}.lock"):
            return _fetch(url, folder, name, known, _Downloader(folder / name, check, progress))
    except OSError as error:
        reason = error.strerror or str(error)
        raise RequestError(f"{folder}: expected room for {name}, but: {reason}.") from error


def cache_folder(cache: Path, name: str, url: str, usual: str) -> Path:
    """The folder of a corpus's downloads; another address than the usual one has its own."""
    folder = cache.expanduser() / name
    return folder if url == usual else folder / sha256(url.encode()).hexdigest()[:12]


def _fetch(url: str, folder: Path, name: str, known: str | None, downloader: _Downloader) -> Path:
    import pooch
    import requests

    pooch.get_logger().setLevel("WARNING")
    record = folder / f"{name}.sha256"
    expected = known or _recorded(record)
    try:
        pooch.retrieve(url, expected and f"sha256:{expected}", name, folder, downloader=downloader)
    except requests.RequestException as error:
        raise RequestError(_explained(error, url, downloader.arrived())) from error
    except RequestError:
        raise
    except ValueError as error:  # pooch's word for another digest
        hint = "" if known else f" (delete {record} to accept the new file)"
        raise RequestError(
            f"{url}: expected a file with SHA-256 {expected}, got {downloader.digest}{hint}."
        ) from error
    if not expected:
        digest = pooch.file_hash(str(folder / name))
        write_text(record, f"{digest}  {name}\n")  # as sha256sum -c reads it
    return folder / name


class _Downloader:
    """A downloader for pooch that goes on where an earlier one was cut off.

    What has arrived lies in a `.part` file, and beside it the server's version of the file (its
    ETag or date): the server sends the rest only as long as the version is still the same.

    Attributes:
        digest: SHA-256 of the finished download.
    """

    def __init__(
        self, path: Path, check: Callable[[Path], None] | None, progress: Progress | None
    ) -> None:
        self.name, self.digest = path.name, ""
        self.part, self.version = (
            path.with_name(f"{path.name}.part{end}") for end in ("", ".json")
        )
        self.check, self.progress = check, progress or (lambda *_: None)

    def __call__(self, url: str, output_file: str, pooch: Any, check_only: bool = False) -> None:
        """Download `url` to `output_file`; pooch's protocol."""
        import requests
        from pooch import file_hash

        for attempt in range(_ATTEMPTS):
            before = self.arrived()
            try:
                self._receive(url)
                break
            except (
                requests.ConnectionError,
                requests.Timeout,
                requests.exceptions.ChunkedEncodingError,
            ):
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

    def _receive(self, url: str) -> None:
        import requests

        done, version = self.arrived(), self._version(url)
        wanted = {"Range": f"bytes={done}-", "If-Range": version} if version and done else {}
        headers = {**_HEADERS, **wanted}
        with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
            if wanted and response.status_code == 416:  # there are not that many bytes
                self.version.unlink()
                return self._receive(url)
            response.raise_for_status()
            if response.status_code != 206:
                done = 0
            left = response.headers.get("Content-Length", "")
            total = done + int(left) if left.isdigit() else None
            with open(self.part, "ab" if done else "wb") as stream:
                kept = {"url": url, "version": _version_of(response.headers)}
                self.version.write_text(json.dumps(kept), "utf-8")
                self.progress(done, total, self.name)
                for chunk in response.iter_content(_CHUNK):
                    stream.write(chunk)
                    done += len(chunk)
                    self.progress(done, total, self.name)

    def _version(self, url: str) -> str | None:
        """The version of the file whose beginning is here; None where nothing can be resumed."""
        try:
            kept = json.loads(self.version.read_bytes())
            return kept["version"] if kept["url"] == url else None
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _version_of(headers: Any) -> str | None:
    """What tells a server's file from a later one; None where bytes come packed and can't count."""
    tag = headers.get("ETag", "W/")
    version = headers.get("Last-Modified") if tag.startswith("W/") else tag
    return None if "Content-Encoding" in headers else version


def _explained(error: Exception, url: str, kept: int) -> str:
    """Why a download failed, in one sentence."""
    response = getattr(error, "response", None)
    if response is not None:
        return (
            f"{url}: expected the file, but the server answered {response.status_code} "
            f"{response.reason}."
        )
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
        found = re.match(r"[0-9a-f]{64}\b", record.read_text("utf-8", "replace"))
    except FileNotFoundError:
        return None
    if not found:
        raise RequestError(f"{record}: expected a SHA-256 in hex, got a damaged file: delete it.")
    return found.group()
