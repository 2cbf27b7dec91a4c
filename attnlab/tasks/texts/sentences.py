"""The corpus `sentences`: the right sentences of the grammar of `data=agreement`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from attnlab.tasks.text_corpus import PARTS
from attnlab.tasks.texts.corpus import Corpus
from attnlab.text.agreement import HELD_OUT, VERSION, held_out, natural


class Sentences(Corpus):
    """English sentences in which the verb agrees with its subject; needs no file.

    They come from the grammar of `data=agreement`. With equal `data.seed`, the training part has no
    sentence of the validation and test parts of `data=agreement`. So a run on this corpus can be
    the encoder of a classifier there, and its test stays fair. Each sentence is a document.

    Args:
        sentences: the number of training sentences; the 500 for validation and the 500 for the test
            don't depend on it.
        seed: draws the sentences; the run's seed doesn't change them.
    """

    name = "sentences"
    origin = "a grammar of this project, after Linzen et al. 2016 (arXiv 1611.01368)"
    license = "Apache-2.0, as attnlab"
    own_parts = PARTS

    def __init__(self, *, sentences: int = 20_000, seed: int = 0) -> None:
        self.size, self.seed = sentences, seed

    def _read(self, part: str) -> Iterator[Sequence[str]]:
        others = held_out(self.seed)
        if part == "train":
            found = natural(self.seed, {twins for _, twins in others})
            return ([twins.right] for twins in itertools.islice(found, self.size))
        first = HELD_OUT // 2 if part == "test" else 0
        return ([twins.right] for _, twins in others[first : first + HELD_OUT // 2])

    def _content(self) -> Any:
        return {"version": VERSION, "sentences": self.size, "seed": self.seed}
