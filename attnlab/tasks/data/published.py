"""A published file: downloaded once into a cache by pooch, checked by its digest."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from attnlab.errors import RequestError
from attnlab.tasks.kinds import Progress

# Some sites, such as manythings.org, refuse Python's default user agent.
_HEADERS = {"User-Agent": "Mozilla/5.0 (compatible; attnlab)"}
_TIMEOUT = 30  # seconds without a byte


@dataclass(frozen=True)
class Published:
    """A published file."""

    url: str
    sha256: str | None = None  # of its content, in hex; None if it changes from time to time
    name: str = ""  # in the cache; "": the last part of the URL

    def path(self, folder: Path, url: str | None = None) -> Path:
        """Return the place of the file in a folder of downloads; another URL has its own folder."""
        if url and url != self.url:
            folder = folder / sha256(url.encode()).hexdigest()[:12]
        return folder / (self.name or PurePosixPath(urlsplit(self.url).path).name)

    def fetch(
        self,
        folder: Path,
        url: str | None = None,
        progress: Progress | None = None,
        section: str = "data",
    ) -> Path:
        """Return the file in the folder; download it if it is missing.

        Args:
            folder: of downloads.
            url: another place of the file, whose content is not checked; None: `self.url`.
            progress: gets the bytes downloaded, their total, and the file's name.
            section: of the settings `url` and `path` that messages name.
        """
        import filelock
        import pooch

        url = url or self.url
        if not url.startswith(("http://", "https://")):
            raise RequestError(f"{section}.url: expected http:// or https://, got {url!r}.")
        path = self.path(folder, url)
        expected = self.sha256 if url == self.url else None
        pooch.get_logger().setLevel("WARNING")
        store = pooch.create(
            path.parent,
            base_url="",
            registry={path.name: expected and f"sha256:{expected}"},
            urls={path.name: url},
            retry_if_failed=3,
        )
        downloader = pooch.HTTPDownloader(
            progressbar=_Bytes(path.name, progress) if progress else False,
            headers=_HEADERS,
            timeout=_TIMEOUT,
        )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with filelock.FileLock(path.parent / ".lock"):
                for unfinished in path.parent.glob("tmp*"):  # of a download that was killed
                    unfinished.unlink()
                return Path(store.fetch(path.name, downloader=downloader))
        except OSError as error:  # of the disk, or of `requests`
            if error.errno is not None:
                reason = error.strerror or str(error)
                raise RequestError(f"{path}: can't be stored: {reason}.") from error
            answer = getattr(error, "response", None)
            reason = f"no answer from the server ({type(error).__name__})"
            if answer is not None:
                reason = f"the server answered {answer.status_code} {answer.reason}"
            raise RequestError(
                f"{url}: download failed: {reason}. Without a network, set {section}.path."
            ) from error
        except ValueError as error:  # pooch raises it for another digest
            raise RequestError(
                f"{url}: expected the file with SHA-256 {expected}: {error}"
            ) from error


class _Bytes:
    """The progress bar that pooch calls."""

    def __init__(self, name: str, progress: Progress) -> None:
        self.name, self.progress, self.total, self.done = name, progress, 0, 0

    def update(self, count: int) -> None:
        self.done = min(self.done + count, self.total or self.done + count)
        self.progress(self.done, self.total or None, self.name)

    def reset(self) -> None:
        # Before an attempt, and before a last update of all bytes.
        self.done = 0

    def close(self) -> None:
        pass
