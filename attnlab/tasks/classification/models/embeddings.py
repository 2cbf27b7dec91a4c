"""A mean of embeddings that classifies."""

from __future__ import annotations

from attnlab.tasks.classification.models.classifier import Classifier, mean_of

_SPREAD = 0.1  # a mean of many words, each of which counts by itself


class EmbeddingsClassifier(Classifier):
    """The mean of a text's embeddings, and one output: the order of words counts for nothing.

    Source: Joulin et al. 2017 (arXiv 1607.01759), fastText's classifier. Difference: no pairs of
    words. The settings are those of `Classifier`.
    """

    def __init__(self, **kwargs) -> None:
        super().__init__(spread=_SPREAD, **kwargs)

    def _build_features(self, vectors_shape: tuple) -> int:
        return vectors_shape[-1]

    def _features(self, vectors, real, training) -> tuple:
        return mean_of(vectors, real), None
