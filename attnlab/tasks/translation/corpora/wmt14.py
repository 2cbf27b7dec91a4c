"""WMT14: 4.5 million pairs of English and German, with the news test sets."""

from __future__ import annotations

from dataclasses import dataclass

from attnlab.tasks.translation.corpora.published_pairs import PublishedPairs

URL = "https://nlp.stanford.edu/projects/nmt/data/wmt14.en-de"


@dataclass(kw_only=True, eq=False)
class Wmt14(PublishedPairs):
    """The training pairs of WMT14, tokenized by Stanford's NLP group, and news of other years.

    About 4.47 million pairs of Europarl v7, Common Crawl and News Commentary, 1.4 GB. newstest2013
    validates, newstest2014 tests. Compound words are divided by `##AT##-##AT##`. No digests of
    these files are published; the first download's are stored and later ones compared with them.

    Source: Luong et al. 2015 (arXiv 1508.04025), nlp.stanford.edu/projects/nmt.
    """

    name = "wmt14"
    origin = "nlp.stanford.edu/projects/nmt; cite Luong et al. 2015 (arXiv 1508.04025)"
    license = "research use; the texts are from the European Parliament, news and web pages"
    usual_url, validation_stem = URL, "newstest2013"

    url: str = URL
    test_set: str = "newstest2014"
