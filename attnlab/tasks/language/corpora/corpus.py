"""Corpora of rows, such as recall: only the answers in a row are scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from attnlab.tasks.text_corpus import NamedCorpus, digest_of


class Rows(NamedTuple):
    """N rows of T tokens; a model reads `tokens` up to a place and predicts the target there.

    Shorter rows are padded at the end with any token. Rows of different parts may have different
    lengths T.
    """

    tokens: np.ndarray  # (N, T) int32
    targets: np.ndarray  # (N, T) int32, the token to predict; any token where it is not scored
    scored: np.ndarray  # (N, T) bool, at least one place per row


class RowCorpus(NamedCorpus):
    """A generated task; a subclass defines `rows`, `symbols` and `_content`.

    A subclass takes exactly the settings of `conf/data/NAME.yaml` as keyword arguments, a `seed`
    of its own among them: the run's seed doesn't change the rows.
    """

    license: ClassVar[str] = "Apache-2.0, as attnlab"

    @property
    def symbols(self) -> Sequence[str]:
        """Return the name of each token, without spaces; a model has as many tokens."""
        raise NotImplementedError

    @property
    def chance(self) -> float | None:
        """Return the accuracy of guessing by the task's rule, such as 1/K; None: the usual token's.

        It is the baseline `guess`.
        """
        return None

    def rows(self, part: str) -> Rows:
        """Return the rows of `train`, `validation` or `test`, the same ones in every call.

        Raises:
            RequestError: the settings allow no such rows.
        """
        raise NotImplementedError

    def lengths(self, rows: Rows) -> np.ndarray | None:
        """Return the length (N,) of each row by which results are reported; None: by none.

        Rows of test that are longer than all of train are reported apart.
        """
        return None

    def digest(self) -> str:
        """Return a SHA-256 of every setting that determines the rows."""
        return digest_of({"name": self.name, "content": self._content()})

    def _content(self) -> Any:
        """Return the version of the generator and all settings, JSON-ready."""
        raise NotImplementedError
