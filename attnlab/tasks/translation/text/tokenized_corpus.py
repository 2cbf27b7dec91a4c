"""A tokenized corpus: prepared once, stored in a cache, mapped into memory."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attnlab.errors import RequestError, explained
from attnlab.records.files import write_json
from attnlab.tasks.declaration import Progress
from attnlab.tasks.translation.corpora.corpus import Corpus
from attnlab.tasks.translation.corpora.text_files import PartFiles
from attnlab.tasks.translation.text.preprocessing import (
    SIDES,
    STATISTICS,
    TextSettings,
    corpus_notes,
    encode_files,
    lines_of,
    notes_on,
    preprocess,
    text_file,
    tokenizer_file,
)
from attnlab.tasks.translation.text.token_files import Ragged
from attnlab.text.tokenizers import Tokenizer

_FORMAT = 2
_LIST = "files.json"
_ABANDONED = 24 * 3600.0  # seconds after which a temporary folder is no longer in use
log = logging.getLogger(__name__)


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
        self.digest = _checked(folder)
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

    The cache has a folder for each content, division and text settings. One process at a time
    writes a folder; a damaged folder is written again. Tokenizers are fitted on the training part
    only. The seed divides a corpus that has no parts of its own.

    Raises:
        RequestError: the corpus can't be read or is too small, a setting doesn't suit it, or the
            cache can't be written.
    """
    import filelock

    root = Path(cache).expanduser() / "prepared"
    folder = root / f"{corpus.name}-{_key(corpus, settings, seed)}"
    try:
        return TokenizedCorpus(folder)
    except RequestError as error:
        if folder.exists():
            log.warning("%s It is made again.", error)
    try:
        root.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(root / f".{folder.name}.lock"):
            with suppress(RequestError):  # another process may have written it meanwhile
                return TokenizedCorpus(folder)
            with _temporary(folder) as temporary:
                preprocess(temporary, corpus, settings, seed, progress or (lambda *_: None))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise RequestError(
            f"paths.data: the tokenized corpus can't be written to {root}: {reason}."
        ) from error
    return TokenizedCorpus(folder)


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


@contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """Yield a new folder that replaces `folder` at the end, unless the body raises."""
    for left in folder.parent.glob(".tmp-*"):  # left by processes that were killed
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED:
                shutil.rmtree(left, ignore_errors=True)
    temporary = folder.with_name(f".tmp-{os.getpid()}-{folder.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        files = {path.name: _digest(path) for path in sorted(temporary.iterdir())}
        write_json(temporary / _LIST, {"format": _FORMAT, "files": files})
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _checked(folder: Path) -> str:
    """Return the digest of a folder's files; refuse one that differs from its recorded digest."""
    try:
        listed = json.loads((folder / _LIST).read_bytes())
        for name, digest in listed["files"].items():
            if _digest(folder / name) != digest:
                raise RequestError(f"{folder / name}: damaged.")
        return hashlib.sha256(json.dumps(listed, sort_keys=True).encode()).hexdigest()
    except RequestError:
        raise
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise RequestError(f"{folder}: damaged: {error}.") from error


def _digest(path: Path) -> str:
    state = hashlib.sha256()
    with open(path, "rb") as stream:
        while chunk := stream.read(1 << 20):
            state.update(chunk)
    return state.hexdigest()
