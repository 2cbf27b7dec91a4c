"""The user's own corpus: two files with equally many lines, or one tab-separated file."""

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

    Either `source` and `target` are two files whose lines translate each other, or `path` is a
    tab-separated file. Its first two columns are source and target, unless `columns` chooses
    others. Validation and test are shares of the pairs, or files of their own. If only one of them
    has files, the other is a share of train, the same for every seed.

    `links` is a file of gold word alignments in Pharaoh format, a line per pair. The prefixes
    `validation_` and `test_` name the files of those parts.
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
            raise RequestError(
                "data.columns: must be null with two files; it is for a tab-separated data.path."
            )
        self.set_files(files)

    def location(self, cache: Path) -> Path | None:
        """Return the first file of the corpus; None if no file is given."""
        given = self.source or self.path
        return Path(given).expanduser() if given else None

    def _given(self, part: str) -> dict[str, str | None]:
        """Return the files that the settings name for a part."""
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
