"""A corpus in tokens: prepared once, kept in a cache, mapped into memory."""

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
_ABANDONED = 24 * 3600.0  # seconds after which nobody works in a temporary folder any more
log = logging.getLogger(__name__)


class TokenizedPart:
    """One part's pairs, in a folder.

    Attributes:
        folder: where they are.
        name: the part's name.
        source: rows of tokens and END.
        target: rows of START, tokens and END.
        notes: what the reader of its scores should know, one sentence each.

    Raises:
        OSError: a file can't be read.
        ValueError: a file is no array.
    """

    def __init__(self, folder: Path, name: str, notes: Sequence[str] = ()) -> None:
        self.folder, self.name, self.notes = folder, name, notes
        self.source, self.target = (Ragged.open(folder / f"{name}.{side}") for side in SIDES)

    def texts(self) -> tuple[list[str], list[str], list[str] | None]:
        """The sentences, cleaned; of a corpus's `train` only the first 100.

        Returns:
            Sources, their translations, and gold links where the corpus has them.

        Raises:
            RequestError: the files are gone.
        """
        files = {kind: text_file(self.folder, self.name, kind) for kind in (*SIDES, "links")}
        try:
            source, target = (list(lines_of(files[side])) for side in SIDES)
            links = list(lines_of(files["links"])) if files["links"].exists() else None
        except OSError as error:
            raise RequestError(f"{self.folder}: damaged: {error.strerror}.") from error
        return source, target, links


class TokenizedCorpus:
    """A corpus cut into tokens.

    Attributes:
        folder: where it is kept.
        digest: SHA-256 of all of it.
        statistics: counts, lengths, duplicates and unknown words, JSON-ready.
        source_tokenizer: cuts the source language.
        target_tokenizer: cuts the target language; the same object for a shared vocabulary.
        parts: the parts by name, `train` among them.

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
    """A corpus in tokens; the first time it is read and cut, then it is found in the cache.

    The cache has a folder for each content, division and treatment of the text, filled by one
    process at a time; a damaged one is made again. Tokenizers are fitted on the training part
    alone. The seed divides a corpus that has no parts of its own.

    Raises:
        RequestError: the corpus can't be read or is too small, a setting can't be met, or the cache
            can't be written.
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
            with suppress(RequestError):  # while this one waited, another process may have made it
                return TokenizedCorpus(folder)
            with _temporary(folder) as temporary:
                preprocess(temporary, corpus, settings, seed, progress or (lambda *_: None))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise RequestError(
            f"{root}: expected to write a prepared corpus, but: {reason}."
        ) from error
    return TokenizedCorpus(folder)


@contextmanager
def tokenized_files(
    files: PartFiles, settings: TextSettings, tokenizers: Sequence[Tokenizer]
) -> Iterator[TokenizedPart]:
    """The pairs of some files, cut by a source's and a target's tokenizer, as long as needed.

    Raises:
        RequestError: the files can't be read or have no pairs, or there is no room.
    """
    with TemporaryDirectory(prefix="attnlab-") as temporary:
        folder = Path(temporary)
        with explained(f"{folder}: expected room for the tokens of {files.source.name}"):
            notes = encode_files(folder, "files", files, settings, tokenizers)
        yield TokenizedPart(folder, "files", notes)


def _key(corpus: Corpus, settings: TextSettings, seed: int) -> str:
    """Changes with everything that decides what is in the folder."""
    decisive = {
        **{"format": _FORMAT, "corpus": corpus.digest(), "text": asdict(settings)},
        "languages": [corpus.source_language, corpus.target_language],
        "seed": None if corpus.own_parts else seed,
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:16]


@contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """A new folder that takes the place of `folder` when it is whole; not if the body raises."""
    for left in folder.parent.glob(".tmp-*"):  # by processes that were killed long ago
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
    """The digest of a folder's files, each compared with what was written down."""
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
