"""What a corpus has in it: counts, lengths, repetitions and unknown words of each part."""

from __future__ import annotations

from collections import Counter

import numpy as np

from attnlab.tasks.declaration import Progress
from attnlab.tasks.translation.corpora.corpus import Corpus
from attnlab.tasks.translation.corpora.splitting import DuplicateCounter, pairs_by_part
from attnlab.tasks.translation.pair import Pair
from attnlab.text.words import split_words

_REPORT_EVERY = 4096


def describe(
    corpus: Corpus, *, seed: int, progress: Progress | None = None
) -> dict[str, dict[str, float]]:
    """The numbers of each part of an opened corpus, train first, by name; see `_PartCounts.result`.

    It is read once through; memory grows with its vocabulary and hardly with its length. The seed
    divides it where it has no parts of its own.

    Raises:
        RequestError: the corpus can't be read, or is too small to be divided.
    """
    parts: dict[str, _PartCounts] = {}
    for done, (name, pair) in enumerate(pairs_by_part(corpus, seed)[1]):
        parts.setdefault(name, _PartCounts()).add(pair)
        if progress and done % _REPORT_EVERY == 0:
            progress(done, None, "counting")
    train = parts["train"]
    names = [name for name in (*corpus.own_parts, "train", "validation", "test") if name in parts]
    return {name: parts[name].result(train) for name in dict.fromkeys(names)}


class _PartCounts:
    """The counts of one part while it is read."""

    def __init__(self) -> None:
        self.duplicates = DuplicateCounter()
        self.words: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        self.longest = [0, 0]

    def add(self, pair: Pair) -> None:
        self.duplicates.add(pair)
        for side, text in enumerate((pair.source, pair.target)):
            words = split_words(text)
            self.words[side].update(words)
            self.longest[side] = max(self.longest[side], len(words))

    def result(self, train: _PartCounts) -> dict[str, float]:
        """Counts and shares of the part; a word is what `split_words` gives."""
        twice, sources = self.duplicates.result(), self.duplicates.sources()
        tokens = [sum(words.values()) for words in self.words]
        unknown = [
            sum(count for word, count in words.items() if word not in known) / max(all_, 1)
            for words, known, all_ in zip(self.words, train.words, tokens, strict=True)
        ]
        return {
            "pairs": len(sources),
            "source_words": tokens[0] / len(sources),  # mean
            "longest_source": self.longest[0],
            "target_words": tokens[1] / len(sources),
            "longest_target": self.longest[1],
            "repeated_pairs": twice.pairs,  # that stand in this part before
            "sources": twice.sources,  # different ones
            "several_targets": twice.several_targets,
            # Sources are compared letter by letter.
            "sources_in_train": float(np.isin(sources, train.duplicates.sources()).mean()),
            "unknown_source": unknown[0],  # shares of words that are not in train
            "unknown_target": unknown[1],
        }
