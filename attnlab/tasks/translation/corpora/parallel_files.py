"""Anybody's corpus: two files that go line by line, or one with a tab between the languages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attnlab.errors import RequestError
from attnlab.records.files import existing_file
from attnlab.tasks.declaration import Progress
from attnlab.tasks.translation.corpora.file_corpus import PARTS, FileCorpus
from attnlab.tasks.translation.corpora.text_files import PartFiles


@dataclass(kw_only=True, eq=False)
class ParallelFiles(FileCorpus):
    """Sentence pairs from the user's own files, plain or with `.gz`, UTF-8.

    Either `source` and `target` are two files of which each line is the translation of the other's
    same line, or `path` is one file with tabs between its columns, the first two being source and
    target unless `columns` chooses others. Validation and test are shares of it, or files of their
    own; if only one of the two has files, the other is a share of train, the same for every seed.

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
    columns: list[int] | None = None
    limit: int | None = None
    validation: float = 0.1
    test: float = 0.1
    split: str = "source"
    reverse: bool = False

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the files; see `Corpus.open`."""
        parts = [part for part in PARTS if part == "train" or any(self._given(part).values())]
        files = {part: self._located(part) for part in parts}
        if self.columns is not None and all(paths.target for paths in files.values()):
            raise RequestError("data.columns: expected null beside two files, got a list.")
        self.set_files(files)

    def location(self, cache: Path) -> Path | None:
        """Where the corpus lies; None where no file is given."""
        given = self.source or self.path
        return Path(given).expanduser() if given else None

    def _given(self, part: str) -> dict[str, str | None]:
        """The files that the settings name for a part."""
        prefix = "" if part == "train" else f"{part}_"
        return {key: getattr(self, prefix + key) for key in ("source", "target", "path", "links")}

    def _located(self, part: str) -> PartFiles:
        prefix = "data." if part == "train" else f"data.{part}_"
        files = {key: file for key, file in self._given(part).items() if file}
        given = files.keys() - {"links"}
        if given not in ({"source", "target"}, {"path"}):
            names = ", ".join(f"{prefix}{key}" for key in files if key in given) or "none"
            raise RequestError(
                f"{prefix}source, {prefix}target: expected two files, or one with tabs as "
                f"{prefix}path, got {names}."
            )
        found = {key: existing_file(file, f"{prefix}{key}") for key, file in files.items()}
        first = found.get("source") or found["path"]
        return PartFiles(first, found.get("target"), found.get("links"))
