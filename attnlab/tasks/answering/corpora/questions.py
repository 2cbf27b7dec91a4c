"""Anybody's questions: JSON of SQuAD's form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attnlab.tasks.answering.corpora.file_corpus import FileCorpus, existing_file
from attnlab.tasks.answering.corpora.squad_file import read_questions
from attnlab.tasks.base import Progress


@dataclass(kw_only=True, eq=False)
class Questions(FileCorpus):
    """Questions in the user's own files of SQuAD's form.

    Validation and test are shares of the texts, or files of their own.
    """

    name = "questions"
    origin = "your own JSON file"
    license = "yours"
    needs = "data.path=FILE.json"

    path: str | None = None
    validation_path: str | None = None
    test_path: str | None = None
    limit: int | None = None
    validation: float = 0.1
    test: float = 0.1

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Read the files; see `Corpus.open`."""
        keys = {"train": "path", "validation": "validation_path", "test": "test_path"}
        what = "a JSON file of SQuAD's form"
        self.set_questions(
            {
                part: read_questions(
                    existing_file(getattr(self, key), f"data.{key}", what), f"data.{key}"
                )
                for part, key in keys.items()
                if getattr(self, key) or part == "train"
            }
        )

    def location(self, cache: Path) -> Path | None:
        """The file that was named."""
        return Path(self.path).expanduser() if self.path else None
