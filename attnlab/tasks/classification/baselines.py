"""Baselines of text classification without neural networks."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.text.words import split_words

if TYPE_CHECKING:
    from attnlab.tasks.classification.part import TextPart

MOST_TEXTS = 20_000  # training texts that `nearest` searches and `word_counts` is fitted on
_MOST_WORDS = 20_000
_MOST_STEPS = 1_000  # of the logistic regression on words
_TOLERANCE = 1e-3  # of every logistic regression
_CHUNK = 1_024  # texts compared with all training texts at once
_MOST_KNOWN = 8

# A cache of results by the digest of the items, because the runs of a process share their data.
_known: dict[str, dict[str, np.ndarray]] = {}


def baselines(
    train: TextPart, asked: TextPart, classes: int, *, lowercase: bool = True
) -> dict[str, np.ndarray]:
    """Return each baseline's probabilities (N, C) for the texts of a part, by its name.

    Baselines see whole texts, although a model may see only the start of a text. `lowercase` says
    whether they see them in lower case, as the model does. Of more than 20,000 training texts,
    `word_counts` and `nearest` get 20,000, drawn at random. Equal texts give equal numbers.
    """
    key = _digest(train, asked, classes, lowercase)
    return remembered(key, lambda: _computed(train, asked, classes, lowercase))


def remembered(key: str, computed: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the cached result for a key, or compute it."""
    if key not in _known:
        while len(_known) >= _MOST_KNOWN:
            del _known[next(iter(_known))]
        _known[key] = computed()
    return _known[key]


def drawn(count: int, most: int) -> np.ndarray:
    """Return the numbers of the training items that `nearest` and the fitted baseline get."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))


def majority(labels: np.ndarray, count: int, classes: int) -> np.ndarray:
    """Predict the shares of the classes in train for every text: (N, C)."""
    shares = np.bincount(labels, minlength=classes) / len(labels)
    return np.tile(shares, (count, 1))


def word_counts(
    memory: Any, labels: np.ndarray, queries: Any, classes: int, fallback: np.ndarray
) -> np.ndarray:
    """Predict by logistic regression on the tf-idf of words, without their order: (N, C).

    Args:
        memory: (M, words) sparse, the training texts.
        labels: (M,) their classes.
        queries: (N, words) sparse.
        classes: the number of classes.
        fallback: (N, C), returned if train has only one class, or no word.
    """
    return logistic_regression(memory, labels, queries, classes, _MOST_STEPS, fallback)


def logistic_regression(
    memory: Any, labels: np.ndarray, queries: Any, classes: int, steps: int, fallback: np.ndarray
) -> np.ndarray:
    """Predict by the softmax of a linear function of the features: (N, C).

    This is scikit-learn's, with its default L2 regularisation, C = 1. A class without training
    items has the probability 0.

    Args:
        memory: (M, F) features of the training items, dense or sparse.
        labels: (M,) their classes.
        queries: (N, F).
        classes: the number of classes.
        steps: the largest number of steps.
        fallback: (N, C), returned if train has only one class, or there are no features.
    """
    if not memory.shape[1] or len(np.unique(labels)) < 2:
        return fallback
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=steps, tol=_TOLERANCE)
    with warnings.catch_warnings():  # one that hasn't converged is a baseline, too
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(memory, labels)
    found = np.zeros((queries.shape[0], classes))
    found[:, model.classes_] = model.predict_proba(queries)
    return found


def nearest(
    memory: Any, labels: np.ndarray, queries: Any, classes: int, fallback: np.ndarray
) -> np.ndarray:
    """Predict the class of the training text whose tf-idf has the largest cosine.

    The first of equally similar texts counts. Its class has the probability (1 + 1 / C) / 2, the
    others 1 / 2C: the mean of this text and a uniform distribution. A text without a known word
    gets its row of `fallback` (N, C).
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
    """Return scikit-learn's tf-idf as sparse rows (M, words) and (N, words) of length 1.

    A word's weight is its count in the text times ln((1 + M) / (1 + texts with the word)) + 1.
    Words are those of `split_words`, including punctuation marks; only the 20,000 most frequent
    ones are used.
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
    """Return a SHA-256 of everything that the baselines depend on."""
    digest = hashlib.sha256(f"{classes} {len(train)} {MOST_TEXTS} {lowercase}".encode())
    for text in (*train.texts, *asked.texts):
        content = text.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little") + content)
    digest.update(np.asarray(train.labels, np.int64).tobytes())
    return digest.hexdigest()
