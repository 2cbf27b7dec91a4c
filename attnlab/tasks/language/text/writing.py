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
        text = self._decoded()
        if text.endswith(_INCOMPLETE) and len(self._new) < _LONGEST:
            return ""
        self._held += text
        self._window, self._new = [*self._window, *self._new][-_WINDOW:], []
        return self._write(last=False)

    def end(self) -> str:
        """Return the text that was held back; no token follows."""
        if not self.stopped:
            self._held += self._decoded()
        return self._write(last=True)

    def _decoded(self) -> str:
        """Return the text of the new tokens."""
        decode = self._vocabulary.decode
        return decode([*self._window, *self._new])[len(decode(self._window)) :]

    def _write(self, last: bool) -> str:
        """Move the text up to a stop, or to what may be the start of one, from held to written."""
        held, end = self._held, len(self._held)
        if places := [place for stop in self._stops if (place := held.find(stop)) >= 0]:
            self.stopped, end = True, min(places)
        elif not last:
            starts = (stop[:size] for stop in self._stops for size in range(1, len(stop)))
            end -= max((len(start) for start in starts if held.endswith(start)), default=0)
        self._held = "" if self.stopped else held[end:]
        self.text += held[:end]
        return held[:end]
