"""Where the sentences of a text begin and end."""

from __future__ import annotations


def sentence_spans(text: str, language: str = "en") -> list[tuple[int, int]]:
    """(start, end) in `text` of each sentence, without the white space around it, in their order.

    By Wikimedia's `sentencex`, which knows abbreviations, initials, numbers and quotes of some 300
    languages; an empty line ends a sentence, too. What has no letter and no digit is none.

    Args:
        text: any text.
        language: its code, such as `en` or `de`; one that is not known is treated as a near one.
    """
    from sentencex import get_sentence_boundaries

    spans = []
    # It panics behind a capital and white space of several bytes; places stay where they are.
    plain = "".join(" " if each.isspace() and not each.isascii() else each for each in text)
    for found in get_sentence_boundaries(language, plain):
        start, end = found["start_index"], found["end_index"]
        piece = text[start:end]
        start += len(piece) - len(piece.lstrip())
        end -= len(piece) - len(piece.rstrip())
        if any(map(str.isalnum, text[start:end])):
            spans.append((start, end))
    return spans
