"""Tatoeba's English-German sentence pairs, as manythings.org gives them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attnlab.records.files import existing_file
from attnlab.tasks.declaration import Progress
from attnlab.tasks.downloads import cache_folder, fetch
from attnlab.tasks.translation.corpora.file_corpus import FileCorpus
from attnlab.tasks.translation.corpora.text_files import PartFiles, check_zip

URL = "https://www.manythings.org/anki/deu-eng.zip"


@dataclass(kw_only=True, eq=False)
class Tatoeba(FileCorpus):
    """Short sentences of everyday language with their translations, sorted by length.

    A line is English, a tab, German and, in newer files, a tab and the attribution, which is not
    read. `columns` chooses other columns, for exports of tatoeba.org. A sentence often has several
    translations.
    """

    name = "tatoeba"
    origin = "Tatoeba project (tatoeba.org), through manythings.org/anki"
    license = "CC-BY 2.0 FR; name tatoeba.org and manythings.org/anki as the source"
    fetchable = True

    path: str | None = None
    url: str = URL
    columns: list[int] | None = None
    limit: int | None = None
    validation: float = 0.1
    test: float = 0.1
    split: str = "source"
    reverse: bool = False

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the file, or download it if no path is given; see `Corpus.open`."""
        if self.path:
            file = existing_file(self.path, "data.path")
        else:
            folder = cache_folder(cache, self.name, self.url, URL)
            file = fetch(self.url, folder, "deu-eng.zip", check=check_zip, progress=progress)
        self.set_files({"train": PartFiles(file)})

    def location(self, cache: Path) -> Path | None:
        """Return the file of the corpus; None if it isn't downloaded yet."""
        file = cache_folder(cache, self.name, self.url, URL) / "deu-eng.zip"
        return super().location(cache) or (file if file.is_file() else None)
