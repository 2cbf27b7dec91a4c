"""Turn the parts of a text, which may be larger than memory, into tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.data.corpus import digest_of
from attnlab.tasks.data.tokens import Tokens, TokenWriter, prepare_folder
from attnlab.tasks.kinds import Progress
from attnlab.tasks.language.corpora import Text
from attnlab.text.cleaning import normalize
from attnlab.text.reading import decode_text, sample_blocks
from attnlab.text.tokenizers import END, START, Tokenizer

_IN_MEMORY = 1 << 25  # bytes of text whose tokens are cheaper to make than to store
_BLOCK = 1 << 22  # bytes of a text that are encoded at once
_LONGEST = 1 << 16  # characters of a piece of a line
_EMPTY_LINES = re.compile(r"\n[^\S\n]*\n\s*")
_FORMAT = 3
_TOKENIZER = "tokenizer.json"

TokenRows = Sequence[Sequence[int] | np.ndarray]


def tokenize(
    corpus: Text,
    settings: Any,
    fit: Callable[[], Tokenizer],
    encode: Callable[[Tokenizer, str], TokenRows],
    cache: Path,
    progress: Progress | None,
) -> tuple[Tokenizer, dict[str, Tokens]]:
    """Fit a tokenizer on a text and encode all parts; tokens of a long text are in the cache.

    Args:
        corpus: an opened corpus.
        settings: what determines the tokens, JSON-ready.
        fit: fits the tokenizer.
        encode: returns the rows of a block of lines.
        cache: the folder of downloads.
        progress: gets the number of bytes read, and of all.
    """
    total = sum(map(len, corpus.parts.values()))
    digest = corpus.digest()

    def make(folder: Path) -> None:
        tokenizer, done = fit(), 0
        tokenizer.save(folder / _TOKENIZER)
        for part in corpus.parts:
            with TokenWriter(folder / part, tokenizer.size) as writer:
                for block in decode_blocks(corpus, part):
                    writer.add(encode(tokenizer, block))
                    done += len(block)
                    if progress:
                        progress(min(done, total), total, "encoding")
        if total > _IN_MEMORY and corpus.digest() != digest:
            raise RequestError(f"data={corpus.name}: a file changed while it was read. Try again.")

    def read(folder: Path) -> tuple[Tokenizer, dict[str, Tokens]]:
        parts = {part: Tokens.open(folder / part) for part in corpus.parts}
        return Tokenizer.load(folder / _TOKENIZER), parts

    if total > _IN_MEMORY:
        name = f"{corpus.name}-{digest_of([_FORMAT, digest, settings])[:16]}"
        folder = cache / "prepared" / name
        prepare_folder(folder, make, "the tokens")
        return read(folder)
    with TemporaryDirectory() as temporary:
        make(Path(temporary))
        tokenizer, parts = read(Path(temporary))
        return tokenizer, {p: Tokens(np.array(t.tokens), t.offsets) for p, t in parts.items()}


def decode_blocks(corpus: Text, part: str) -> Iterator[str]:
    """Yield a part in blocks of about 4 MB, which end with a line break or before a space."""
    where = f"data.path: {corpus.path}" if corpus.path else f"data={corpus.name}"
    line = 1
    for block in corpus.parts[part].blocks(_BLOCK, _BLOCK):
        yield decode_text(block, f"{where}, {part}", first_line=line)
        line += block.count(b"\n")


def blocks_to_fit(corpus: Text) -> Iterator[str]:
    """Yield the blocks of train on which a tokenizer is fitted: of a long text, 200 MB in all."""
    return sample_blocks(decode_blocks(corpus, "train"), len(corpus.parts["train"]))


# Streams


def lines_of(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a text with their ends, long ones in pieces, and whether it is the end.

    The second and each later piece of a line starts at a space, which no token crosses.
    """
    for line in text.splitlines(keepends=True):
        start = 0
        while len(line) - start > _LONGEST and (end := line.find(" ", start + _LONGEST)) > 0:
            yield line[start:end], False
            start = end
        yield line[start:], True


def fit_stream(corpus: Text, kind: str, size: int, min_count: int) -> Tokenizer:
    """Fit a tokenizer on a text, whose line breaks are tokens, too."""
    lines = (line for text in blocks_to_fit(corpus) for line, _ in lines_of(text))
    return Tokenizer.fit(lines, kind=kind, size=size, min_count=min_count)


def encode_stream(tokenizer: Tokenizer, block: str) -> TokenRows:
    """Return the ids of a block of text, in rows of any length."""
    if tokenizer.kind == "char":
        characters = sorted({*block})
        ids = np.zeros(ord(characters[-1]) + 1, np.int32)
        ids[[*map(ord, characters)]] = tokenizer.encode_on(["".join(characters)])[0]
        return [ids[np.frombuffer(block.encode("utf-32-le"), np.uint32)]]
    pieces, is_end = zip(*lines_of(block), strict=True)
    if tokenizer.kind == "word":
        rows = tokenizer.encode(pieces)
        return [[*row, END] if end else row for row, end in zip(rows, is_end, strict=True)]
    return tokenizer.encode_on(pieces)


# Documents


def documents_of(text: str, by_line: bool) -> Iterator[str]:
    """Yield the documents of a text: its lines, or what is between empty lines."""
    for document in text.split("\n") if by_line else _EMPTY_LINES.split(text):
        for piece, _ in lines_of(normalize(document)):
            yield piece


def encode_documents(tokenizer: Tokenizer, texts: Sequence[str], most: int) -> TokenRows:
    """Return rows of at most `most` ids, START and END included; a long document has several."""
    rows = []
    for ids in tokenizer.encode(texts):
        pieces = (ids[at : at + most - 2] for at in range(0, len(ids), most - 2))
        rows += [[START, *piece, END] for piece in pieces]
    return rows
