"""Download files into a cache with pooch, and check them by digest."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from attnlab.errors import RequestError
from attnlab.records.files import write_text
from attnlab.tasks.declaration import Progress

# Some sites, such as manythings.org, refuse Python's default user agent.
_HEADERS = {"User-Agent": "Mozilla/5.0 (compatible; attnlab)"}
_CHUNK = 1 << 13
_TIMEOUT = 30  # seconds without a byte
_ATTEMPTS = 5


def read_to_end(archive: tarfile.TarFile) -> None:
    """Read a compressed tar archive to its end, which verifies its checksum."""
    while archive.fileobj and archive.fileobj.read(1 << 20):
        pass


def fetch(
    url: str,
    folder: Path,
    name: str,
    *,
    known: str | None = None,
    check: Callable[[Path], None] | None = None,
    progress: Progress | None = None,
    section: str = "data",
) -> Path:
    """Download the file at a URL, or return the cached one if it is complete.

    The digest must be the known one. If none is known, the first download's digest is stored next
    to the file as `NAME.sha256`, and every later read and download is compared with it.

    `known` is the SHA-256 that the file must have, in hex. `check` gets a finished download before
    it is stored, and raises `RequestError` for a bad one. `progress` gets the bytes downloaded, the
    total and the file's name. `section` has the settings `url` and `path` that messages name.

    Raises:
        RequestError: the file can't be downloaded or stored, or has another digest.
    """
    import filelock

    if not re.match(r"https?://[^/\s]", url):
        raise RequestError(
            f"{section}.url: expected a URL that starts with http:// or https://, got {url!r}."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder / ".lock"):
            for left in folder.glob("tmp*"):  # from a download that was killed
                left.unlink()
            _retrieve(url, folder / name, known, _Downloader(name, check, progress), section)
            return folder / name
    except OSError as error:
        reason = error.strerror or str(error)
        raise RequestError(f"{folder}: can't store {name}: {reason}.") from error


def cache_folder(cache: Path, name: str, url: str, usual: str) -> Path:
    """Return the folder for the downloads of `name`; a URL other than `usual` has its own."""
    folder = cache.expanduser() / name
    return folder if url == usual else folder / sha256(url.encode()).hexdigest()[:12]


def _retrieve(
    url: str, path: Path, known: str | None, downloader: _Downloader, section: str
) -> None:
    import pooch
    import requests

    pooch.get_logger().setLevel("WARNING")
    record = path.with_name(f"{path.name}.sha256")
    digest = known or _recorded(record)
    expected = digest and f"sha256:{digest}"
    try:
        pooch.retrieve(url, expected, path.name, path.parent, downloader=downloader)
    except requests.RequestException as error:
        reason = _reason(error, section)
        raise RequestError(f"{url}: download failed: {reason}.") from error
    except RequestError:
        raise
    except ValueError as error:  # pooch raises it for another digest
        hint = "" if known else f" (delete {record} to accept the new file)"
        raise RequestError(
            f"{url}: expected a file with SHA-256 {digest}, got {downloader.digest}{hint}."
        ) from error
    if not digest:
        write_text(record, f"{pooch.file_hash(str(path))}  {path.name}\n")  # for sha256sum -c


class _Downloader:
    """Download by HTTP, retry after broken connections, then run the check.

    The object is also the progress bar that pooch calls.
    """

    def __init__(
        self, name: str, check: Callable[[Path], None] | None, progress: Progress | None
    ) -> None:
        self.name, self.check, self.progress = name, check, progress
        self.total, self.done = 0, 0
        self.digest = ""  # SHA-256 of the finished download

    def __call__(self, url: str, output_file: str, pooch: Any, check_only: bool = False) -> None:
        """Download `url` to `output_file`; pooch's protocol."""
        import requests
        from pooch import HTTPDownloader, file_hash

        broken = (
            requests.ConnectionError,
            requests.Timeout,
            requests.exceptions.ChunkedEncodingError,
        )
        download = HTTPDownloader(
            progressbar=self, chunk_size=_CHUNK, headers=_HEADERS, timeout=_TIMEOUT
        )
        for attempt in range(_ATTEMPTS):
            try:
                self.done = 0
                download(url, output_file, pooch)
                break
            except broken:
                # Retry only if the last attempt received bytes.
                if attempt + 1 == _ATTEMPTS or not self.done:
                    raise
        if self.check:
            self.check(Path(output_file))
        self.digest = file_hash(output_file)

    def update(self, count: int) -> None:
        """Count and report `count` more bytes."""
        self.done = min(self.done + count, self.total or self.done + count)
        if self.progress:
            self.progress(self.done, self.total or None, self.name)

    def reset(self) -> None:
        """Start counting at 0; pooch calls this before a last update with all bytes."""
        self.done = 0

    def close(self) -> None:
        """Do nothing; pooch calls this at the end."""


def _reason(error: Exception, section: str) -> str:
    """Return why a download failed."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answered {response.status_code} {response.reason}"
    kind = type(error).__name__
    return f"no complete answer from the server ({kind}); without a network, set {section}.path"


def _recorded(record: Path) -> str | None:
    """Return the digest stored at the first download; None if there was no download."""
    try:
        found = re.match(r"[0-9a-f]{64}\b", record.read_text("utf-8", "replace"))
    except FileNotFoundError:
        return None
    if not found:
        raise RequestError(f"{record}: expected a SHA-256 in hex, got a damaged file: delete it.")
    return found.group()
