"""Dividing a corpus into train, validation and test: no text stands in two of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

from attnlab.errors import RequestError
from attnlab.tasks.answering.corpora.corpus import Asked, Corpus
from attnlab.tasks.text_corpus import PARTS, leave_out_repeated, rank, same_text
from attnlab.text.same import text_key


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
    missing = [part for part in ("test", "validation") if part not in parts]
    if missing:
        parts |= _held_out(corpus, parts["train"], missing, seed, key)
    if empty := next((part for part in PARTS if not parts[part]), None):
        raise RequestError(
            f"data={corpus.name}, part {empty}: expected questions about texts that stand in no "
            "later part, got none."
        )
    return {part: parts[part] for part in PARTS}


def _held_out(
    corpus: Corpus, train: Sequence[Asked], missing: Sequence[str], seed: int, key: _Keys
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
    texts = sorted({*map(key, train)}, key=lambda own: rank(own, seed))
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
        found[taken.get(key(each), "train")].append(each)
    return found


class _Keys:
    """The key of each question's text; a text has many questions, one after the other."""

    def __init__(self, ignore_case: bool) -> None:
        self._of_text = lru_cache(maxsize=1)(partial(text_key, ignore_case=ignore_case))

    def __call__(self, asked: Asked) -> str:
        return self._of_text(asked.text)
