"""Pairs of sentences: the base class of the corpora of translation, and pairs in two files."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from attnlab.errors import RequestError, explained
from attnlab.tasks.data.corpus import PARTS, Corpus
from attnlab.tasks.data.division import hold_out
from attnlab.tasks.kinds import Progress
from attnlab.text.reading import decode_text


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str
    # gold word alignment in Pharaoh format, `0-0 1-2`: the numbers, from 0, of a source word and a
    # target word as `text.words.split_words` splits them; None if unknown
    links: str | None = None


@dataclass(frozen=True)
class AlignedFiles:
    """The pairs of two files whose lines translate each other.

    Each pass reads the files again, so they may be larger than memory. A file is UTF-8, plain or
    gzipped.
    """

    source: Path
    target: Path
    limit: int | None = None  # the number of pairs to read; None: all

    def __iter__(self) -> Iterator[Pair]:
        """Yield the pairs; raise `RequestError`, which names the file, if one can't be read."""
        files = zip_longest(_lines(self.source), _lines(self.target))
        for number, (source, target) in enumerate(islice(files, self.limit)):
            if source is None or target is None:
                shorter, longer = self.source, self.target
                if source is not None:
                    shorter, longer = longer, shorter
                raise RequestError(
                    f"{shorter}: expected as many lines as in {longer}, got {number:,}."
                )
            yield Pair(source, target)

    def digest(self) -> bytes:
        """Return the SHA-256 of both files; raise `RequestError` if one can't be read."""
        state = hashlib.sha256()
        for path in (self.source, self.target):
            with explained(f"{path}: can't be read"), open(path, "rb") as file:
                while block := file.read(1 << 20):
                    state.update(block)
        return state.digest()


class ParallelCorpus(Corpus):
    """Pairs of sentences in two languages; see `Corpus`."""

    noun = "pair"
    source_language: str = "en"
    target_language: str = "de"
    split: str = "source"  # puts all pairs of a source into one part; `pair` divides single pairs
    reverse: bool = False  # translate from the second language into the first
    parts: dict[str, Any]  # lists of `Pair`, or `AlignedFiles`

    def __post_init__(self) -> None:
        """Exchange source and target language if `reverse` is set."""
        if self.reverse:
            languages = self.target_language, self.source_language
            self.source_language, self.target_language = languages

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the files, and read them unless they are `AlignedFiles`; see `Corpus.open`."""
        self.parts = {}
        for part, pairs in self.read(self.find(cache, progress)).items():
            limit = self.limit if part == "train" else None
            if isinstance(pairs, AlignedFiles):
                self.parts[part] = replace(pairs, limit=limit)
            else:
                pairs = pairs[:limit]
                self.parts[part] = [*map(_reverse, pairs)] if self.reverse else pairs

    def aligned_files(self, folder: Path, name: str, optional: bool = False) -> AlignedFiles | None:
        """Return the files NAME.LANGUAGE or NAME.LANGUAGE.gz of a folder.

        Raises:
            RequestError: one is missing, or both are and they are not `optional`.
        """
        languages = self.source_language, self.target_language
        names = [[folder / f"{name}.{code}{end}" for end in ("", ".gz")] for code in languages]
        paths = [path for either in names for path in [*filter(Path.is_file, either)][:1]]
        if optional and not paths:
            return None
        if len(paths) < 2:
            raise RequestError(
                f"data.path: expected {name}.{languages[0]} and {name}.{languages[1]}, plain or "
                f"with .gz, in {folder}; one or both are missing."
            )
        source, target = paths
        return AlignedFiles(source, target)

    @property
    def held_out(self) -> dict[str, float]:
        """Return the parts that an opened corpus lacks, and their shares of train."""
        shares = {"test": self.test, "validation": self.validation}
        return {part: share for part, share in shares.items() if part not in self.parts and share}

    def split_pairs(self, seed: int, clean: Callable[[str], str]) -> Iterator[tuple[str, Pair]]:
        """Yield the part and the pair of all pairs, in the order of the files.

        The seed holds missing parts out from train. Sources that are equal after the cleaning are
        in one part, with `split=source`.
        """
        for part, pairs in self.parts.items():
            if part != "train" or not self.held_out:
                yield from ((part, pair) for pair in pairs)
                continue
            keys: Iterable[str] = (clean(pair.source) for pair in pairs)
            if self.split == "pair":
                keys = (str(number) for number, _ in enumerate(pairs))
            try:
                codes = hold_out(keys, seed, self.held_out, noun="pair")
            except RequestError as error:
                raise RequestError(f"data={self.name}: {error}") from error
            for code, pair in zip(codes.tolist(), pairs, strict=False):
                yield PARTS[code], pair

    def digest(self) -> str:
        """Return a SHA-256 of an opened corpus and of the settings that determine its pairs."""
        names = ("limit", "reverse", "split", "validation", "test")
        state = hashlib.sha256(json.dumps([getattr(self, name) for name in names]).encode())
        for part, pairs in self.parts.items():
            state.update(part.encode())
            if isinstance(pairs, AlignedFiles):
                state.update(pairs.digest())
            else:
                for pair in pairs:
                    state.update(json.dumps(pair).encode())
        return state.hexdigest()


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, plain or gzipped, without spaces at their ends."""
    try:
        with open(path, "rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            for number, line in enumerate(gzip.open(file) if is_packed else file, 1):
                yield decode_text(line, str(path), "utf-8", first_line=number).strip()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise RequestError(f"{path}: can't be read: {reason}.") from error


def _reverse(pair: Pair) -> Pair:
    """Exchange source and target of a pair, also in its links."""
    links = pair.links
    if links is not None:
        ends = (link.partition("-") for link in links.split())
        links = " ".join(f"{target}-{source}" for source, _, target in ends)
    return Pair(pair.target, pair.source, links)
