"""A small corpus of documents without labels."""

from __future__ import annotations

from attnlab.tasks.texts.corpus import Corpus

SENTENCES = (
    "the old dog sleeps",
    "a young cat waits",
    "the birds sing loudly",
    "my friend reads books",
    "we like green apples",
)


def document(number: int) -> list[str]:
    """Sentences in a fixed order, so that the order can be learned."""
    return [f"{each} on day {number} ." for each in SENTENCES]


class Documents(Corpus):
    """Return this number of such sentences."""

    name = "documents"

    def __init__(self, count: int) -> None:
        self.count = count

    def _read(self, part):
        return map(document, range(self.count))

    def _content(self):
        return self.count
