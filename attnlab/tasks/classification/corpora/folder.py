"""Anybody's texts, a file each: a folder for each class."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from attnlab.errors import RequestError
from attnlab.tasks.base import Progress
from attnlab.tasks.classification.corpora.corpus import Corpus, Labelled
from attnlab.tasks.classification.corpora.text_files import read_texts
from attnlab.tasks.text_corpus import OwnFiles

_WANTED = re.compile(r"^(?P<label>[^/]+)/.+\.txt$", re.IGNORECASE)


@dataclass(kw_only=True, eq=False)
class Folder(OwnFiles, Corpus):
    """Texts in the user's own files: `path/CLASS/NAME.txt`, or deeper, UTF-8.

    Validation and test are shares of them, or folders of their own that are laid out alike.
    """

    name = "folder"
    origin = "your own files, a folder for each class"
    license = "yours"
    needs = "data.path=FOLDER"

    path: str | None = None
    validation_path: str | None = None
    test_path: str | None = None
    limit: int | None = None
    validation: float = 0.1
    test: float = 0.1

    def _items(self, path: str | None, key: str, progress: Progress | None) -> list[Labelled]:
        folder = Path(path).expanduser() if path else None
        if not (folder and folder.is_dir()):
            raise RequestError(
                f"{key}: expected a folder with one for each class, got {path or 'null'}."
            )
        found = read_texts(folder, _WANTED, progress)
        if not found:
            raise RequestError(
                f"{key}: expected a folder for each class with .txt files, got {path}, which has "
                "none."
            )
        return found["train"]
