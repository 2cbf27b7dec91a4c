"""SQuAD: questions that crowd workers wrote about paragraphs of Wikipedia."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from attnlab.errors import RequestError
from attnlab.tasks.answering.corpora.corpus import Corpus
from attnlab.tasks.answering.corpora.squad_file import existing_file, read_questions
from attnlab.tasks.declaration import Progress
from attnlab.tasks.downloads import cache_folder, fetch
from attnlab.tasks.text_corpus import ReadCorpus

URL = "https://rajpurkar.github.io/SQuAD-explorer/dataset"
# SHA-256 of the files at that address: version -> part -> digest.
KNOWN = {
    1.1: {
        "train": "3527663986b8295af4f7fcdff1ba1ff3f72d07d61a20f487cb238a6ef92fd955",
        "test": "95aa6a52d5d6a735563366753ca50492a658031da74f301ac5238b03966972c9",
    },
    2.0: {
        "train": "68dcfbb971bd3e96d5b46c7177b16c1a4e7d4bdef19fb204502738552dede002",
        "test": "80a5225e94905956a6446d296ca1093975c4d3b3260f1d6c8f68bc2ab77182d8",
    },
}
_NAMES = {"train": "train", "test": "dev"}  # part -> the file's first word


@dataclass(kw_only=True, eq=False)
class Squad(ReadCorpus, Corpus):
    """The Stanford Question Answering Dataset, version 1.1 or 2.0.

    107,785 questions about 536 articles (Rajpurkar et al. 2016, arXiv 1606.05250); 2.0 adds 53,775
    whose text has no answer (Rajpurkar et al. 2018, arXiv 1806.03822). Differences: the test part
    is the published development part, because SQuAD's own test part was never published; validation
    is held out from train by texts.
    """

    name = "squad"
    origin = "Rajpurkar et al. 2016 and 2018 (arXiv 1606.05250, 1806.03822)"
    license = "CC BY-SA 4.0; texts from Wikipedia"
    fetchable = True

    version: float = 1.1
    path: str | None = None
    url: str = URL
    limit: int | None = None
    validation: float = 0.1

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the two files, or download them if no folder is given; see `Corpus.open`."""
        files = self._given() if self.path else self._fetched(cache, progress)
        key = "data.path" if self.path else "data.url"
        self.set_items({part: read_questions(file, key) for part, file in files.items()})

    def location(self, cache: Path) -> Path | None:
        """Return the folder of the files; None if they aren't downloaded yet."""
        if self.path:
            return Path(self.path).expanduser()
        folder = cache_folder(cache, self.name, self.url, URL)
        there = all((folder / self._name(part)).is_file() for part in _NAMES)
        return folder if there else None

    def _name(self, part: str) -> str:
        return f"{_NAMES[part]}-v{self.version:.1f}.json"

    def _given(self) -> Mapping[str, Path]:
        folder = Path(str(self.path)).expanduser()
        if not folder.is_dir():
            names = " and ".join(map(self._name, _NAMES))
            raise RequestError(f"data.path: expected a folder with {names}, got {self.path}.")
        return {
            part: existing_file(str(folder / self._name(part)), "data.path", self._name(part))
            for part in _NAMES
        }

    def _fetched(self, cache: Path, progress: Progress | None) -> Mapping[str, Path]:
        folder = cache_folder(cache, self.name, self.url, URL)
        known = KNOWN[self.version] if self.url == URL else {}
        get = partial(fetch, folder=folder, progress=progress)
        return {
            part: get(
                f"{self.url}/{self._name(part)}", name=self._name(part), known=known.get(part)
            )
            for part in _NAMES
        }
