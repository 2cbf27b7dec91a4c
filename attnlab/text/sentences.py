"""Find the sentences of a text."""

from __future__ import annotations

import re

_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")  # white space of several bytes


def sentence_spans(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Return (start, end) in `text` of each sentence, without surrounding white space, in order.

    Wikimedia's `sentencex` finds them; it knows abbreviations, initials, numbers and quotes of some
    300 languages. An empty line also ends a sentence. A piece without letters and digits isn't a
    sentence.

    Args:
        text: any text.
        language: its code, such as `en` or `de`; an unknown one is replaced with a similar one.
    """
    from sentencex import get_sentence_boundaries

    spans = []
    # sentencex crashes on a capital before white space of several bytes, so it becomes " ", which
    # doesn't change positions.
    plain = _WIDE_SPACE.sub(" ", text)
    for sentence in get_sentence_boundaries(language, plain):
        start, end = sentence["start_index"], sentence["end_index"]
        piece = text[start:end]
        start += len(piece) - len(piece.lstrip())
        end -= len(piece) - len(piece.rstrip())
        if any(map(str.isalnum, text[start:end])):
            spans.append((start, end))
    return spans
