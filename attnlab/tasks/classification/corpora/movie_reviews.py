"""Film reviews, good and bad, by Pang and Lee."""

from __future__ import annotations

import re
from dataclasses import dataclass

from attnlab.tasks.classification.corpora.file_corpus import ArchiveCorpus

URL = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/movie_reviews.zip"


@dataclass(kw_only=True, eq=False)
class MovieReviews(ArchiveCorpus):
    """2,000 reviews from 2004 and before, 1,000 per class, `neg` and `pos`.

    The texts are long and lower-cased, with one sentence per line and spaces between words and
    punctuation marks. The corpus has no parts of its own. Papers report the mean of ten folds, so
    their numbers aren't comparable to those of a single test part.
    """

    name = "movie_reviews"
    origin = "Pang and Lee 2004 (arXiv cs/0409058), through nltk_data"
    license = "CC BY 4.0, as nltk_data has it; name Pang and Lee 2004"

    usual_url = URL
    known = "a41211ae685019137410268134db6a1a14428c89b671eb83056151a878539008"
    archive = "movie_reviews.zip"
    wanted = re.compile(r"(?:^|/)(?P<label>neg|pos)/[^/]+\.txt$")

    path: str | None = None
    url: str = URL
    limit: int | None = None
    validation: float = 0.1
    test: float = 0.1
