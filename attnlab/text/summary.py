"""Summarize a text with the sentences nearest to the centres of clusters of its sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.text.words import sentence_spans, split_words

_DIMENSIONS = 50  # of sentence vectors by TF-IDF
_SEED, _STARTS = 0, 10  # of k-means

# Maps sentences to vectors (N, W).
Encoder = Callable[[Sequence[str]], np.ndarray]


class Chosen(NamedTuple):
    """A sentence of a summary."""

    text: str
    start: int  # position of its first character in the text
    end: int  # position after its last character
    number: int  # number of the sentence in the text, from 0
    distance: float  # distance of its vector from the centre of its cluster
    sentences: int  # number of sentences in the cluster


def summary(
    text: str, count: int, *, language: str = "en", encoder: Encoder | None = None
) -> list[Chosen]:
    """Return the sentences nearest to the centres of `count` k-means clusters, in their order.

    Each cluster contributes its own sentence nearest to the centre, so all sentences differ. Equal
    texts give equal summaries. Repeated sentences count once.

    Source: Miller 2019 (arXiv 1906.04165), whose vectors are those of BERT. Difference: by default
    `tf_idf_vectors`.

    Args:
        text: the text to summarize.
        count: the number of sentences of the summary.
        language: the code of the text's language, for finding sentences.
        encoder: computes vectors (N, W) of sentences.

    Raises:
        RequestError: the text has fewer different sentences.
    """
    spans = {
        text[start:end]: (start, end) for start, end in reversed(sentence_spans(text, language))
    }
    places = sorted(spans.values())
    if len(places) < count:
        raise RequestError(
            f"--sentences={count}: must be at most {len(places)}, the number of different "
            "sentences of the text."
        )
    sentences = [text[start:end] for start, end in places]
    vectors = (encoder or tf_idf_vectors)(sentences)
    chosen = []
    for number, distance, size in _nearest(np.asarray(vectors, np.float64), count):
        start, end = places[number]
        chosen.append(Chosen(text[start:end], start, end, number, distance, size))
    return chosen


def tf_idf_vectors(sentences: Sequence[str]) -> np.ndarray:
    """Return vectors (N, W) of length 1: the truncated SVD of tf-idf (latent semantic analysis).

    Deerwester et al. 1990. Words are those of `split_words`, lower-cased and without punctuation.
    W is at most 50; with at most 50 words or sentences the vectors are the tf-idf itself.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    weights = TfidfVectorizer(analyzer=_words).fit_transform(sentences)
    if min(weights.shape) <= _DIMENSIONS:
        return weights.toarray()
    svd = TruncatedSVD(_DIMENSIONS, random_state=_SEED)
    return normalize(svd.fit_transform(weights))


def _nearest(vectors: np.ndarray, count: int) -> list[tuple[int, float, int]]:
    """Return number, distance and cluster size of each chosen sentence, ordered by number.

    If vectors are equal there may be fewer than `count` clusters; then the first sentences not
    chosen are added, each as a cluster of its own.
    """
    from sklearn.cluster import KMeans

    different = min(count, len(np.unique(vectors, axis=0)))
    model = KMeans(different, n_init=_STARTS, random_state=_SEED).fit(vectors)
    distances = np.linalg.norm(vectors - model.cluster_centers_[model.labels_], axis=1)
    chosen = {}
    for cluster in range(different):
        members = np.flatnonzero(model.labels_ == cluster)
        if len(members):
            best = int(members[distances[members].argmin()])
            chosen[best] = (best, float(distances[best]), len(members))
    for number in range(len(vectors)):
        if len(chosen) < count and number not in chosen:
            chosen[number] = (number, 0.0, 1)
    return [chosen[number] for number in sorted(chosen)]


def _words(sentence: str) -> list[str]:
    return [word for word in split_words(sentence.lower()) if any(map(str.isalnum, word))]
