"""The corpus `wikitext103`: 28,000 good articles of Wikipedia."""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.tasks.texts.text import Piece, pieces_of
from attnlab.tasks.texts.wikitext2 import WikiText2

URL = "https://wikitext.smerity.com/wikitext-103-v1.zip"


class WikiText103(WikiText2):
    """The tokenized articles of WikiText-103; validation and test are those of WikiText-2.

    The training part has 103,227,021 words, 267,735 different ones, if the end of each line counts
    as a word `<eos>`; 540 MB.

    Source: Merity et al. 2016 (arXiv 1609.07843). The URL is the first author's copy; the SHA-256
    is the one that many public repositories record for the archive of the first publication.
    """

    name = "wikitext103"
    usual_url = URL
    known = "242ba0f20b329cfdf1ccc61e9e9e5b59becf189db7f7a81cd2a0e2fc31539590"
    archive = "wikitext-103-v1.zip"
    is_long = is_too_long = True

    def __init__(self, *, path: str | None = None, url: str = URL) -> None:
        super().__init__(path=path, url=url)

    @property
    def text_size(self) -> int:  # noqa: D102
        return sum(map(len, self._parts.values()))

    def pieces(self, part: str) -> Iterator[Piece]:  # noqa: D102
        return pieces_of(self._parts[part], "en", f"data={self.name}")
