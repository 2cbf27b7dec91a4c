"""How a corpus's text is treated before a model sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attnlab.tasks.translation.text.cleaning import cleaner


@dataclass(frozen=True)
class TextSettings:
    """How sentences are cleaned and cut.

    Attributes:
        tokenizer: `word`, `char` or `bpe`.
        vocabulary: most entries of a vocabulary, the four special ones included; None takes all
            words or characters, and 8,000 of `bpe`.
        shared_vocabulary: one vocabulary for both languages.
        min_count: rarer words are unknown.
        lowercase: whether everything is lower-cased.
        clean: `none`, or `book` as the seed book has its pairs.
        max_length: most tokens of a sentence, without its START and END; the end of longer ones is
            cut off. None: no limit.
    """

    tokenizer: str = "word"
    vocabulary: int | None = None
    shared_vocabulary: bool = False
    min_count: int = 1
    lowercase: bool = False
    clean: str = "none"
    max_length: int | None = None

    def cleaner(self) -> Callable[[str], str]:
        """The function from a sentence as it was read to the text that tokenizers see."""
        return cleaner(self.clean, self.lowercase)
