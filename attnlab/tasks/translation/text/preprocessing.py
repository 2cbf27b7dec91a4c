"""Turn a corpus into token files in three passes: clean, fit the tokenizers, encode.

Each pass streams: memory grows by some tens of bytes per pair, not by the size of the text. What a
pass has written is used again if a later one is interrupted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

from attnlab.errors import RequestError
from attnlab.records.files import read_json, write_json
from attnlab.records.growing_arrays import GrowingArrays
from attnlab.records.ragged import Ragged
from attnlab.records.worker_processes import in_order
from attnlab.tasks.declaration import Progress
from attnlab.tasks.translation.corpora.corpus import Corpus
from attnlab.tasks.translation.corpora.splitting import pairs_by_part
from attnlab.tasks.translation.corpora.text_files import PartFiles
from attnlab.tasks.translation.text.cleaned_text import (
    SIDES,
    CleanedPart,
    lines_between,
    lines_of,
    shorten,
    text_file,
    write_cleaned,
)
from attnlab.tasks.translation.text.token_files import Block, encoded, write_tokens
from attnlab.text.cleaning import cleaner
from attnlab.text.tokenizers import Tokenizer

STATISTICS = "statistics.json"
EXAMPLES = 100  # training pairs whose text is stored
MOST_FITTED = 1_000_000  # sentences per language from which a vocabulary is made
_CLEANED = "cleaned.json"  # the result of the first pass
_UNFINISHED = ".unfinished"  # in the names of files whose tokens are copied into others
_FEW = 3  # blocks that this process encodes faster than it starts others
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
    """Write the files of a tokenized corpus into a folder.

    The folder is empty, or has what an earlier call wrote before it was interrupted. The statistics
    are written after all tokens, so only the last steps are missing if both are there.

    Raises:
        RequestError: the corpus can't be read, has a part without pairs, or the settings are wrong.
        OSError: a file can't be written.
    """
    if not _has_tokens(folder):
        _write_tokens(folder, corpus, settings, seed, progress)
    for left in folder.glob(f"*{_UNFINISHED}*"):
        left.unlink()
    shorten(folder, "train", EXAMPLES)
    (folder / _CLEANED).unlink(missing_ok=True)


def _has_tokens(folder: Path) -> bool:
    """Return whether the statistics and all tokens are complete."""
    try:
        parts = read_json(folder / STATISTICS)["parts"]
        for name, side in product(parts, SIDES):
            Ragged.open(folder / f"{name}.{side}")
    except (RequestError, OSError, KeyError, ValueError):
        return False
    return True


def _write_tokens(
    folder: Path, corpus: Corpus, settings: TextSettings, seed: int, progress: Progress
) -> None:
    cleaned = _read_cleaned(folder) or _clean(folder, corpus, settings, seed, progress)
    parts = cleaned.parts
    sides = (SIDES,) if settings.shared_vocabulary else (SIDES[:1], SIDES[1:])
    fitted = [_fit(folder, parts["train"], each, settings, progress) for each in sides]
    tokenizers = dict(zip(SIDES, (fitted[0], fitted[-1]), strict=True))
    encoded = _encode_parts(folder, parts, tokenizers, settings.max_length, progress)
    statistics: dict[str, Any] = {
        "corpus": corpus.name,
        "languages": [corpus.source_language, corpus.target_language],
        "notes": cleaned.notes,
        "left_out": cleaned.left_out,
        "text": asdict(settings),
        "vocabulary": {side: tokenizer.size for side, tokenizer in tokenizers.items()},
        "fitted_on": min(parts["train"].pairs, MOST_FITTED),
        "parts": {name: {**part.counts, **encoded[name]} for name, part in parts.items()},
    }
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
    parts = write_cleaned(stream, lines, settings.clean, settings.lowercase, folder, _untold)
    pairs = sum(part.pairs for part in parts.values())
    if not pairs:
        raise RequestError(
            f"{files.source}, {files.target}: expected pairs that have words on both sides after "
            f"cleaning (task.clean={settings.clean}), got none in {lines:,} lines."
        )
    sides = dict(zip(SIDES, tokenizers, strict=True))
    encoded = _encode_parts(folder, parts, sides, settings.max_length, _untold)
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


def tokenizer_file(folder: Path, side: str) -> Path:
    """Return the path of a tokenizer; a shared one is under the name of the source."""
    return folder / f"{side}_tokenizer.json"


def evenly(items: Iterable[str], count: int, most: int) -> Iterator[str]:
    """Yield at most `most` of `count` items, spread evenly."""
    if count <= most:
        return iter(items)
    return (item for at, item in enumerate(items) if (at + 1) * most // count > at * most // count)


def _untold(done: int, total: int | None, what: str) -> None:
    """Report no progress, for work that is too short."""


class _Cleaned(NamedTuple):
    """The result of the first pass."""

    parts: dict[str, CleanedPart]
    notes: list[str]  # of the corpus
    left_out: dict[str, int]  # pairs by reason


def _clean(
    folder: Path, corpus: Corpus, settings: TextSettings, seed: int, progress: Progress
) -> _Cleaned:
    for path in folder.iterdir():  # of an earlier call that was interrupted here
        path.unlink()
    if not corpus.own_parts:
        progress(0, None, "dividing")
    cleaning = settings.clean, settings.lowercase
    total, stream = pairs_by_part(corpus, seed, cleaner(*cleaning))
    parts = write_cleaned(stream, total, *cleaning, folder, progress)
    if not all(part.pairs for part in parts.values()):
        counts = ", ".join(f"{part.pairs} in {name}" for name, part in parts.items())
        raise RequestError(
            f"data={corpus.name}: expected pairs in each part that have words on both sides "
            f"after cleaning (task.clean={settings.clean}), got {counts}."
        )
    cleaned = _Cleaned(parts, list(corpus.notes), dict(corpus.dropped))
    content = {name: part._asdict() for name, part in parts.items()}
    write_json(folder / _CLEANED, {**cleaned._asdict(), "parts": content})
    return cleaned


def _read_cleaned(folder: Path) -> _Cleaned | None:
    """Return what `_clean` wrote in an earlier call; None if it was interrupted."""
    try:
        content = read_json(folder / _CLEANED)
    except RequestError:
        return None
    parts = {name: CleanedPart(**part) for name, part in content.pop("parts").items()}
    for name, part in parts.items():
        for kind, blocks in part.blocks.items():
            path = text_file(folder, name, kind)
            if not path.exists() or path.stat().st_size != blocks[-1]:
                return None
    return _Cleaned(parts, **content)


def _fit(
    folder: Path,
    train: CleanedPart,
    sides: tuple[str, ...],
    settings: TextSettings,
    progress: Progress,
) -> Tokenizer:
    """Fit the tokenizer of one language, or of both, unless its file is there."""
    path = tokenizer_file(folder, sides[0])
    with suppress(RequestError):
        return Tokenizer.load(path)

    def sentences() -> Iterator[str]:
        for side in sides:
            lines = evenly(lines_of(text_file(folder, "train", side)), train.pairs, MOST_FITTED)
            for done, text in enumerate(lines):
                if done % _REPORT_EVERY == 0:
                    progress(done, min(train.pairs, MOST_FITTED), f"fitting on {side}")
                yield text

    tokenizer = Tokenizer.fit(
        sentences(),
        kind=settings.tokenizer,
        size=settings.vocabulary,
        min_count=settings.min_count,
        lowercase=settings.lowercase,
    )
    tokenizer.save(path)
    return tokenizer


def _encode_parts(
    folder: Path,
    parts: Mapping[str, CleanedPart],
    tokenizers: Mapping[str, Tokenizer],
    longest: int | None,
    progress: Progress,
) -> dict[str, dict[str, dict[str, float]]]:
    """Write all tokens; return the counts of each part and side."""
    done, total = 0, len(tokenizers) * sum(part.pairs for part in parts.values())
    progress(done, total, "encoding")
    counts: dict[str, dict[str, dict[str, float]]] = {name: {} for name in parts}
    for name, part in parts.items():
        for side, tokenizer in tokenizers.items():
            text, is_target = text_file(folder, name, side), side == "target"
            found = GrowingArrays(folder, f"{name}.{side}{_UNFINISHED}")
            done += found.counts["sentences"]
            encode: Callable[[tuple[int, int]], Block] = partial(
                _block, text=text, tokenizer=tokenizer, longest=longest, start=is_target
            )
            ends = [*pairwise(part.blocks[side])][found.blocks :]
            for _, block in in_order(encode, ends, alone=len(ends) <= _FEW):
                sentences = len(block.lengths)
                found.add(
                    {"tokens": block.tokens, "lengths": block.lengths},
                    sentences=sentences,
                    truncated=block.truncated,
                    unknown=block.unknown,
                )
                done += sentences
                progress(done, total, "encoding")
            counts[name][side] = write_tokens(found, folder / f"{name}.{side}", start=is_target)
    return counts


def _block(
    ends: tuple[int, int], text: Path, tokenizer: Tokenizer, longest: int | None, start: bool
) -> Block:
    """Return the tokens of the lines between two bytes of a text file."""
    return encoded(lines_between(text, *ends), tokenizer, longest, start=start)
