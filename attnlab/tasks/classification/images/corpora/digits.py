"""The handwritten digits of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.classification.images.corpora.image_corpus import ImageCorpus, numbered
from attnlab.tasks.declaration import Progress

_LARGEST = 16  # of scikit-learn's grey levels


@dataclass(kw_only=True, eq=False)
class Digits(ImageCorpus):
    """1,797 handwritten digits of 8 x 8 grey pixels; nothing is downloaded.

    Source: Alpaydin and Kaynak 1998, the test part of "Optical Recognition of Handwritten Digits"
    (UCI), as in `sklearn.datasets.load_digits`: 13 writers. The data don't say who wrote which
    digit, so train and test share writers: results hold for the handwriting of known writers.

    The test part is that of `train_test_split(test_size=test, stratify=y, random_state=seed)`; the
    run's seed doesn't change it.
    """

    name = "digits"
    origin = "Alpaydin and Kaynak 1998 (UCI), through scikit-learn"
    license = "CC BY 4.0; name Alpaydin and Kaynak 1998"
    shape = (8, 8, 1)

    limit: int | None = None
    validation: float = 0.1
    test: float = 0.2
    seed: int = 0

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Load the images from scikit-learn; see `Corpus.open`."""
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split

        found = load_digits()
        # Scale 0 to 16 to 0 to 255.
        pixels = np.rint(found.images[..., None] * (255 / _LARGEST)).astype(np.uint8)
        images = numbered("digit", pixels, found.target, [str(digit) for digit in range(10)])
        try:
            train, test = train_test_split(
                np.arange(len(images)),
                test_size=self.test,
                stratify=found.target,
                random_state=self.seed,
            )
        except ValueError as error:
            raise RequestError(
                f"data.test={self.test:g}: must leave images of each digit for training and for "
                "the test."
            ) from error
        rows = {"train": np.sort(train), "test": np.sort(test)}
        self.set_items({part: [images[row] for row in own] for part, own in rows.items()})
