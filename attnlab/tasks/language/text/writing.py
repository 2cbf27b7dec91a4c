"""Turn tokens into text one by one, up to a stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnlab.tasks.language.text.vocabulary import Vocabulary

_WINDOW = 32  # tokens before a new one that can change how it is written
_LONGEST = 4  # tokens of one byte that a character has at most
_INCOMPLETE = "\ufffd"


class Writer:
    """Writes the continuation of a prompt as it grows.

    A character of several tokens is written with the last one. What might be the beginning of a
    stop is held back until that is decided.

    Args:
        vocabulary: converts tokens to text.
        prompt: the tokens before; with words, they decide whether a space follows.
        stops: texts that end the continuation, none of them empty; none of them is written.

    Attributes:
        text: what is written so far.
        tokens: the tokens so far, also those of a stop.
        stopped: whether a stop has been found; further tokens are ignored then.
    """

    def __init__(
        self, vocabulary: Vocabulary, prompt: Sequence[int], stops: Sequence[str] = ()
    ) -> None:
        self._vocabulary, self._stops = vocabulary, stops
        self._window, self._new = list(prompt[-_WINDOW:]), list[int]()
        self._held = ""  # decoded, not yet written
        self.text, self.tokens, self.stopped = "", list[int](), False

    def add(self, token: int) -> str:
        """Add a token and return the text that can be written now."""
        if self.stopped:
            return ""
        self.tokens.append(token)
        self._new.append(token)
        before, after = (self._vocabulary.decode(each) for each in (self._window, self._known))
        if after.endswith(_INCOMPLETE) and len(self._new) < _LONGEST:
            return ""
        self._held += after[len(before) :]
        self._window, self._new = self._known[-_WINDOW:], []
        return self._written(last=False)

    def end(self) -> str:
        """Return the text that was held back; no token follows."""
        if not self.stopped:
            self._held += self._vocabulary.decode(self._known)[
                len(self._vocabulary.decode(self._window)) :
            ]
        return self._written(last=True)

    @property
    def _known(self) -> list[int]:
        return self._window + self._new

    def _written(self, last: bool) -> str:
        found = [place for stop in self._stops if (place := self._held.find(stop)) >= 0]
        if found:
            self.stopped, keep = True, min(found)
        else:
            keep = len(self._held) - (0 if last else self._begun())
        piece, self._held = self._held[:keep], "" if found else self._held[keep:]
        self.text += piece
        return piece

    def _begun(self) -> int:
        """Return the length of the longest end of the held text that begins a stop."""
        sizes = (
            size
            for stop in self._stops
            for size in range(1, len(stop))
            if self._held.endswith(stop[:size])
        )
        return max(sizes, default=0)
