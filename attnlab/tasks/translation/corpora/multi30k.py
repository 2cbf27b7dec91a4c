"""Multi30k: descriptions of pictures in English and German."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attnlab.tasks.declaration import Progress
from attnlab.tasks.translation.corpora.published_pairs import PublishedPairs
from attnlab.tasks.translation.corpora.text_files import check_gzip

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
_STOOD_IN = {"train": "train", "test": _STAND_IN}


@dataclass(kw_only=True, eq=False)
class Multi30k(PublishedPairs):
    """29,000 descriptions of pictures, translated by people, with their own division.

    If the test sets aren't available, `test_set="val"` tests on the validation part instead. Then
    as many pairs of `train` are held out for validation, all pairs with one source together;
    `notes` says so.
    """

    name = "multi30k"
    origin = "github.com/multi30k/dataset, task 1; cite Elliott et al. 2016 (arXiv 1605.00459)"
    license = "research use; the pictures' descriptions come from Flickr30k"
    usual_url, known = URL, KNOWN
    validation_stem, ending = "val", ".gz"

    url: str = URL
    test_set: str = "test_2016_flickr"

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the files, or download them if no folder is given; see `Corpus.open`."""
        if self.test_set != _STAND_IN:
            super().open(cache, progress)
            return
        folder = self._folder(cache, progress)
        self.set_files({part: self._required(folder, stem) for part, stem in _STOOD_IN.items()})
        self.held_out_pairs = self.lines["test"]
        self.notes = (
            f"The test part is val, and about {self.held_out_pairs:,} pairs of train are held out "
            "for validation.",
        )

    def _check(self, path: Path) -> None:
        check_gzip(path)

    def _instead(self, stem: str) -> str:
        is_test = stem.startswith("test_")
        return f" data.test_set={_STAND_IN} needs no test set." if is_test else ""
