"""Dividing a corpus into train, validation and test: no text stands in two of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attnlab.errors import RequestError
from attnlab.tasks.answering.corpora.corpus import Asked, Corpus
from attnlab.tasks.text_corpus import PARTS, leave_out_repeated, rank
from attnlab.text.same import text_key

_REPEATED = (
    "question of {} is about a text that stands",
    "questions of {} are about texts that stand",
)


def divided(corpus: Corpus, seed: int) -> dict[str, list[Asked]]:
    """The questions of train, validation and test of an opened corpus, in its order.

    What has no part of its own is held out from train by the run's seed: the shares of its texts
    that the settings `test` and `validation` ask for, at least one text, with all questions about
    them. Texts with the same letters and digits, whatever their case, accents, punctuation and
    spaces, count as one. Of a text that stands in two parts of the corpus's own, the part that is
    the later of `PARTS` keeps the questions, and `Corpus.notes` says how many the other has lost.

    Raises:
        RequestError: a question can't be read, or there are too few texts.
    """
    parts = {part: list(corpus.items(part)) for part in corpus.own_parts}
    leave_out_repeated(corpus, parts, lambda asked: text_key(asked.text), _REPEATED)
    missing = [part for part in ("test", "validation") if part not in parts]
    if missing:
        parts |= _held_out(corpus, parts["train"], missing, seed)
    if empty := next((part for part in PARTS if not parts[part]), None):
        raise RequestError(
            f"data={corpus.name}, part {empty}: expected questions about texts that stand in no "
            "later part, got none."
        )
    return {part: parts[part] for part in PARTS}


def _held_out(
    corpus: Corpus, train: Sequence[Asked], missing: Sequence[str], seed: int
) -> dict[str, list[Asked]]:
    """The missing parts, and what is left of train."""
    shares = {part: getattr(corpus, part) for part in missing}
    if sum(shares.values()) >= 1:
        keys, values = (
            " + ".join(each)
            for each in ([f"data.{part}" for part in shares], map("{:g}".format, shares.values()))
        )
        raise RequestError(
            f"{keys}: expected a sum below 1, to leave texts to train on, got {values}."
        )
    texts = sorted(_keys(train), key=lambda key: rank(key, seed))
    if len(texts) <= len(missing):
        among = " and ".join(("train", *reversed(missing)))
        raise RequestError(
            f"data={corpus.name}: expected at least {len(missing) + 1} different texts, for "
            f"{among}, got {len(texts)}."
        )
    taken: dict[str, str] = {}
    first = 0
    for others, (part, share) in enumerate(shares.items()):
        most = len(texts) - first - (len(missing) - others)
        count = max(min(round(share * len(texts)), most), 1)
        taken |= dict.fromkeys(texts[first : first + count], part)
        first += count
    found: dict[str, list[Asked]] = {part: [] for part in ("train", *missing)}
    for each in train:
        found[taken.get(text_key(each.text), "train")].append(each)
    return found


def _keys(questions: Iterable[Asked]) -> set[str]:
    return {text_key(text) for text in {each.text for each in questions}}
