"""Divide a corpus into train, validation and test, and count repeated pairs.

Both use 64-bit hashes of sentences, eight bytes per pair, so that millions of pairs need little
memory and the division is the same on every machine and in every process.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import zip_longest
from typing import NamedTuple, TypeVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.split import check_shares
from attnlab.tasks.text_corpus import PARTS
from attnlab.tasks.translation.corpora.corpus import Corpus
from attnlab.tasks.translation.pair import Pair
from attnlab.text.cleaning import normalized
from attnlab.text.raw_text import changed

Label = TypeVar("Label")
_MANY, _MOST_HELD_OUT = 1_000_000, 10_000  # pairs


def pairs_by_part(
    corpus: Corpus, seed: int, clean: Callable[[str], str] | None = None
) -> tuple[int | None, Iterator[tuple[str, Pair]]]:
    """Return the number of pairs (None if unknown), and a stream of (part, pair).

    `clean` is the task's cleaning. With `split=source`, pairs with equal sources after cleaning are
    in the same part.
    """
    if corpus.own_parts:
        corpus.clean = clean
        return None, ((part, pair) for part in corpus.own_parts for pair in corpus.pairs(part))
    codes = assign_parts(corpus, seed=seed, clean=clean)
    labelled = with_labels(corpus.pairs(), codes.tobytes(), corpus.name)
    return len(codes), ((PARTS[code], pair) for pair, code in labelled)


def with_labels(
    pairs: Iterable[Pair], labels: Iterable[Label], corpus: str
) -> Iterator[tuple[Pair, Label]]:
    """Yield pairs with the labels that an earlier pass over the corpus found.

    Raises:
        RequestError: there are more or fewer pairs than labels, so a file has changed.
    """
    missing = object()
    for pair, label in zip_longest(pairs, labels, fillvalue=missing):
        if pair is missing or label is missing:
            raise changed(f"data={corpus}")
        yield pair, label  # type: ignore[misc]


def assign_parts(
    corpus: Corpus, *, seed: int, clean: Callable[[str], str] | None = None
) -> np.ndarray:
    """Divide a corpus without parts of its own, by its settings `validation`, `test` and `split`.

    Returns the part of each of `Corpus.pairs()` as an index into `PARTS`, (N,) uint8.

    With `split=source` all pairs whose sources are equal after cleaning are in one part.

    `seed` is the run's; `clean` is the cleaning of the task, `normalized` by default.

    Raises:
        RequestError: the shares leave nothing to train on, or the corpus is too small for them.
    """
    check_shares(corpus, PARTS[1:], "pair")
    clean = clean or normalized
    if corpus.split == "source":
        keys = hashed(clean(pair.source) for pair in corpus.pairs())
    else:
        keys = np.arange(sum(1 for _ in corpus.pairs()), dtype=np.uint64)
    codes = np.zeros(len(keys), dtype=np.uint8)
    order = _Order(keys, seed)
    for part, share in (("test", corpus.test), ("validation", corpus.validation)):
        codes[order.take(held_out_pairs(corpus, part, share, len(keys)))] = PARTS.index(part)
    _check_sizes(corpus, codes)
    return codes


def _check_sizes(corpus: Corpus, codes: np.ndarray) -> None:
    for code, share in enumerate((1.0, corpus.validation, corpus.test)):
        if share > 0 and not (codes == code).any():
            raise RequestError(
                f"{corpus.name}: expected enough pairs for {PARTS[code]} with "
                f"data.validation={corpus.validation:g} and data.test={corpus.test:g}, "
                f"got {len(codes)}."
            )


def held_out_pairs(corpus: Corpus, part: str, share: float, pairs: int) -> int:
    """Return how many of a corpus's pairs a share is: of over a million, at most 10,000."""
    count = round(share * pairs)
    if pairs <= _MANY or count <= _MOST_HELD_OUT:
        return count
    corpus.note(f"Of {pairs:,} pairs, {_MOST_HELD_OUT:,} are held out for {part}.")
    return _MOST_HELD_OUT


def held_out(keys: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Choose at least `count` rows at random, always all rows with equal keys together.

    `keys` are (N,) uint64, such as hashes of sources; returns (N,) bool, True for chosen rows.
    """
    taken = np.zeros(len(keys), dtype=bool)
    taken[_Order(keys, seed).take(count)] = True
    return taken


class _Order:
    """Rows in a random order with equal keys next to each other; `take` removes the first ones."""

    def __init__(self, keys: np.ndarray, seed: int) -> None:
        rank = mixed(keys ^ mixed(np.array([seed], dtype=np.uint64)))
        self.rows = np.argsort(rank, kind="stable")
        ranks = rank[self.rows]
        self.ends = np.append(np.flatnonzero(ranks[1:] != ranks[:-1]) + 1, len(ranks))
        self.at = 0

    def take(self, count: int) -> np.ndarray:
        """Return at least `count` of the next rows, in whole groups of equal keys; none for 0."""
        start = self.at
        if count > 0:
            group = np.searchsorted(self.ends, min(start + count, len(self.rows)))
            self.at = int(self.ends[group])
        return self.rows[start : self.at]


def mixed(numbers: np.ndarray) -> np.ndarray:
    """Map each uint64 to a pseudo-random one, one to one (splitmix64; Steele et al. 2014)."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def hashed(texts: Iterable[str]) -> np.ndarray:
    """Return a 64-bit hash of each text, (N,) uint64: the first bytes of BLAKE2b, little-endian."""
    numbers = array("Q", (hash_of(text) for text in texts))
    return np.array(numbers, dtype=np.uint64)


def hash_of(text: str) -> int:
    """Return the 64-bit hash of a text."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class Duplicates(NamedTuple):
    """The numbers of repeated pairs and sources."""

    pairs: int  # pairs that are equal to an earlier pair
    sources: int  # different source sentences
    several_targets: int  # sources that have more than one translation


class DuplicateCounter:
    """Counts duplicates in a stream, in 16 bytes per pair; sentences are compared exactly."""

    def __init__(self) -> None:
        self._sources, self._targets = array("Q"), array("Q")

    def add(self, pair: Pair) -> None:
        """Count one more pair."""
        self._sources.append(hash_of(pair.source))
        self._targets.append(hash_of(pair.target))

    def sources(self) -> np.ndarray:
        """Return the hash of each pair's source, in order."""
        return np.array(self._sources, dtype=np.uint64)

    def result(self) -> Duplicates:
        """Return the counts so far."""
        sources = self.sources()
        pairs = mixed(sources) ^ np.array(self._targets, dtype=np.uint64)
        _, first = np.unique(pairs, return_index=True)
        _, translations = np.unique(sources[first], return_counts=True)
        return Duplicates(
            pairs=len(pairs) - len(first),
            sources=len(translations),
            several_targets=int((translations > 1).sum()),
        )
