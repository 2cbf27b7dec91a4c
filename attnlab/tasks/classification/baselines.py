"""Classes by rules that need no network: what any attention has to be better than."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.text.words import split_words

if TYPE_CHECKING:
    from attnlab.tasks.classification.part import TextPart

MOST_TEXTS = 20_000  # training texts that are searched and fitted
_MOST_WORDS = 20_000
_MOST_STEPS = 1_000  # of the logistic regression on words
_TOLERANCE = 1e-3  # of any
_CHUNK = 1_024  # texts compared with all training texts at once
_MOST_KNOWN = 8

# What was found for the same items before, by their digest: runs of one process share their data.
_known: dict[str, dict[str, np.ndarray]] = {}


def baselines(
    train: TextPart, asked: TextPart, classes: int, *, lowercase: bool = True
) -> dict[str, np.ndarray]:
    """Probabilities (N, C) of the texts of a part, by the name of the baseline.

    They see the texts as they were read, of which a model may be given the beginning alone; with
    `lowercase` in lower case, as the model does. Of more than 20,000 training texts `word_counts`
    and `nearest` get that many, drawn at random; the same texts give the same numbers.
    """
    key = _digest(train, asked, classes, lowercase)
    return remembered(key, lambda: _computed(train, asked, classes, lowercase))


def remembered(key: str, computed: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """What is computed, or what was computed for the same key before."""
    if key not in _known:
        while len(_known) >= _MOST_KNOWN:
            del _known[next(iter(_known))]
        _known[key] = computed()
    return _known[key]


def drawn(count: int, most: int) -> np.ndarray:
    """The training items, by number, that `nearest` and the fitted one get of so many."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))


def majority(labels: np.ndarray, count: int, classes: int) -> np.ndarray:
    """The shares of the classes in train, for every text: (N, C)."""
    shares = np.bincount(labels, minlength=classes) / len(labels)
    return np.tile(shares, (count, 1))


def word_counts(
    memory: Any, labels: np.ndarray, queries: Any, classes: int, fallback: np.ndarray
) -> np.ndarray:
    """`logistic_regression` on tf-idf of words, the order of which it doesn't see: (N, C).

    Where train has one class alone, or no word, `fallback` (N, C).

    Args:
        memory: (M, words) sparse, the training texts.
        labels: (M,) their classes.
        queries: (N, words) sparse.
        classes: how many there are.
        fallback: (N, C) probabilities, see above.
    """
    return logistic_regression(memory, labels, queries, classes, _MOST_STEPS, fallback)


def logistic_regression(
    memory: Any, labels: np.ndarray, queries: Any, classes: int, steps: int, fallback: np.ndarray
) -> np.ndarray:
    """Softmax of a linear function of what is known of items: (N, C).

    scikit-learn's with its default of L2 regularisation, C = 1. A class without a training item has
    the probability 0.

    Args:
        memory: (M, F) the training items, dense or sparse.
        labels: (M,) their classes.
        queries: (N, F).
        classes: how many there are.
        steps: at most so many.
        fallback: (N, C) probabilities where items have one class alone, or nothing is known.
    """
    if not memory.shape[1] or len(np.unique(labels)) < 2:
        return fallback
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=steps, tol=_TOLERANCE)
    with warnings.catch_warnings():  # one that isn't quite done is a baseline, too
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(memory, labels)
    found = np.zeros((queries.shape[0], classes))
    found[:, model.classes_] = model.predict_proba(queries)
    return found


def nearest(
    memory: Any, labels: np.ndarray, queries: Any, classes: int, fallback: np.ndarray
) -> np.ndarray:
    """The class of the training text whose tf-idf has the largest cosine, the first of equals.

    Its probability is (1 + 1 / C) / 2, that of the others 1 / 2C: the one text that was found
    beside one that is of all classes to equal parts. Where no word is known, `fallback` (N, C).
    Arguments as of `word_counts`.
    """
    if not memory.shape[1]:
        return fallback
    found = np.full((queries.shape[0], classes), 0.5 / classes)
    for start in range(0, len(found), _CHUNK):
        similar = queries[start : start + _CHUNK] @ memory.T
        rows = np.arange(start, start + similar.shape[0])
        best = np.asarray(similar.argmax(axis=1)).ravel()
        found[rows, labels[best]] += 0.5
        alone = similar.max(axis=1).toarray().ravel() <= 0
        found[rows[alone]] = fallback[rows[alone]]
    return found


def tf_idf(
    train: Sequence[str], asked: Sequence[str], *, lowercase: bool = True
) -> tuple[Any, Any]:
    """Sparse rows (M, words) and (N, words) of length 1: scikit-learn's tf-idf.

    A word's weight is how often it stands in the text times ln((1 + M) / (1 + texts with it)) + 1.
    Words are as `split_words` cuts them, punctuation marks among them; the 20,000 most frequent
    ones count.
    """
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(
        analyzer=_words if lowercase else split_words, max_features=_MOST_WORDS
    )
    if not any(map(str.strip, train)):  # scikit-learn takes no empty vocabulary
        return csr_matrix((len(train), 0)), csr_matrix((len(asked), 0))
    return vectorizer.fit_transform(train), vectorizer.transform(asked)


def _words(text: str) -> list[str]:
    return split_words(text.lower())


def _computed(
    train: TextPart, asked: TextPart, classes: int, lowercase: bool
) -> dict[str, np.ndarray]:
    rows = drawn(len(train), MOST_TEXTS)
    memory, queries = tf_idf([train.texts[row] for row in rows], asked.texts, lowercase=lowercase)
    shares = majority(train.labels, len(asked), classes)
    given = memory, train.labels[rows], queries, classes, shares
    return {
        "majority": shares,
        "word_counts": word_counts(*given),
        "nearest": nearest(*given),
    }


def _digest(train: TextPart, asked: TextPart, classes: int, lowercase: bool) -> str:
    """SHA-256 of all that the baselines depend on."""
    digest = hashlib.sha256(f"{classes} {len(train)} {MOST_TEXTS} {lowercase}".encode())
    for text in (*train.texts, *asked.texts):
        content = text.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little") + content)
    digest.update(np.asarray(train.labels, np.int64).tobytes())
    return digest.hexdigest()
