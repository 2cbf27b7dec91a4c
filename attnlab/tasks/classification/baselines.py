"""Baselines of classification without neural networks."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.text.words import split_words

if TYPE_CHECKING:
    from attnlab.tasks.classification.data import LabelledData

MOST_TEXTS, MOST_IMAGES = 20_000, 10_000  # training items that a regression is fitted on
_MOST_WORDS = 20_000
_TOLERANCE = 1e-3  # of a regression


def baselines(data: LabelledData, part: str) -> dict[str, np.ndarray]:
    """Return each baseline's probabilities (N, C) for the items of a part, by its name.

    `majority` predicts the shares of the classes in train. `word_counts`, for texts, is a logistic
    regression on tf-idf, which sees whole texts, in lower case if the model does.
    `logistic_regression`, for images, sees pixels from 0 to 1. Of more than 20,000 training texts
    or 10,000 images, a regression gets as many, drawn at random.
    """
    train, items, classes = data.parts["train"], data.parts[part], len(data.classes)
    shares = np.bincount(train.labels, minlength=classes) / len(train)
    most = MOST_TEXTS if data.noun == "text" else MOST_IMAGES
    rows = np.arange(len(train))
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
    if data.noun == "text":
        name, steps = "word_counts", 1_000
        texts = [train.names[row] for row in rows.tolist()]
        memory, queries = tf_idf(texts, items.names, lowercase=data.lowercase)
    else:
        name, steps = "logistic_regression", 200
        memory, queries = (
            pixels.reshape(len(pixels), -1).astype(np.float32) / 255
            for pixels in (train.inputs[rows], items.inputs)
        )
    majority = np.tile(shares, (len(items), 1))
    fitted = logistic_regression(memory, queries, train.labels[rows], classes, steps)
    return {"majority": majority, name: majority if fitted is None else fitted}


def logistic_regression(
    train: Any, items: Any, labels: np.ndarray, classes: int, steps: int
) -> np.ndarray | None:
    """Predict by the softmax of a linear function of the features: (N, C).

    This is scikit-learn's, with its default L2 regularisation, C = 1. A class without training
    items has the probability 0.

    Args:
        train: (M, F) features of the training items, dense or sparse.
        items: (N, F).
        labels: (M,) classes of the training items.
        classes: C.
        steps: the largest number of steps.

    Returns:
        None if train has only one class, or there are no features.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    if not train.shape[1] or len(np.unique(labels)) < 2:
        return None
    model = LogisticRegression(max_iter=steps, tol=_TOLERANCE)
    with warnings.catch_warnings():  # one that hasn't converged is a baseline, too
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(train, labels)
    shares = np.zeros((items.shape[0], classes))
    shares[:, model.classes_] = model.predict_proba(items)
    return shares


def tf_idf(train: Any, items: Any, *, lowercase: bool = True) -> tuple[Any, Any]:
    """Return scikit-learn's tf-idf as sparse rows (M, words) and (N, words) of length 1.

    A word's weight is its count in the text times ln((1 + M) / (1 + texts with the word)) + 1.
    Words are those of `split_words`, including punctuation marks; only the 20,000 most frequent
    ones are used.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(
        analyzer=(lambda text: split_words(text.lower())) if lowercase else split_words,
        max_features=_MOST_WORDS,
    )
    return vectorizer.fit_transform(train), vectorizer.transform(items)
