"""Which texts count as one where no text may be in two parts."""

from __future__ import annotations

from attnlab.text.cleaning import normalized


def text_key(text: str, *, ignore_case: bool = False) -> str:
    """The whole text in composed form (NFC) with single spaces; lower-cased to ignore case.

    Texts of one key are one text to a model: tokenizers read texts in this form.
    """
    return normalized(text.lower() if ignore_case else text)
