"""The Large Movie Review Dataset: reviews from IMDb, good and bad."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from attnlab.errors import RequestError
from attnlab.tasks.classification.corpora.corpus import Labelled
from attnlab.tasks.classification.corpora.file_corpus import ArchiveCorpus
from attnlab.tasks.declaration import Progress

URL = "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"
_LINE_BREAK = re.compile(r"\s*<br\s*/?>\s*")


@dataclass(kw_only=True, eq=False)
class Imdb(ArchiveCorpus):
    """50,000 reviews of films, `neg` and `pos`, half for the test; the halves share no film.

    Source: Maas et al. 2011, ACL. Differences: validation is held out from train, `<br />` becomes
    a line break, and the 50,000 reviews without a class are not read.
    """

    name = "imdb"
    origin = "Maas et al. 2011 (ACL), ai.stanford.edu/~amaas/data/sentiment"
    license = "for research; the reviews come from IMDb; cite Maas et al. 2011"

    usual_url = URL
    known = "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe"
    archive = "aclImdb_v1.tar.gz"
    wanted = re.compile(r"(?:^|/)(?P<part>train|test)/(?P<label>neg|pos)/[^/]+\.txt$")
    own_parts = ("train", "test")

    path: str | None = None
    url: str = URL
    limit: int | None = None
    validation: float = 0.1

    def _texts(self, place: Path, progress: Progress | None) -> dict[str, list[Labelled]]:
        found = super()._texts(place, progress)
        if "test" not in found:
            raise RequestError(f"{place}: expected train and test of {self.name}, got no test.")
        return {
            part: [each._replace(text=_LINE_BREAK.sub("\n", each.text)) for each in texts]
            for part, texts in found.items()
        }
