"""What a corpus has in it: counts, lengths, repetitions and unknown words of each part."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from attnlab.tasks.base import Progress
from attnlab.tasks.translation.corpora.corpus import Corpus, Pair
from attnlab.tasks.translation.corpora.splitting import DuplicateCounter, pairs_by_part
from attnlab.tasks.translation.text.words import split_words

_REPORT_EVERY = 4096


@dataclass(frozen=True)
class PartStatistics:
    """The numbers of one part; a word is what `split_words` gives."""

    pairs: int  # how many
    source_words: float  # mean number of words of a source
    longest_source: int  # most words of a source
    target_words: float  # mean number of words of a target
    longest_target: int  # most words of a target
    repeated_pairs: int  # pairs that stand in this part before
    sources: int  # different sources
    several_targets: int  # sources with more than one translation in this part
    sources_in_train: float  # share of the pairs whose source, letter by letter, stands in train
    unknown_source: float  # share of the source's words that are not in train
    unknown_target: float  # share of the target's words that are not in train


def describe(
    corpus: Corpus, *, seed: int, progress: Progress | None = None
) -> dict[str, PartStatistics]:
    """The statistics of each part of an opened corpus, train first.

    It is read once through; memory grows with its vocabulary and hardly with its length. The seed
    divides it where it has no parts of its own.

    Raises:
        RequestError: the corpus can't be read, or is too small to be divided.
    """
    parts: dict[str, _Part] = {}
    for done, (name, pair) in enumerate(pairs_by_part(corpus, seed)[1]):
        parts.setdefault(name, _Part()).add(pair)
        if progress and done % _REPORT_EVERY == 0:
            progress(done, None, "counting")
    train = parts["train"]
    names = [name for name in (*corpus.own_parts, "train", "validation", "test") if name in parts]
    return {name: parts[name].result(train) for name in dict.fromkeys(names)}


class _Part:
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

    def result(self, train: _Part) -> PartStatistics:
        twice, sources = self.duplicates.result(), self.duplicates.sources()
        tokens = [sum(words.values()) for words in self.words]
        unknown = [
            sum(count for word, count in words.items() if word not in known) / max(all_, 1)
            for words, known, all_ in zip(self.words, train.words, tokens, strict=True)
        ]
        return PartStatistics(
            pairs=len(sources),
            source_words=tokens[0] / len(sources),
            longest_source=self.longest[0],
            target_words=tokens[1] / len(sources),
            longest_target=self.longest[1],
            repeated_pairs=twice.pairs,
            sources=twice.sources,
            several_targets=twice.several_targets,
            sources_in_train=float(np.isin(sources, train.duplicates.sources()).mean()),
            unknown_source=unknown[0],
            unknown_target=unknown[1],
        )
