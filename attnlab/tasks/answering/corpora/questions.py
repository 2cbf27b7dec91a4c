"""The user's own questions: JSON files in SQuAD's format."""

from __future__ import annotations

from dataclasses import dataclass

from attnlab.tasks.answering.corpora.corpus import Asked, Corpus
from attnlab.tasks.answering.corpora.squad_file import existing_file, read_questions
from attnlab.tasks.declaration import Progress
from attnlab.tasks.text_corpus import OwnFiles


@dataclass(kw_only=True, eq=False)
class Questions(OwnFiles, Corpus):
    """Questions in the user's own files in SQuAD's format.

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

    def _items(self, path: str | None, key: str, progress: Progress | None) -> list[Asked]:
        return read_questions(existing_file(path, key, "a JSON file of SQuAD's form"), key)
