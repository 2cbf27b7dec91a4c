"""The passes that turn a corpus into token files: read and clean, fit the tokenizers, encode.

Each one streams, so that memory grows by some tens of bytes a pair, not by the text.
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
EXAMPLES = 100  # training pairs whose text is kept
MOST_FITTED = 1_000_000  # sentences of a language that a vocabulary is made from
_REPORT_EVERY = 4096


@dataclass(frozen=True)
class TextSettings:
    """How sentences are cleaned and cut."""

    tokenizer: str = "word"  # `word`, `char` or `bpe`
    # most entries of a vocabulary, the four special ones included; None takes all words or
    # characters, and 8,000 of `bpe`
    vocabulary: int | None = None
    shared_vocabulary: bool = False  # one vocabulary for both languages
    min_count: int = 1  # rarer words are unknown
    lowercase: bool = False  # whether everything is lower-cased
    clean: str = "none"  # `none`, or `book` as the seed book has its pairs
    # most tokens of a sentence, without its START and END; the end of longer ones is cut off. None:
    # no limit.
    max_length: int | None = None


def preprocess(
    folder: Path, corpus: Corpus, settings: TextSettings, seed: int, progress: Progress
) -> None:
    """Write everything that a tokenized corpus has into an empty folder.

    Raises:
        RequestError: the corpus or the settings are not usable.
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
    """Write the pairs of some files, cut by a source's and a target's tokenizer, as a named part.

    Gives what the reader of its scores should know, a sentence each.

    Raises:
        RequestError: the files can't be read, don't go together, or have no pairs.
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
    left_out = f"{lines - pairs:,} of {lines:,} pairs have an empty side and are left out."
    return [left_out, *notes] if pairs < lines else notes


def corpus_notes(statistics: Mapping[str, Any]) -> list[str]:
    """What the corpus says of itself, and what was left out of it, by the reason."""
    notes = [*statistics["notes"]]
    if reasons := {name: count for name, count in statistics["left_out"].items() if count}:
        listed = ", ".join(f"{name} ({count:,})" for name, count in reasons.items())
        notes.append(f"Left out of the files: {listed}.")
    empty = {name: part["dropped"] for name, part in statistics["parts"].items() if part["dropped"]}
    if empty:
        listed = ", ".join(f"{count:,} of {name}" for name, count in empty.items())
        notes.append(f"Pairs left out because cleaning leaves nothing of a side: {listed}.")
    return notes


def notes_on(name: str, counts: Mapping[str, Any], most: int | None) -> list[str]:
    """What the reader of a part's scores should know, by what was counted; see `preprocess`."""
    pairs, notes = counts["pairs"], []
    seen = counts.get("sources_in_train", 0)
    if seen and name != "train":
        notes.append(f"{seen:,} of {pairs:,} sources stand in the training part, too.")
    if links := counts.get("links_left_out", 0):
        notes.append(f"Gold links of {links:,} pairs are left out: task.clean changes the words.")
    cut = {f"{side}s": counts.get(side, {}).get("truncated", 0) for side in SIDES}
    if any(cut.values()):
        sides = " and ".join(f"{number:,} of {pairs:,} {side}" for side, number in cut.items())
        notes.append(f"Of {sides} the first {most} tokens only are read (task.max_length).")
    return notes


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


def _untold(done: int, total: int | None, what: str) -> None:
    """In place of a `Progress` where nobody waits for long."""


class _CleanedPart:
    """The cleaned pairs of one part: their texts go to files that `stack` closes, counts stay."""

    def __init__(self, folder: Path, name: str, stack: ExitStack) -> None:
        self.pairs = self.empty = self.linked = self.links_left_out = 0
        self.duplicates = DuplicateCounter()
        self.files = {kind: text_file(folder, name, kind) for kind in (*SIDES, "links")}
        self._streams = [
            stack.enter_context(open(path, "w", encoding="utf-8", newline="\n"))
            for path in self.files.values()
        ]

    def add(self, pair: Pair) -> None:
        """Take in one more pair, or count it where a side is empty."""
        if not pair.source or not pair.target:
            self.empty += 1
            return
        self.pairs += 1
        self.linked += pair.links is not None
        self.duplicates.add(pair)
        for stream, text in zip(self._streams, pair, strict=True):
            stream.write(f"{text or ''}\n")

    def shorten(self, count: int | None) -> None:
        """Keep the text of the first `count` pairs only, and no file of links without links."""
        if not self.linked:
            self.files.pop("links").unlink()
        for path in self.files.values() if count is not None else ():
            kept = list(islice(lines_of(path), count))
            path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8", newline="\n")

    def counts(self, train_sources: np.ndarray) -> dict[str, int]:
        """What there is of it, and what comes back; `train_sources` are hashes, each once."""
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
    """Read pairs, each with the name of its part, once, and write the text of each part."""
    clean = cleaner(settings.clean, settings.lowercase)
    links = settings.clean == "none"  # the book's cleaning changes what is a word
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
    """The tokenizer for one language, or for both."""

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
    """Write all tokens; gives the counts of each part and side."""
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
