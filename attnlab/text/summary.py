"""The sentences of a text that say most of it: those nearest to the centres of its sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.text.sentences import sentence_spans
from attnlab.text.words import split_words

_DIMENSIONS = 50  # of sentence vectors by TF-IDF
_SEED, _STARTS = 0, 10  # of k-means

# Sentences to vectors (N, W).
Encoder = Callable[[Sequence[str]], np.ndarray]


class Chosen(NamedTuple):
    """A sentence of a summary."""

    text: str
    start: int  # the place of its first character in the text
    end: int  # the place behind its last one
    number: int  # of the sentence in the text, from 0
    distance: float  # of its vector to the centre that it stands for
    sentences: int  # how many sentences the centre is the mean of


def summary(
    text: str, count: int, *, language: str = "en", encoder: Encoder | None = None
) -> list[Chosen]:
    """The `count` sentences nearest to the centres of k-means over all, in their order.

    Each centre is stood for by the nearest of its own sentences, so that they are all different.
    The same text always gives the same. Sentences that stand there twice count once.

    Source: Miller 2019 (arXiv 1906.04165), whose vectors are those of BERT. Difference: by default
    `tf_idf_vectors`.

    Args:
        text: what is summarized.
        count: sentences of the summary.
        language: code of the text's, for finding sentences.
        encoder: makes the vectors (N, W) of sentences.

    Raises:
        RequestError: the text has fewer different sentences.
    """
    spans = {
        text[start:end]: (start, end) for start, end in reversed(sentence_spans(text, language))
    }
    places = sorted(spans.values())
    if len(places) < count:
        raise RequestError(
            f"--sentences: expected at most the {len(places)} different sentences of the text, got "
            f"{count}."
        )
    sentences = [text[start:end] for start, end in places]
    vectors = (encoder or tf_idf_vectors)(sentences)
    found = []
    for number, distance, size in _nearest(np.asarray(vectors, np.float64), count):
        start, end = places[number]
        found.append(Chosen(text[start:end], start, end, number, distance, size))
    return found


def tf_idf_vectors(sentences: Sequence[str]) -> np.ndarray:
    """(N, W) vectors of length 1: truncated SVD of tf-idf (latent semantic analysis).

    Deerwester et al. 1990. Words are lower-cased and as `split_words` cuts them, punctuation left
    out; at most 50 dimensions, all of them where there are fewer words or sentences.
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
    """Number, distance and how many the centre is the mean of, in the order of the numbers.

    Where vectors are equal there may be fewer centres; then the first sentences that are left over
    fill up, each a centre of its own.
    """
    from sklearn.cluster import KMeans

    different = min(count, len(np.unique(vectors, axis=0)))
    model = KMeans(different, n_init=_STARTS, random_state=_SEED).fit(vectors)
    distances = np.linalg.norm(vectors - model.cluster_centers_[model.labels_], axis=1)
    found = {}
    for cluster in range(different):
        own = np.flatnonzero(model.labels_ == cluster)
        if len(own):
            best = int(own[distances[own].argmin()])
            found[best] = (best, float(distances[best]), len(own))
    for number in range(len(vectors)):
        if len(found) < count and number not in found:
            found[number] = (number, 0.0, 1)
    return [found[number] for number in sorted(found)]


def _words(sentence: str) -> list[str]:
    return [word for word in split_words(sentence.lower()) if any(map(str.isalnum, word))]
