"""A corpus of texts without labels: documents of sentences, as a stream."""

from __future__ import annotations

from collections.abc import Sequence

from attnlab.tasks.split import check_shares, hold_out, too_few
from attnlab.tasks.text_corpus import PARTS, TextCorpus
from attnlab.text.cleaning import text_key


class Corpus(TextCorpus):
    """Documents, each a list of sentences; see `TextCorpus`."""

    noun = "document"
    validation = 0.05
    test = 0.05


def divided(
    corpus: Corpus, seed: int, *, ignore_case: bool = True
) -> dict[str, list[Sequence[str]]]:
    """Return the documents of train, validation and test of an opened corpus, in its order.

    A missing part is held out from train by the seed: the share in the corpus's settings
    `validation` and `test`, at least one document. Repeated documents of train are left out;
    `Corpus.notes` gives their number.

    Args:
        corpus: an opened corpus.
        seed: the run's seed.
        ignore_case: whether documents that differ only by case count as one document, because the
            model reads them in lower case.

    Raises:
        RequestError: there are too few documents, or one can't be read.
    """
    parts = {part: list(corpus.items(part)) for part in corpus.own_parts}
    missing = [part for part in PARTS if part not in parts]  # validation is filled first
    different = dict.fromkeys(map(tuple, parts["train"]))
    if repeated := len(parts["train"]) - len(different):
        corpus.left_out = {"train": repeated}
        corpus.note(
            f"{repeated:,} of {len(parts['train']):,} documents are left out: they repeat another "
            "one word for word."
        )
    parts["train"] = [*different]

    def key(document: Sequence[str]) -> str:
        return text_key(" ".join(document), ignore_case=ignore_case)

    if (count := len({*map(key, different)})) <= len(missing):
        raise too_few(corpus, missing, "documents", f"{count}; empty lines end a document")
    check_shares(corpus, missing, corpus.noun)
    hold_out(corpus, parts, missing, seed, key, order="\n".join, size=lambda group: 1)
    return {part: parts[part] for part in PARTS}
