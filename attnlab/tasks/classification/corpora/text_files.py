"""Read texts, one per file, from folders or archives; messages name the file.

Archives are read as streams and never extracted, so no name in an archive can choose where a file
is written.
"""

from __future__ import annotations

import itertools
import re
import tarfile
import unicodedata
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from attnlab.errors import RequestError
from attnlab.tasks.classification.corpora.corpus import Labelled
from attnlab.tasks.declaration import Progress
from attnlab.tasks.downloads import read_to_end
from attnlab.text.reading import LONGEST_TEXT, decoded, is_hidden, is_utf8, too_long

_REPORT_EVERY = 256


def read_texts(
    path: Path, wanted: re.Pattern[str], progress: Progress | None = None
) -> dict[str, list[Labelled]]:
    """Read the texts of each part from a folder, or from a zip or tar archive.

    Classes alternate, so that the first texts contain all classes; within a class, texts are in the
    order of the files' names. `wanted` matches file names relative to `path`, with `/` between
    folders. Its group `label` is the class; its group `part`, if it has one, is the part, else
    `train`.

    Raises:
        RequestError: a file can't be read, is empty, too long, or not UTF-8 text, or the name of a
            class isn't UTF-8.
    """
    found: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for done, (name, raw) in enumerate(_files(path, wanted)):
        if not (match := wanted.search(name)):
            continue
        part = match.groupdict().get("part", "train")
        if not is_utf8(match["label"]):
            raise RequestError(f"{path}: expected names of classes in UTF-8, got {name!a}.")
        where = str(path / name) if path.is_dir() else f"{path}: {name}"
        found[part][match["label"]][name] = checked_text(decoded(raw, where), where)
        if progress and done % _REPORT_EVERY == 0:
            progress(done, None, path.name)
    return {part: _by_turns(classes) for part, classes in found.items()}


def _by_turns(classes: Mapping[str, Mapping[str, str]]) -> list[Labelled]:
    """Return the first text of each class, then the second of each, and so on."""
    columns: list[Sequence[Labelled]] = [
        [Labelled(text, label) for _, text in sorted(texts.items())]
        for label, texts in sorted(classes.items())
    ]
    return [each for row in itertools.zip_longest(*columns) for each in row if each]


def checked_text(text: str, where: str) -> str:
    """Return a text in NFC, stripped; raise `RequestError` if it is empty or too long."""
    text = unicodedata.normalize("NFC", text).strip()
    if not text:
        raise RequestError(f"{where}: expected a text, got an empty one.")
    if len(text) > LONGEST_TEXT:
        raise too_long(where, len(text))
    return text


def _files(path: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file that `wanted` matches."""
    try:
        if path.is_dir():
            found = _in_folder(path, wanted)
        elif zipfile.is_zipfile(path):
            found = _in_zip(path, wanted)
        elif tarfile.is_tarfile(path):
            found = _in_tar(path, wanted)
        else:
            raise RequestError(f"{path}: expected a zip or tar archive, got something else.")
        yield from found
    except (zipfile.BadZipFile, tarfile.TarError, NotImplementedError, EOFError) as error:
        raise RequestError(f"{path}: can't be unpacked: {error}.") from error
    except (OSError, RuntimeError, zlib.error) as error:  # RuntimeError: a zip with a password
        reason = getattr(error, "strerror", None) or str(error)
        raise RequestError(f"{path}: can't be read: {reason}.") from error


def _in_folder(path: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    for file in path.rglob("*"):
        name = file.relative_to(path).as_posix()
        if _counts(name, wanted) and file.is_file():
            _check_size(str(file), file.stat().st_size)
            yield name, file.read_bytes()


def _in_zip(path: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if _counts(info.filename, wanted) and not info.is_dir():
                _check_size(f"{path}: {info.filename}", info.file_size)
                yield info.filename, archive.read(info)


def _in_tar(path: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path, "r:*") as archive:
        for member in archive:
            if _counts(member.name, wanted) and member.isreg():
                _check_size(f"{path}: {member.name}", member.size)
                if stream := archive.extractfile(member):
                    yield member.name, stream.read()
        read_to_end(archive)


def _counts(name: str, wanted: re.Pattern[str]) -> bool:
    return not is_hidden(PurePosixPath(name)) and wanted.search(name) is not None


def _check_size(where: str, size: int) -> None:
    if size > LONGEST_TEXT:
        raise too_long(where, size)
