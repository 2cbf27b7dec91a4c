"""A corpus of texts without labels: documents of sentences, as a stream."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain

from attnlab.errors import RequestError
from attnlab.tasks.text_corpus import PARTS, TextCorpus, rank
from attnlab.text.same import text_key


class Corpus(TextCorpus):
    """Documents, each a list of sentences; see `TextCorpus`."""

    noun = "document"
    validation = 0.05
    test = 0.05


def divided(
    corpus: Corpus, seed: int, *, ignore_case: bool = True
) -> dict[str, list[Sequence[str]]]:
    """Return the documents of train, validation and test of an opened corpus, in its order.

    A part that the corpus doesn't have is held out from train by the seed: the share in the
    corpus's settings `validation` and `test`, at least one document. A repeated document of train
    counts once; `Corpus.notes` gives their number.

    Args:
        corpus: opened.
        seed: of the run.
        ignore_case: whether documents that differ only by case are in one part, and count as one
            for its share, because the model reads them in lower case.

    Raises:
        RequestError: there are too few documents, or one can't be read.
    """
    parts = {part: list(corpus.items(part)) for part in corpus.own_parts}
    missing = [part for part in PARTS if part not in parts]
    different = dict.fromkeys(map(tuple, parts["train"]))
    if repeated := len(parts["train"]) - len(different):
        corpus.left_out = {"train": repeated}
        corpus.note(
            f"{repeated:,} of {len(parts['train']):,} documents are left out: they repeat another "
            "one word for word."
        )
    alike: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
    for own in different:
        alike[text_key(" ".join(own), ignore_case=ignore_case)].append(own)
    if len(alike) <= len(missing):
        raise RequestError(
            f"data={corpus.name}: expected at least {len(missing) + 1} different documents, for "
            f"{', '.join(PARTS)}, got {len(alike)}; empty lines end a document."
        )
    parts["train"] = [*different]
    if missing:
        taken = _held_out(corpus, [*alike.values()], missing, seed)
        for part in ("train", *missing):
            parts[part] = [own for own in different if taken.get(own, "train") == part]
    return {part: parts[part] for part in PARTS}


def _held_out(
    corpus: Corpus, alike: Sequence[list[tuple[str, ...]]], missing: Sequence[str], seed: int
) -> dict[tuple[str, ...], str]:
    """The part of each document that isn't trained on, with those that are alike."""
    # By their first documents.
    rest = sorted(alike, key=lambda group: rank("\n".join(group[0]), seed))
    taken: dict[tuple[str, ...], str] = {}
    for part in missing:
        count = max(round(getattr(corpus, part) * len(alike)), 1)
        some, rest = rest[:count], rest[count:]
        taken |= dict.fromkeys(chain.from_iterable(some), part)
    if not rest:
        raise RequestError(
            "data.validation + data.test: expected shares that leave documents to train on, got "
            f"{corpus.validation:g} + {corpus.test:g} of {len(alike)}."
        )
    return taken
