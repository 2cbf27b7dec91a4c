"""The passes that turn a corpus into token files: read and clean, fit the tokenizers, encode.

Each one streams, so that the memory needed grows by some tens of bytes a pair, not by the text.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import Progress
from attnlab.tasks.translation.corpora.corpus import Corpus, Pair
from attnlab.tasks.translation.corpora.splitting import assign_parts, hash_of, mixed
from attnlab.tasks.translation.text.encoding import encode
from attnlab.tasks.translation.text.settings import TextSettings
from attnlab.tasks.translation.text.tokenizers import Tokenizer

SIDES = ("source", "target")
EXAMPLES = 100  # training pairs whose text is kept
MOST_FITTED = 1_000_000  # sentences of a language that a vocabulary is made from
_REPORT_EVERY = 4096


class CleanedPart:
    """The pairs of one part as they come in: their texts go to files, their counts stay.

    Args:
        folder: where the files are written.
        name: the part's name.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.pairs = self.empty = self.linked = 0
        self._sources, self._targets = array("Q"), array("Q")
        self._files = {kind: text_file(folder, name, kind) for kind in (*SIDES, "links")}

    def open(self, stack: ExitStack) -> None:
        """Open the files until `stack` ends."""
        self._streams = {
            kind: stack.enter_context(open(path, "w", encoding="utf-8", newline="\n"))
            for kind, path in self._files.items()
        }

    def add(self, pair: Pair) -> None:
        """Take in one more cleaned pair, or count it where a side is empty."""
        if not pair.source or not pair.target:
            self.empty += 1
            return
        self.pairs += 1
        self.linked += pair.links is not None
        self._sources.append(hash_of(pair.source))
        self._targets.append(hash_of(pair.target))
        for kind, text in zip(self._streams, (pair.source, pair.target, pair.links), strict=True):
            self._streams[kind].write(f"{text or ''}\n")

    def texts(self, side: str) -> Iterator[str]:
        """The sentences of one language."""
        return lines_of(self._files[side])

    def shorten(self, count: int | None) -> None:
        """Keep the text of the first `count` pairs only, and no file of links without links."""
        if not self.linked:
            self._files.pop("links").unlink()
        for path in self._files.values() if count is not None else ():
            kept = list(islice(lines_of(path), count))
            path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8", newline="\n")

    def sources(self) -> np.ndarray:
        """The hash of each pair's source."""
        return np.array(self._sources, np.uint64)

    def counts(self, train_sources: np.ndarray) -> dict[str, int]:
        """What there is of it, and what comes back.

        Args:
            train_sources: hashes of the training part's sources, each once.
        """
        sources = self.sources()
        both = mixed(sources) ^ np.array(self._targets, np.uint64)
        return {
            "pairs": self.pairs,
            "dropped": self.empty,
            "duplicates": self.pairs - len(np.unique(both)),
            "repeated_sources": self.pairs - len(np.unique(sources)),
            "sources_in_train": int(np.isin(sources, train_sources).sum()),
        }


def clean_pairs(
    corpus: Corpus, settings: TextSettings, seed: int, folder: Path, progress: Progress
) -> dict[str, CleanedPart]:
    """Read the corpus once, and write the text of each part.

    Raises:
        RequestError: the corpus can't be read, or a part is left without pairs.
    """
    clean = settings.cleaner()
    links = settings.clean == "none"  # the book's cleaning changes what is a word
    total, stream = _with_parts(corpus, settings, seed, progress)
    parts: dict[str, CleanedPart] = {}
    with ExitStack() as stack:
        for done, (name, pair) in enumerate(stream):
            if name not in parts:
                parts[name] = CleanedPart(folder, name)
                parts[name].open(stack)
            source, target = clean(pair.source), clean(pair.target)
            parts[name].add(Pair(source, target, pair.links if links else None))
            if done % _REPORT_EVERY == 0:
                progress(done, total, "reading")
    for part in parts.values():
        if not part.pairs:
            counts = ", ".join(f"{each.pairs} in {each.name}" for each in parts.values())
            raise RequestError(
                f"data={corpus.name}: expected pairs in each part that have words on both sides "
                f"after cleaning (task.clean={settings.clean}), got {counts}."
            )
    return parts


def fit_tokenizers(
    train: CleanedPart, settings: TextSettings, progress: Progress
) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers for the source and the target; one object where the vocabulary is shared."""

    def sentences(*sides: str) -> Iterator[str]:
        for side in sides:
            for done, text in enumerate(evenly(train.texts(side), train.pairs, MOST_FITTED)):
                if done % _REPORT_EVERY == 0:
                    progress(done, fitted_on(train), f"fitting on {side}")
                yield text

    def fit(*sides: str) -> Tokenizer:
        return Tokenizer.fit(
            sentences(*sides),
            kind=settings.tokenizer,
            size=settings.vocabulary,
            min_count=settings.min_count,
            lowercase=settings.lowercase,
        )

    if settings.shared_vocabulary:
        shared = fit(*SIDES)
        return shared, shared
    return fit("source"), fit("target")


def fitted_on(train: CleanedPart) -> int:
    """Sentences of each language that the vocabulary is made from."""
    return min(train.pairs, MOST_FITTED)


def prepare_into(
    folder: Path, corpus: Corpus, settings: TextSettings, seed: int, progress: Progress
) -> dict[str, Any]:
    """Write everything that a prepared corpus has into an empty folder; gives its statistics.

    Raises:
        RequestError: the corpus or the settings are not usable.
        OSError: a file can't be written.
    """
    parts = clean_pairs(corpus, settings, seed, folder, progress)
    train = parts["train"]
    tokenizers = fit_tokenizers(train, settings, progress)
    for side, tokenizer in list(zip(SIDES, tokenizers, strict=True))[: len({*tokenizers})]:
        tokenizer.save(tokenizer_file(folder, side))
    report = _Report(parts.values(), progress)
    train_sources = np.unique(train.sources())
    statistics = {
        "corpus": corpus.name,
        "languages": [corpus.source_language, corpus.target_language],
        "notes": list(corpus.notes),
        "left_out": dict(corpus.dropped),
        "text": asdict(settings),
        "vocabulary": {side: each.size for side, each in zip(SIDES, tokenizers, strict=True)},
        "fitted_on": fitted_on(train),
        "parts": {
            name: {
                **part.counts(train_sources),
                **_encode_part(part, tokenizers, settings.max_length, report),
            }
            for name, part in parts.items()
        },
    }
    for part in parts.values():
        part.shorten(EXAMPLES if part is train else None)
    text = json.dumps(statistics, indent=2, ensure_ascii=False) + "\n"
    (folder / "statistics.json").write_text(text, encoding="utf-8")
    return statistics


def token_path(folder: Path, part: str, side: str) -> Path:
    """What the names of a part's token files begin with."""
    return folder / f"{part}.{side}"


def text_file(folder: Path, part: str, kind: str) -> Path:
    """The file of a part's sentences or links."""
    return folder / f"{part}.{kind}.txt"


def tokenizer_file(folder: Path, side: str) -> Path:
    """The file of a tokenizer; a shared one is the source's."""
    return folder / f"{side}_tokenizer.json"


def lines_of(path: Path) -> Iterator[str]:
    """The lines of one of our own text files."""
    with open(path, encoding="utf-8", newline="\n") as stream:
        for line in stream:
            yield line.rstrip("\n")


def evenly(items: Iterable[str], count: int, most: int) -> Iterator[str]:
    """At most `most` of `count` items, spread evenly over them."""
    if count <= most:
        return iter(items)
    return (item for at, item in enumerate(items) if (at + 1) * most // count > at * most // count)


def _with_parts(
    corpus: Corpus, settings: TextSettings, seed: int, progress: Progress
) -> tuple[int | None, Iterator[tuple[str, Pair]]]:
    """How many pairs there are, where that is known, and each with its part's name."""
    if corpus.own_parts:
        each = (((part, pair) for pair in corpus.pairs(part)) for part in corpus.own_parts)
        return None, chain.from_iterable(each)
    progress(0, None, "dividing")
    assigned = assign_parts(corpus, seed=seed, clean=settings.cleaner())
    names = (assigned.names[code] for code in assigned.codes.tobytes())
    return len(assigned.codes), zip(names, corpus.pairs(), strict=True)


def _encode_part(
    part: CleanedPart, tokenizers: tuple[Tokenizer, Tokenizer], longest: int | None, report: _Report
) -> dict[str, dict[str, float]]:
    counts = {}
    for side, tokenizer in zip(SIDES, tokenizers, strict=True):
        path = token_path(part.folder, part.name, side)
        counts[side] = encode(
            part.texts(side), tokenizer, path, longest, start=side == "target", report=report
        )
    return counts


class _Report:
    """Says how far the encoding of several parts is."""

    def __init__(self, parts: Iterable[CleanedPart], progress: Progress) -> None:
        self.done, self.total = 0, 2 * sum(part.pairs for part in parts)
        self._progress = progress
        progress(0, self.total, "encoding")

    def __call__(self, count: int) -> None:
        """So many sentences more are done."""
        self.done += count
        self._progress(self.done, self.total, "encoding")
