"""A tokenized corpus: prepared once, stored in a cache, mapped into memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attnlab.errors import RequestError, explained
from attnlab.records.prepared import checked_digest, prepared
from attnlab.records.ragged import Ragged
from attnlab.tasks.declaration import Progress
from attnlab.tasks.translation.corpora.corpus import Corpus
from attnlab.tasks.translation.corpora.text_files import PartFiles
from attnlab.tasks.translation.text.cleaned_text import SIDES, lines_of, text_file
from attnlab.tasks.translation.text.preprocessing import (
    STATISTICS,
    TextSettings,
    corpus_notes,
    encode_files,
    notes_on,
    preprocess,
    tokenizer_file,
)
from attnlab.text.tokenizers import Tokenizer

_FORMAT = 3


class TokenizedPart:
    """The tokenized pairs of one part.

    Attributes:
        folder: the folder of the files.
        name: the part's name.
        source: rows of tokens and END.
        target: rows of START, tokens and END.
        notes: sentences for the reader of its scores.

    Raises:
        OSError: a file can't be read.
        ValueError: a file isn't a NumPy array.
    """

    def __init__(self, folder: Path, name: str, notes: Sequence[str] = ()) -> None:
        self.folder, self.name, self.notes = folder, name, notes
        self.source, self.target = (Ragged.open(folder / f"{name}.{side}") for side in SIDES)

    def texts(self) -> tuple[list[str], list[str], list[str] | None]:
        """Return the cleaned sentences; of a corpus's `train` only the first 100.

        Returns:
            Sources, their translations, and gold links if the corpus has them.

        Raises:
            RequestError: the files are missing.
        """
        files = {kind: text_file(self.folder, self.name, kind) for kind in (*SIDES, "links")}
        try:
            source, target = (list(lines_of(files[side])) for side in SIDES)
            links = list(lines_of(files["links"])) if files["links"].exists() else None
        except OSError as error:
            raise RequestError(f"{self.folder}: damaged: {error.strerror}.") from error
        return source, target, links


class TokenizedCorpus:
    """A tokenized corpus in the cache.

    Attributes:
        folder: its folder in the cache.
        digest: SHA-256 of all its files.
        statistics: counts, lengths, duplicates and unknown words, JSON-ready.
        source_tokenizer: the tokenizer of the source language.
        target_tokenizer: that of the target language; the same object for a shared vocabulary.
        parts: the parts by name; one is `train`.

    Raises:
        RequestError: a file is missing or damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.digest = checked_digest(folder)
        try:
            self.statistics: dict[str, Any] = json.loads((folder / STATISTICS).read_bytes())
            self.source_tokenizer = Tokenizer.load(tokenizer_file(folder, "source"))
            shared = self.statistics["text"]["shared_vocabulary"]
            self.target_tokenizer = self.source_tokenizer
            if not shared:
                self.target_tokenizer = Tokenizer.load(tokenizer_file(folder, "target"))
            counted = self.statistics["parts"].items()
            most = self.statistics["text"]["max_length"]
            said = corpus_notes(self.statistics)
            self.parts = {
                name: TokenizedPart(folder, name, [*said, *notes_on(name, counts, most)])
                for name, counts in counted
            }
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise RequestError(f"{folder}: damaged: {error}.") from error


def tokenize_corpus(
    corpus: Corpus,
    settings: TextSettings,
    *,
    seed: int,
    cache: Path,
    progress: Progress | None = None,
) -> TokenizedCorpus:
    """Return a corpus in tokens: from the cache, or after reading and tokenizing it.

    The cache has a folder for each content, division and text settings; see `prepared`.
    Tokenizers are fitted on the training part only. The seed divides a corpus that has no parts of
    its own.

    Raises:
        RequestError: the corpus can't be read or is too small, a setting doesn't suit it, or the
            cache can't be written.
    """
    folder = Path(cache).expanduser() / "prepared" / f"{corpus.name}-{_key(corpus, settings, seed)}"

    def make(unfinished: Path) -> None:
        preprocess(unfinished, corpus, settings, seed, progress or (lambda *_: None))

    return prepared(folder, TokenizedCorpus, make, "the tokenized corpus")


@contextmanager
def tokenized_files(
    files: PartFiles, settings: TextSettings, tokenizers: Sequence[Tokenizer]
) -> Iterator[TokenizedPart]:
    """Tokenize the pairs of some files in a temporary folder, which the context deletes.

    Raises:
        RequestError: the files can't be read or have no pairs, or the disk is full.
    """
    with TemporaryDirectory(prefix="attnlab-") as temporary:
        folder = Path(temporary)
        with explained(f"{folder}: expected room for the tokens of {files.source.name}"):
            notes = encode_files(folder, "files", files, settings, tokenizers)
        yield TokenizedPart(folder, "files", notes)


def _key(corpus: Corpus, settings: TextSettings, seed: int) -> str:
    """Return a hash of everything that determines the content of the folder."""
    decisive = {
        **{"format": _FORMAT, "corpus": corpus.digest(), "text": asdict(settings)},
        "languages": [corpus.source_language, corpus.target_language],
        "seed": None if corpus.own_parts else seed,
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:16]
