"""The statistics of `attnlab data`: counts, lengths, repetitions, words not in train."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.tasks.catalog import Catalog, Row, Sheet, corpora, make_corpus
from attnlab.tasks.declaration import Progress
from attnlab.tasks.translation.corpora.corpus import Corpus
from attnlab.tasks.translation.corpora.splitting import DuplicateCounter, pairs_by_part
from attnlab.tasks.translation.pair import Pair
from attnlab.text.words import split_words

_REPORT_EVERY = 4096
_NAMES = {
    "pairs": "pairs",
    "source_words": "{source} words, mean",
    "longest_source": "{source} words, most",
    "target_words": "{target} words, mean",
    "longest_target": "{target} words, most",
    "repeated_pairs": "repeated pairs",
    "sources": "different sources",
    "several_targets": "of these with several targets",
    "sources_in_train": "pairs whose source is in train",
    "unknown_source": "{source} words not in train",
    "unknown_target": "{target} words not in train",
}
_SHARES = ("sources_in_train", "unknown_source", "unknown_target")


def describe(
    corpus: Corpus, *, seed: int, progress: Progress | None = None
) -> dict[str, dict[str, float]]:
    """Return the numbers of each part of an opened corpus; see `_PartCounts.result`.

    The corpus is read once; memory grows with its vocabulary and hardly with its length. The seed
    divides a corpus that has no parts of its own.

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
    """Counts the pairs and words of one part."""

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
        """Return counts and shares of the part; words are those of `split_words`."""
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
            "repeated_pairs": twice.pairs,  # equal to an earlier pair of the part
            "sources": twice.sources,  # different ones
            "several_targets": twice.several_targets,
            # Sources are compared exactly.
            "sources_in_train": float(np.isin(sources, train.duplicates.sources()).mean()),
            "unknown_source": unknown[0],  # shares of words that are not in train
            "unknown_target": unknown[1],
        }


def _counted(corpus: Corpus, cache: Path, seed: int, progress: Progress) -> Row:
    """Return the numbers of a corpus whose files are available, and its prepared copies."""
    row: dict[str, Any] = {}
    if not corpus.fetchable or corpus.location(cache) is not None:
        corpus.open(cache, progress)
        parts = describe(corpus, seed=seed, progress=progress)
        row = {"notes": list(corpus.notes), "dropped": corpus.dropped, "parts": parts}
    return {**row, "prepared": _prepared_copies(cache, corpus.name)}


def _prepared_copies(cache: Path, name: str) -> list[dict[str, Any]]:
    """Return the statistics of a corpus's prepared copies in the cache, except damaged ones."""
    found = []
    for path in sorted(cache.glob("prepared/*/statistics.json")):
        try:
            content = json.loads(path.read_bytes())
            if content["corpus"] == name:
                found.append({"folder": str(path.parent), **content})
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found


def _sheet(row: Row) -> Sheet:
    parts = row.get("parts", {})
    return Sheet(
        f"{row['source']} to {row['target']}",
        header=["", *parts],
        rows=[*_lines(row)] if parts else [],
        above=[f"left out: {count:,} {why}" for why, count in row.get("dropped", {}).items()],
        below=[f"prepared: {_copy_line(copy)}" for copy in row["prepared"]],
    )


def _lines(row: Row) -> Iterator[tuple[str, ...]]:
    for key, label in _NAMES.items():
        cells = (_cell(key, part[key]) for part in row["parts"].values())
        yield label.format(**row), *cells


def _cell(key: str, value: float) -> str:
    if key in _SHARES:
        return f"{100 * value:.2f} %"
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def _copy_line(copy: Row) -> str:
    """Describe a prepared copy in a line: tokenizer, vocabulary and unknown tokens."""
    text, sizes = copy.get("text", {}), copy.get("vocabulary", {})
    words = [text.get("tokenizer", "tokens"), *[f"{size:,} {side}" for side, size in sizes.items()]]
    for part, numbers in copy.get("parts", {}).items():
        rates = [numbers.get(side, {}).get("unknown_rate") for side in ("source", "target")]
        if part != "train" and None not in rates:
            words.append(f"unknown in {part} {100 * rates[0]:.2f} % / {100 * rates[1]:.2f} %")
    return f"{', '.join(words)}: {copy['folder']}"


CATALOG = Catalog(
    group="data",
    names=lambda: corpora(Corpus),
    make=make_corpus,
    about=lambda corpus: {"source": corpus.source_language, "target": corpus.target_language},
    count=_counted,
    sheet=_sheet,
)
