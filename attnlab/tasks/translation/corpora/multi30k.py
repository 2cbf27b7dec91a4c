"""Multi30k: descriptions of pictures in English and German."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from attnlab.errors import RequestError
from attnlab.tasks.declaration import Progress
from attnlab.tasks.downloads import cache_folder, fetch
from attnlab.tasks.translation.corpora.file_corpus import FileCorpus
from attnlab.tasks.translation.corpora.text_files import PartFiles, check_gzip

_COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
URL = f"https://raw.githubusercontent.com/multi30k/dataset/{_COMMIT}/data/task1/raw"
KNOWN = {
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
}
_STAND_IN = "val"


@dataclass(kw_only=True, eq=False)
class Multi30k(FileCorpus):
    """29,000 descriptions of pictures, translated by people, with their own division.

    If the test sets aren't available, `test_set="val"` tests on the validation part instead. Then
    as many pairs of `train` are held out for validation, all pairs with one source together;
    `notes` says so.
    """

    name = "multi30k"
    origin = "github.com/multi30k/dataset, task 1; cite Elliott et al. 2016 (arXiv 1605.00459)"
    license = "research use; the pictures' descriptions come from Flickr30k"
    fetchable = True

    own_parts = ("train", "validation", "test")
    path: str | None = None
    url: str = URL
    test_set: str = "test_2016_flickr"
    limit: int | None = None
    reverse: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.url = self.url.rstrip("/")

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the files, or download them if no folder is given; see `Corpus.open`."""
        folder = self._folder(cache, progress)
        train, test = _required(folder, "train"), _required(folder, self.test_set)
        if self.test_set != _STAND_IN:
            validation = _required(folder, "val")
            self.set_files({"train": train, "validation": validation, "test": test})
            return
        self.set_files({"train": train, "test": test})
        self.held_out_pairs = self.lines["test"]
        self.notes = (
            f"The test part is val, and about {self.held_out_pairs:,} pairs of train are held out "
            "for validation.",
        )

    def test_files(self, name: str, cache: Path, progress: Progress | None = None) -> PartFiles:
        """Return the files of another test set; see `Corpus.test_files`."""
        folder = replace(self, test_set=name)._folder(cache, progress)
        return _required(folder, name, ("de", "en") if self.reverse else ("en", "de"))

    def location(self, cache: Path) -> Path | None:
        """Return the folder of the corpus; None if it isn't downloaded yet."""
        folder = cache_folder(cache, self.name, self.url, URL)
        fetched = all((folder / name).is_file() for name in self._names())
        return super().location(cache) or (folder if fetched else None)

    def _folder(self, cache: Path, progress: Progress | None) -> Path:
        """Return the folder of the files; download them if no folder is given."""
        if not self.path:
            return self._download(cache, progress)
        folder = Path(self.path).expanduser()
        if not folder.is_dir():
            raise RequestError(f"data.path: expected a folder with Multi30k, got {self.path}.")
        return folder

    def _download(self, cache: Path, progress: Progress | None) -> Path:
        folder = cache_folder(cache, self.name, self.url, URL)
        for name in self._names():
            known = KNOWN.get(name) if self.url == URL else None
            url = f"{self.url}/{name}"
            fetch(url, folder, name, known=known, check=check_gzip, progress=progress)
        return folder

    def _names(self) -> list[str]:
        stems = dict.fromkeys(["train", "val", self.test_set])
        return [f"{stem}.{language}.gz" for stem in stems for language in ("en", "de")]


def _required(folder: Path, stem: str, sides: tuple[str, str] = ("en", "de")) -> PartFiles:
    """Return the two files of a part, the source first."""
    source, target = (
        next(filter(Path.is_file, [folder / f"{stem}.{side}", folder / f"{stem}.{side}.gz"]), None)
        for side in sides
    )
    if not (source and target):
        instead = (
            f" data.test_set={_STAND_IN} needs no test set." if stem.startswith("test_") else ""
        )
        raise RequestError(
            f"{folder}: expected {stem}.en and {stem}.de, plain or with .gz; one or both are "
            f"missing.{instead}"
        )
    return PartFiles(source, target)
