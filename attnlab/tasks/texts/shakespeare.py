"""The corpus `shakespeare`: tinyshakespeare, a megabyte of his plays."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from attnlab.errors import RequestError
from attnlab.records.files import existing_file
from attnlab.tasks.declaration import Progress
from attnlab.tasks.downloads import cache_folder, fetch
from attnlab.tasks.texts.text import TextFiles
from attnlab.text.raw_text import RawText

URL = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
SPLITS = ("nanogpt", "three")


class Shakespeare(TextFiles):
    """1,115,394 characters of Shakespeare's plays, 65 different ones.

    With `split=nanogpt` the first 90 % are train and the rest is both validation and test, as in
    nanoGPT, where there is no test part. With `split=three` the shares `validation` and `test` are
    cut off from the end.

    Source: Karpathy 2015, github.com/karpathy/char-rnn.

    Args:
        path: input.txt; None: downloaded.
        url: the URL to download from.
        split: `nanogpt` or `three`.
        validation: share of the text for validation.
        test: share of the text for the test.
    """

    name = "shakespeare"
    origin = "Karpathy 2015, github.com/karpathy/char-rnn"
    license = "public domain"
    fetchable = True
    needs: ClassVar[str] = ""
    known: ClassVar[str] = SHA256

    def __init__(
        self,
        *,
        path: str | None = None,
        url: str = URL,
        split: str = "three",
        validation: float = 0.05,
        test: float = 0.05,
    ) -> None:
        super().__init__(path=path, validation=validation, test=test)
        self.url, self.split = url, split

    def location(self, cache: Path) -> Path | None:
        """Return the file; None if it isn't downloaded yet."""
        found = Path(self.path).expanduser() if self.path else self._cached(cache)
        return found if found.is_file() else None

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Read the file, which is downloaded first if there is none; see `Corpus.open`."""
        if self.path:
            file = existing_file(self.path, "data.path")
        else:
            place = self._cached(cache)
            known = self.known if self.url == URL else None
            fetch(self.url, place.parent, place.name, known=known, progress=progress)
            file = place
        try:
            self._files = {file: file.read_bytes()}
        except OSError as error:
            raise RequestError(f"data.path: {file} can't be read: {error.strerror}.") from error

    def raw(self) -> dict[str, RawText]:
        """Return the text of each part; see `TextFiles.raw` and the class."""
        if self.split == "three":
            return super().raw()
        whole = RawText(*self._files.values())
        end = int(len(whole) * 0.9)
        self.note("Validation and test are the same part, as in nanoGPT (data.split=nanogpt).")
        held_out = whole.cut(end, len(whole))
        return {"train": whole.cut(0, end), "validation": held_out, "test": held_out}

    def _content(self) -> dict[str, str]:
        return {**super()._content(), "split": self.split}

    def _cached(self, cache: Path) -> Path:
        return cache_folder(cache, self.name, self.url, URL) / "input.txt"
