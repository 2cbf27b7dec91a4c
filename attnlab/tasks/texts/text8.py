"""The corpus `text8`: 100 million characters of Wikipedia, letters and spaces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attnlab.tasks.texts.corpus import by_position
from attnlab.tasks.texts.published import PublishedText
from attnlab.text.raw_text import RawText

URL = "http://mattmahoney.net/dc/text8.zip"
_DOCUMENT = 6000  # characters


class Text8(PublishedText):
    """The first 100,000,000 characters of English Wikipedia in 2006, cleaned.

    It has only the letters a to z and single spaces; digits are spelled out. The first 90 % are
    train, the next 5 % validation and the last 5 % the test, the usual division: 90, 5 and 5
    million characters. There are no sentences; a document is a piece of about 6,000 characters.

    Source: Mahoney 2006, mattmahoney.net/dc/textdata. The SHA-256 is the one that many public
    repositories record for the archive; its file has the published MD5
    3bea1919949baf155f99411df5fada7e.
    """

    name = "text8"
    has_sentences = False
    origin = "Mahoney 2006, mattmahoney.net/dc/textdata, from Wikipedia"
    license = "CC BY-SA 3.0, as Wikipedia; name Wikipedia and Mahoney"

    usual_url = URL
    known = "a6640522afe85d1963ad56c05b0ede0a0c000dddc9671758a6cc09b7a38e5232"
    archive = "text8.zip"
    members = ("text8",)

    def __init__(self, *, path: str | None = None, url: str = URL) -> None:
        super().__init__(path, url)

    def _divided(self, *files: RawText) -> dict[str, RawText]:
        return by_position(files[0], 0.05, 0.05)

    def _read(self, part: str) -> Iterator[Sequence[str]]:
        text, start = bytes(self._parts[part]), 0
        while start < len(text):
            end = text.find(b" ", start + _DOCUMENT)
            end = len(text) if end < 0 else end
            yield [text[start:end].decode("utf-8", "replace").strip()]
            start = end
