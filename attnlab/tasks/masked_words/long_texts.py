"""Rows of texts that take much memory: files of the cache, made in several processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.files import read_json, write_json
from attnlab.records.growing_arrays import GrowingArrays
from attnlab.records.prepared import checked_digest, prepared
from attnlab.records.ragged import Ragged
from attnlab.records.worker_processes import in_order
from attnlab.tasks.declaration import Progress
from attnlab.tasks.masked_words.rows import packed
from attnlab.tasks.split import check_shares, rank, too_few
from attnlab.tasks.text_corpus import PARTS, digest_of
from attnlab.tasks.texts.corpus import MOST_HELD_OUT, Corpus, LeftOut, Piece
from attnlab.text.cleaning import normalized, text_key
from attnlab.text.raw_text import fitted
from attnlab.text.tokenizers import END, START, UNKNOWN, Tokenizer

_FORMAT = 2
# Documents that a part should have on average, if the hash of each decides on its part.
_ENOUGH = 20
_TOKENIZER, _PARTS = "tokenizer.json", "parts.json"
_FIELDS = ("rows", "cut", "unknown", "tokens")
_LEFT_OUT = ("wordless", "marks")


class LongTexts(NamedTuple):
    """The rows of all parts."""

    tokenizer: Tokenizer
    parts: dict[str, Ragged]  # rows with START and END
    counts: dict[str, int]  # sums over parts of `rows`, `cut`, `unknown` and `tokens`
    left_out: LeftOut  # of the documents


class _Division(NamedTuple):
    """Which documents of train are held out."""

    shares: Mapping[str, float]  # of the parts to hold out
    ignore_case: bool
    seed: int
    held_out: Mapping[str, str] | None = None  # parts by key, if there are few documents

    def key(self, document: Sequence[str]) -> str:
        """Return what equal documents have in common."""
        return text_key(" ".join(document), ignore_case=self.ignore_case)

    def part(self, document: Sequence[str]) -> str:
        """Return the part of one of train's documents."""
        if not self.shares:
            return "train"
        key = self.key(document)
        if self.held_out is not None:
            return self.held_out.get(key, "train")
        left = int.from_bytes(rank(key, self.seed)[:8], "little") / 2**64
        for part, share in self.shares.items():
            if left < share:
                return part
            left -= share
        return "train"


def read_long_texts(
    corpus: Corpus, text: Mapping[str, Any], seed: int, cache: Path, progress: Progress
) -> LongTexts:
    """Return the rows of a corpus that `is_long`, from the cache or made now.

    A hash of (seed, document) decides on its part, so equal documents are in one part; repeated
    ones stay. Of few documents, each part gets those with the lowest hashes, at least one.
    Otherwise rows are those of `packed`.

    Args:
        corpus: an opened corpus.
        text: the task's settings of tokenization.
        seed: the run's.
        cache: the folder of caches.
        progress: gets the number of bytes read, and of all.

    Raises:
        RequestError: the text can't be read, a part has no words, the shares leave nothing to
            train on, or the cache can't be written.
    """
    if text["next_sentence"]:
        raise RequestError(
            "task.next_sentence: expected false for a long text, whose documents aren't all in "
            "memory, got true."
        )
    missing = [part for part in PARTS if part not in corpus.own_parts]
    check_shares(corpus, missing, corpus.noun)
    decisive = digest_of([_FORMAT, corpus.digest(), dict(text), seed if missing else None])
    folder = cache / "prepared" / f"{corpus.name}-rows-{decisive[:16]}"
    make = partial(_write, corpus=corpus, text=text, seed=seed, progress=progress)
    return prepared(folder, _opened, make, "the tokens")


def _write(
    folder: Path, corpus: Corpus, text: Mapping[str, Any], seed: int, progress: Progress
) -> None:
    size, path = corpus.text_size, folder / _TOKENIZER
    missing = [part for part in PARTS if part not in corpus.own_parts]
    shares = {part: min(corpus.share(part), MOST_HELD_OUT / size) for part in missing}
    is_fitted = path.exists()
    if not is_fitted:
        progress(0, None, "fitting")
        corpus.check_text()
    division = _Division(shares, text["lowercase"], seed)
    division = division._replace(held_out=_of_few(corpus, division))
    if is_fitted:
        tokenizer = Tokenizer.load(path)
    else:
        tokenizer = Tokenizer.fit(
            _sentences(corpus, division),
            kind=text["tokenizer"],
            size=text["vocabulary"],
            min_count=text["min_count"],
            lowercase=text["lowercase"],
        )
        tokenizer.save(path)
    rows_of = partial(_rows, tokenizer=tokenizer, most=text["max_length"], division=division)
    arrays = {part: GrowingArrays(folder, part) for part in PARTS}
    begun = min(each.blocks for each in arrays.values())
    jobs = ((part, piece) for part in corpus.own_parts for piece in corpus.pieces(part))
    done = sum(len(piece.text) for _, piece in islice(jobs, begun))
    for number, ((_, piece), rows) in enumerate(in_order(rows_of, jobs), begun):
        for part, own in rows.items():
            if arrays[part].blocks <= number:
                arrays[part].add({"tokens": own.tokens, "lengths": own.lengths}, **own.counts)
        done += len(piece.text)
        progress(min(done, size), size, "encoding")
    corpus.check_unchanged()
    for part, each in arrays.items():
        if not each.counts["rows"]:
            raise RequestError(
                f"data={corpus.name}: expected words in each part, got none in {part}."
            )
    names = (*_FIELDS, *_LEFT_OUT)
    counts = {name: sum(each.counts[name] for each in arrays.values()) for name in names}
    write_json(folder / _PARTS, counts)


def _opened(folder: Path) -> LongTexts:
    checked_digest(folder)
    arrays = {part: GrowingArrays(folder, part, read_only=True) for part in PARTS}
    parts = {
        part: Ragged.of_lengths(each["tokens"], each["lengths"]) for part, each in arrays.items()
    }
    counts = read_json(folder / _PARTS)
    left_out = LeftOut(*(counts.pop(name, 0) for name in _LEFT_OUT))
    return LongTexts(Tokenizer.load(folder / _TOKENIZER), parts, counts, left_out)


def _of_few(corpus: Corpus, division: _Division) -> dict[str, str] | None:
    """Return which documents to hold out, at least one for each part, if there are few.

    None if there are so many that the hash of each document fills all parts.
    """
    shares = division.shares
    if not shares:
        return None
    enough, keys = _ENOUGH / min(shares.values()), set[str]()
    for piece in corpus.pieces("train"):
        keys.update(map(division.key, piece.documents(LeftOut())))
        if len(keys) >= enough:
            return None
    if len(keys) <= len(shares):
        raise too_few(corpus, [*shares], "documents", f"{len(keys)}; empty lines end a document")
    ranked, found = iter(sorted(keys, key=partial(rank, seed=division.seed))), dict[str, str]()
    for part, share in shares.items():
        found |= dict.fromkeys(islice(ranked, max(1, round(share * len(keys)))), part)
    return found


def _sentences(corpus: Corpus, division: _Division) -> Iterator[str]:
    """Yield sentences of train on which a tokenizer is fitted."""
    pieces = fitted(corpus.pieces("train"), corpus.text_size, lambda piece: len(piece.text))
    for _, sentences in in_order(partial(_sentences_of, division=division), pieces):
        yield from sentences


def _sentences_of(piece: Piece, division: _Division) -> list[str]:
    documents = [each for each in piece.documents(LeftOut()) if division.part(each) == "train"]
    return [normalized(sentence) for sentence in chain.from_iterable(documents)]


class _Rows(NamedTuple):
    """Rows of one part of a piece, one after the other."""

    tokens: np.ndarray
    lengths: np.ndarray  # (N,) int32
    counts: dict[str, int]


def _rows(
    job: tuple[str, Piece], tokenizer: Tokenizer, most: int, division: _Division
) -> dict[str, _Rows]:
    """Return the rows of all parts from a piece of one of the corpus's own parts."""
    own, piece = job
    parts: dict[str, list[Sequence[str]]] = {part: [] for part in PARTS}
    left_out = LeftOut()
    for document in piece.documents(left_out):
        parts[division.part(document) if own == "train" else own].append(document)
    rows = {part: _encoded(documents, tokenizer, most) for part, documents in parts.items()}
    rows[own].counts.update({name: getattr(left_out, name) for name in _LEFT_OUT})
    return rows


def _encoded(documents: Sequence[Sequence[str]], tokenizer: Tokenizer, most: int) -> _Rows:
    encoded = iter(tokenizer.encode([normalized(each) for each in chain.from_iterable(documents)]))
    tokens = ([next(encoded) for _ in document] for document in documents)
    rows, cut = packed([[each for each in own if each] for own in tokens], most)
    dtype = np.dtype("<u2" if tokenizer.size <= 1 << 16 else "<i4")
    framed = (np.array([START, *row.first, END], dtype) for row in rows)
    flat = np.concatenate([np.zeros(0, dtype), *framed])
    counts = len(rows), cut, int(np.count_nonzero(flat == UNKNOWN)), len(flat)
    lengths = np.array([row.length for row in rows], np.int32)
    return _Rows(flat, lengths, dict(zip(_FIELDS, counts, strict=True)))
