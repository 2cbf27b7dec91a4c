"""Dividing a corpus into train, validation and test: no text stands in two of them."""

from __future__ import annotations

from functools import lru_cache, partial

from attnlab.errors import RequestError
from attnlab.tasks.answering.corpora.corpus import Asked, Corpus
from attnlab.tasks.split import (
    check_shares,
    hold_out,
    leave_out_repeated,
    missing_parts,
    same_text,
    too_few,
)
from attnlab.tasks.text_corpus import PARTS
from attnlab.text.cleaning import text_key


def divided(corpus: Corpus, seed: int, *, ignore_case: bool = True) -> dict[str, list[Asked]]:
    """Return the questions of train, validation and test of an opened corpus, in its order.

    A part that the corpus doesn't have is held out from train by the run's seed: the shares of its
    texts in the settings `test` and `validation`, at least one text, with all questions about them.
    If two parts of the corpus's own have questions about one text, the later of `PARTS` keeps
    them; `Corpus.left_out` and `notes` count the questions that the other part loses.

    Args:
        corpus: opened.
        seed: of the run.
        ignore_case: whether texts that differ only by case are one text, because the model reads
            them in lower case.

    Raises:
        RequestError: a question can't be read, or there are too few texts.
    """
    parts = {part: list(corpus.items(part)) for part in corpus.own_parts}
    key = _Keys(ignore_case)
    leave_out_repeated(corpus, parts, key, same_text(ignore_case))
    missing = missing_parts(corpus)
    check_shares(corpus, missing, "text")
    if missing and (count := len({*map(key, parts["train"])})) <= len(missing):
        raise too_few(corpus, missing, "texts", str(count))
    hold_out(corpus, parts, missing, seed, key, size=lambda group: 1)
    if empty := next((part for part in PARTS if not parts[part]), None):
        raise RequestError(
            f"data={corpus.name}, part {empty}: expected questions about texts that stand in no "
            "later part, got none."
        )
    return {part: parts[part] for part in PARTS}


class _Keys:
    """The key of each question's text; a text has many questions, one after the other."""

    def __init__(self, ignore_case: bool) -> None:
        self._of_text = lru_cache(maxsize=1)(partial(text_key, ignore_case=ignore_case))

    def __call__(self, asked: Asked) -> str:
        return self._of_text(asked.text)
