"""The corpus `wikitext2`: 720 good articles of Wikipedia."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attnlab.tasks.text_corpus import PARTS
from attnlab.tasks.texts.corpus import LeftOut
from attnlab.tasks.texts.published import PublishedText
from attnlab.tasks.texts.text import read_documents
from attnlab.text.raw_text import RawText
from attnlab.text.reading import decoded

URL = "https://wikitext.smerity.com/wikitext-2-v1.zip"


class WikiText2(PublishedText):
    """The tokenized articles of WikiText-2, with its own three parts.

    Words have spaces between them and rare ones are `<unk>`; numbers and compounds are divided by
    `@,@`, `@.@` and `@-@`. A line is a heading, a paragraph or empty. The parts have 2,088,628,
    217,646 and 245,569 words, 33,278 different ones, if the end of each line counts as a word
    `<eos>`. Published perplexities count it, so the perplexity per word here does, too.

    Source: Merity et al. 2016 (arXiv 1609.07843). The URL is the first author's copy; the SHA-256
    is the one that github.com/ml-explore/mlx-data records for the archive of the first publication.
    """

    name = "wikitext2"
    origin = "Merity et al. 2016 (arXiv 1609.07843), from Wikipedia"
    license = "CC BY-SA 3.0; name Wikipedia and Merity et al. 2016"

    usual_url = URL
    known = "92675f1d63015c1c8b51f1656a52d5bdbc33aafa60cc47a218a66e7ee817488c"
    archive = "wikitext-2-v1.zip"
    members = ("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens")

    def __init__(self, *, path: str | None = None, url: str = URL) -> None:
        super().__init__(path, url)

    def words(self, text: bytes) -> int:
        """Return the number of words of whole lines, their ends included."""
        return super().words(text) + text.count(b"\n")

    def _divided(self, *files: RawText) -> dict[str, RawText]:
        return dict(zip(PARTS, files, strict=True))

    def _read(self, part: str) -> Iterator[Sequence[str]]:
        text = decoded(bytes(self._parts[part]), f"data={self.name}")
        left_out = LeftOut()
        yield from read_documents([text], "en", left_out)
        self.note(*(f"{part}: {said}" for said in left_out.notes))
