"""Baselines of classification without neural networks."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.text.words import split_words

if TYPE_CHECKING:
    from attnlab.tasks.classification.data import LabelledData

MOST_TEXTS, MOST_IMAGES = 20_000, 10_000  # training items that the regression is fitted on
_MOST_WORDS = 20_000
_TOLERANCE = 1e-3


def baselines(data: LabelledData, part: str) -> dict[str, np.ndarray]:
    """Return each baseline's probabilities (N, C) for the items of a part, by its name.

    `majority` predicts the shares of the classes in train. The other one is scikit-learn's logistic
    regression with its default L2 regularisation, C = 1:

    - `word_counts`, for texts, on tf-idf of whole texts, in lower case if the model reads them so.
      A word's weight is its count times ln((1 + M) / (1 + texts with the word)) + 1, for M training
      texts. Words are those of `split_words`; only the 20,000 most frequent ones are used.
    - `logistic_regression`, for images, on pixels from 0 to 1.

    Of more than 20,000 training texts or 10,000 images it gets as many, drawn at random. A class
    that isn't among them has the probability 0; if there is only one class, the shares are
    predicted.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    train, items, classes = data.parts["train"], data.parts[part], len(data.classes)
    shares = np.tile(np.bincount(train.labels, minlength=classes) / len(train), (len(items), 1))
    is_text = data.noun == "text"
    name, most, steps = "logistic_regression", MOST_IMAGES, 200
    if is_text:
        name, most, steps = "word_counts", MOST_TEXTS, 1_000
    rows = np.arange(len(train))
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
    if len(np.unique(train.labels[rows])) < 2:
        return {"majority": shares, name: shares}
    memory: Any
    queries: Any
    if is_text:

        def words(text: str) -> list[str]:
            return split_words(text.lower() if data.lowercase else text)

        vectorizer = TfidfVectorizer(analyzer=words, max_features=_MOST_WORDS)
        memory = vectorizer.fit_transform([train.names[row] for row in rows.tolist()])
        queries = vectorizer.transform(items.names)
    else:
        memory, queries = (
            pixels.reshape(len(pixels), -1).astype(np.float32) / 255
            for pixels in (train.inputs[rows], items.inputs)
        )
    model = LogisticRegression(max_iter=steps, tol=_TOLERANCE)
    with warnings.catch_warnings():  # one that hasn't converged is a baseline, too
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(memory, train.labels[rows])
    fitted = np.zeros((len(items), classes))
    fitted[:, model.classes_] = model.predict_proba(queries)
    return {"majority": shares, name: fitted}
