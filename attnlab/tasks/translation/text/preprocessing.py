"""Turn a corpus into token files in three passes: clean, fit the tokenizers, encode.

Each pass streams: memory grows by some tens of bytes per pair, not by the size of the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.files import write_json
from attnlab.tasks.declaration import Progress
from attnlab.tasks.translation.corpora.corpus import Corpus
from attnlab.tasks.translation.corpora.splitting import DuplicateCounter, pairs_by_part
from attnlab.tasks.translation.corpora.text_files import PartFiles
from attnlab.tasks.translation.pair import Pair
from attnlab.tasks.translation.text.token_files import write_tokens
from attnlab.text.cleaning import cleaner
from attnlab.text.tokenizers import Tokenizer

SIDES = ("source", "target")
STATISTICS = "statistics.json"
EXAMPLES = 100  # training pairs whose text is stored
MOST_FITTED = 1_000_000  # sentences per language from which a vocabulary is made
_REPORT_EVERY = 4096


@dataclass(frozen=True)
class TextSettings:
    """How sentences are cleaned and tokenized."""

    tokenizer: str = "word"  # `word`, `char` or `bpe`
    # most entries of a vocabulary, the four special tokens included; None: all words or characters,
    # and 8,000 for `bpe`
    vocabulary: int | None = None
    shared_vocabulary: bool = False  # one vocabulary for both languages
    min_count: int = 1  # rarer words are unknown
    lowercase: bool = False
    clean: str = "none"  # `none`, or `book`: the cleaning of the seed book
    # most tokens of a sentence, without START and END; longer sentences lose their end. None: no
    # limit.
    max_length: int | None = None


def preprocess(
    folder: Path, corpus: Corpus, settings: TextSettings, seed: int, progress: Progress
) -> None:
    """Write the files of a tokenized corpus into an empty folder.

    Raises:
        RequestError: the corpus can't be read, has a part without pairs, or the settings are wrong.
        OSError: a file can't be written.
    """
    if not corpus.own_parts:
        progress(0, None, "dividing")
    total, stream = pairs_by_part(corpus, seed, cleaner(settings.clean, settings.lowercase))
    parts = _clean_pairs(stream, total, settings, folder, progress)
    if not all(part.pairs for part in parts.values()):
        counts = ", ".join(f"{part.pairs} in {name}" for name, part in parts.items())
        raise RequestError(
            f"data={corpus.name}: expected pairs in each part that have words on both sides "
            f"after cleaning (task.clean={settings.clean}), got {counts}."
        )
    train = parts["train"]
    sides = (SIDES,) if settings.shared_vocabulary else (SIDES[:1], SIDES[1:])
    fitted = [_fit(train, each, settings, progress) for each in sides]
    for side, tokenizer in zip(SIDES, fitted, strict=False):
        tokenizer.save(tokenizer_file(folder, side))
    tokenizers = dict(zip(SIDES, (fitted[0], fitted[-1]), strict=True))
    encoded = _encode_parts(parts, tokenizers, settings.max_length, folder, progress)
    train_sources = np.unique(train.duplicates.sources())
    statistics: dict[str, Any] = {
        "corpus": corpus.name,
        "languages": [corpus.source_language, corpus.target_language],
        "notes": list(corpus.notes),
        "left_out": dict(corpus.dropped),
        "text": asdict(settings),
        "vocabulary": {side: tokenizer.size for side, tokenizer in tokenizers.items()},
        "fitted_on": min(train.pairs, MOST_FITTED),
        "parts": {
            name: {**part.counts(train_sources), **encoded[name]} for name, part in parts.items()
        },
    }
    for part in parts.values():
        part.shorten(EXAMPLES if part is train else None)
    write_json(folder / STATISTICS, statistics)


def encode_files(
    folder: Path,
    name: str,
    files: PartFiles,
    settings: TextSettings,
    tokenizers: Sequence[Tokenizer],
) -> list[str]:
    """Tokenize the pairs of some files, and write them as the part `name`.

    `tokenizers` are those of source and target. Returns notes for the reader of the scores.

    Raises:
        RequestError: the files can't be read, differ in their number of lines, or have no pairs.
        OSError: a file can't be written.
    """
    lines = files.scanned()[0].lines
    stream = ((name, pair) for pair in files.read(Counter()))
    parts = _clean_pairs(stream, lines, settings, folder, _untold)
    pairs = sum(part.pairs for part in parts.values())
    if not pairs:
        raise RequestError(
            f"{files.source}, {files.target}: expected pairs that have words on both sides after "
            f"cleaning (task.clean={settings.clean}), got none in {lines:,} lines."
        )
    sides = dict(zip(SIDES, tokenizers, strict=True))
    encoded = _encode_parts(parts, sides, settings.max_length, folder, _untold)
    parts[name].shorten(None)
    notes = notes_on(name, {"pairs": pairs, **encoded[name]}, settings.max_length)
    left_out = f"{lines - pairs:,} of {lines:,} pairs are left out, because a side is empty."
    return [left_out, *notes] if pairs < lines else notes


def corpus_notes(statistics: Mapping[str, Any]) -> list[str]:
    """Return the corpus's own notes, and notes on pairs left out, with a count per reason."""
    notes = [*statistics["notes"]]
    if reasons := {name: count for name, count in statistics["left_out"].items() if count}:
        listed = ", ".join(f"{name} ({count:,})" for name, count in reasons.items())
        notes.append(f"Left out of the files: {listed}.")
    empty = {name: part["dropped"] for name, part in statistics["parts"].items() if part["dropped"]}
    if empty:
        listed = ", ".join(f"{count:,} of {name}" for name, count in empty.items())
        notes.append(f"Pairs left out because a side is empty after cleaning: {listed}.")
    return notes


def notes_on(name: str, counts: Mapping[str, Any], most: int | None) -> list[str]:
    """Return notes for the reader of a part's scores, from the counts of `preprocess`."""
    pairs, notes = counts["pairs"], []
    seen = counts.get("sources_in_train", 0)
    if seen and name != "train":
        notes.append(f"{seen:,} of {pairs:,} sources are also in the training part.")
    if links := counts.get("links_left_out", 0):
        notes.append(f"Gold links of {links:,} pairs are left out: task.clean changes the words.")
    cut = {f"{side}s": counts.get(side, {}).get("truncated", 0) for side in SIDES}
    if any(cut.values()):
        sides = " and ".join(f"{number:,} of {pairs:,} {side}" for side, number in cut.items())
        notes.append(f"Only the first {most} tokens (task.max_length) are read of {sides}.")
    return notes


def text_file(folder: Path, part: str, kind: str) -> Path:
    """Return the path of a part's sentences or links."""
    return folder / f"{part}.{kind}.txt"


def tokenizer_file(folder: Path, side: str) -> Path:
    """Return the path of a tokenizer; a shared one is under the name of the source."""
    return folder / f"{side}_tokenizer.json"


def lines_of(path: Path) -> Iterator[str]:
    """Yield the lines of a text file that this module wrote."""
    with open(path, encoding="utf-8", newline="\n") as stream:
        for line in stream:
            yield line.rstrip("\n")


def evenly(items: Iterable[str], count: int, most: int) -> Iterator[str]:
    """Yield at most `most` of `count` items, spread evenly."""
    if count <= most:
        return iter(items)
    return (item for at, item in enumerate(items) if (at + 1) * most // count > at * most // count)


def _untold(done: int, total: int | None, what: str) -> None:
    """Report no progress, for work that is too short."""


class _CleanedPart:
    """Writes the cleaned pairs of one part to files, which `stack` closes, and counts them."""

    def __init__(self, folder: Path, name: str, stack: ExitStack) -> None:
        self.pairs = self.empty = self.linked = self.links_left_out = 0
        self.duplicates = DuplicateCounter()
        self.files = {kind: text_file(folder, name, kind) for kind in (*SIDES, "links")}
        self._streams = [
            stack.enter_context(open(path, "w", encoding="utf-8", newline="\n"))
            for path in self.files.values()
        ]

    def add(self, pair: Pair) -> None:
        """Write a pair; if a side is empty, only count it."""
        if not pair.source or not pair.target:
            self.empty += 1
            return
        self.pairs += 1
        self.linked += pair.links is not None
        self.duplicates.add(pair)
        for stream, text in zip(self._streams, pair, strict=True):
            stream.write(f"{text or ''}\n")

    def shorten(self, count: int | None) -> None:
        """Delete the text after the first `count` pairs, and the file of links if it is empty."""
        if not self.linked:
            self.files.pop("links").unlink()
        for path in self.files.values() if count is not None else ():
            kept = list(islice(lines_of(path), count))
            path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8", newline="\n")

    def counts(self, train_sources: np.ndarray) -> dict[str, int]:
        """Return the numbers of pairs and repetitions; `train_sources` are unique hashes."""
        repeated = self.duplicates.result()
        return {
            "pairs": self.pairs,
            "dropped": self.empty,
            "duplicates": repeated.pairs,
            "repeated_sources": self.pairs - repeated.sources,
            "sources_in_train": int(np.isin(self.duplicates.sources(), train_sources).sum()),
            **({"links_left_out": self.links_left_out} if self.links_left_out else {}),
        }


def _clean_pairs(
    stream: Iterable[tuple[str, Pair]],
    total: int | None,
    settings: TextSettings,
    folder: Path,
    progress: Progress,
) -> dict[str, _CleanedPart]:
    """Clean a stream of (part, pair), and write the text of each part."""
    clean = cleaner(settings.clean, settings.lowercase)
    links = settings.clean == "none"  # the book's cleaning removes words, so numbers don't fit
    parts: dict[str, _CleanedPart] = {}
    with ExitStack() as stack:
        for done, (name, pair) in enumerate(stream):
            if name not in parts:
                parts[name] = _CleanedPart(folder, name, stack)
            source, target = clean(pair.source), clean(pair.target)
            parts[name].add(Pair(source, target, pair.links if links else None))
            parts[name].links_left_out += pair.links is not None and not links
            if done % _REPORT_EVERY == 0:
                progress(done, total, "reading")
    return parts


def _fit(
    train: _CleanedPart, sides: tuple[str, ...], settings: TextSettings, progress: Progress
) -> Tokenizer:
    """Fit the tokenizer of one language, or of both."""

    def sentences() -> Iterator[str]:
        for side in sides:
            lines = evenly(lines_of(train.files[side]), train.pairs, MOST_FITTED)
            for done, text in enumerate(lines):
                if done % _REPORT_EVERY == 0:
                    progress(done, min(train.pairs, MOST_FITTED), f"fitting on {side}")
                yield text

    return Tokenizer.fit(
        sentences(),
        kind=settings.tokenizer,
        size=settings.vocabulary,
        min_count=settings.min_count,
        lowercase=settings.lowercase,
    )


def _encode_parts(
    parts: dict[str, _CleanedPart],
    tokenizers: dict[str, Tokenizer],
    longest: int | None,
    folder: Path,
    progress: Progress,
) -> dict[str, dict[str, dict[str, float]]]:
    """Write all tokens; return the counts of each part and side."""
    done, total = 0, 2 * sum(part.pairs for part in parts.values())

    def report(count: int) -> None:
        nonlocal done
        done += count
        progress(done, total, "encoding")

    report(0)
    counts: dict[str, dict[str, dict[str, float]]] = {name: {} for name in parts}
    for name, part in parts.items():
        for side, tokenizer in tokenizers.items():
            path, texts = folder / f"{name}.{side}", lines_of(part.files[side])
            counts[name][side] = write_tokens(
                texts, tokenizer, path, longest, start=side == "target", report=report
            )
    return counts
