"""The user's own texts: a file per text, a folder per class."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attnlab.errors import RequestError, explained
from attnlab.tasks.classification.corpora.class_folders import (
    ClassFiles,
    find_files,
)
from attnlab.tasks.classification.corpora.corpus import Corpus, Labelled
from attnlab.tasks.classification.corpora.text_files import checked_text
from attnlab.tasks.declaration import Progress
from attnlab.tasks.text_corpus import ReadCorpus, shown
from attnlab.text.reading import LONGEST_TEXT, decoded, is_text_name, too_long

_REPORT_EVERY = 256


@dataclass(kw_only=True, eq=False)
class Folder(ReadCorpus, Corpus):
    """Texts in the user's own files: `path/CLASS/NAME.txt`, or deeper, UTF-8.

    Parts may have folders of their own: `path/train/CLASS/NAME.txt` and so on, or other folders
    with a folder per class, `validation_path` and `test_path`. A part without one is a share of
    train. See `find_files` for the folders, `is_text_name` for the files.
    """

    name = "folder"
    origin = "your own files, a folder for each class"
    license = "yours"
    needs = "data.path=FOLDER"

    path: str | None = None
    validation_path: str | None = None
    test_path: str | None = None
    allow_empty: bool = False
    limit: int | None = None
    validation: float = 0.1
    test: float = 0.1

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Read the files; see `Corpus.open`."""
        found = self._find(self.path, "data.path")
        parts = {part: self._texts(found, part, self.path, progress) for part in found.parts}
        notes = [*found.notes]
        given = {"validation": self.validation_path, "test": self.test_path}
        for part, path in given.items():
            if path is None:
                continue
            key = f"data.{part}_path"
            if part in parts:
                raise RequestError(f"{key}: must be null, because data.path has a part {part}.")
            own = self._find(path, key)
            if own.is_divided:
                raise RequestError(
                    f"{key}: expected a folder with a folder per class, got {path}, which is "
                    "divided into parts."
                )
            parts[part] = self._texts(own, "train", path, progress)
            notes += own.notes
        self.notes = tuple(notes)
        self.set_items(parts)

    def _find(self, path: str | None, key: str) -> ClassFiles:
        if not path:
            raise RequestError(f"{key}: expected a folder with a folder per class, got null.")
        folder = Path(path).expanduser()
        return find_files(folder, key, "text", is_text_name, allow_empty=self.allow_empty)

    def _texts(
        self, found: ClassFiles, part: str, path: str | None, progress: Progress | None
    ) -> list[Labelled]:
        folder, texts = Path(str(path)).expanduser(), []
        for done, (label, file) in enumerate(found.by_turns(part), 1):
            texts.append(Labelled(_read(file, str(folder / shown(file, folder))), label))
            if progress and done % _REPORT_EVERY == 0:
                progress(done, None, folder.name)
        return texts


def _read(path: Path, where: str) -> str:
    """Read the text of a file; raise `RequestError` if it is too long, empty or not UTF-8."""
    with explained(f"{where} can't be read"):
        if (size := path.stat().st_size) > LONGEST_TEXT:
            raise too_long(where, size)
        raw = path.read_bytes()
    return checked_text(decoded(raw, where), where)
