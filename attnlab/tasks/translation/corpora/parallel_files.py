"""Anybody's corpus: two files that go line by line, or one with a tab between the languages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attnlab.errors import RequestError
from attnlab.tasks.base import Progress
from attnlab.tasks.translation.corpora.file_corpus import (
    PARTS,
    FileCorpus,
    PartFiles,
    existing_file,
)


@dataclass(kw_only=True, eq=False)
class ParallelFiles(FileCorpus):
    """Sentence pairs from the user's own files, plain or with `.gz`, UTF-8.

    Either `source` and `target` are two files of which each line is the translation of the other's
    same line, or `path` is one file of lines with a tab between source and target. Validation and
    test are shares of it, or files of their own; where only one of the two has files, the other is
    a share of train, the same for every seed.

    `links` are gold word alignments in Pharaoh format, a line for each line. Settings with
    `validation_` or `test_` before them are the files of that part.
    """

    name = "files"
    origin = "your own files"
    license = "yours"
    needs = "data.source=FILE data.target=FILE"

    source: str | None = None
    target: str | None = None
    path: str | None = None
    links: str | None = None
    validation_source: str | None = None
    validation_target: str | None = None
    validation_path: str | None = None
    validation_links: str | None = None
    test_source: str | None = None
    test_target: str | None = None
    test_path: str | None = None
    test_links: str | None = None
    source_language: str = "en"
    target_language: str = "de"
    limit: int | None = None
    validation: float = 0.1
    test: float = 0.1
    split: str = "source"
    reverse: bool = False

    def _given(self, part: str) -> list[str | None]:
        """The files that the settings name for a part: source, target, path, links."""
        prefix = "" if part == "train" else f"{part}_"
        return [getattr(self, prefix + key) for key in ("source", "target", "path", "links")]

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the files; see `Corpus.open`."""
        parts = [part for part in PARTS if part == "train" or any(self._given(part))]
        self.set_files({part: _located(part, *self._given(part)) for part in parts})

    def location(self, cache: Path) -> Path | None:
        """Where the corpus lies; None where no file is given."""
        given = self.source or self.path
        return Path(given).expanduser() if given else None


def _located(
    part: str, source: str | None, target: str | None, path: str | None, links: str | None
) -> PartFiles:
    prefix = "data." if part == "train" else f"data.{part}_"
    if bool(path) == bool(source or target) or bool(source) != bool(target):
        names = {"source": source, "target": target, "path": path}
        given = ", ".join(f"{prefix}{key}" for key, value in names.items() if value) or "none"
        raise RequestError(
            f"{prefix}source, {prefix}target: expected two files, or one with tabs as "
            f"{prefix}path, got {given}."
        )
    alignment = existing_file(links, f"{prefix}links") if links else None
    if path:
        return PartFiles(existing_file(path, f"{prefix}path"), None, alignment)
    return PartFiles(
        existing_file(str(source), f"{prefix}source"),
        existing_file(str(target), f"{prefix}target"),
        alignment,
    )
