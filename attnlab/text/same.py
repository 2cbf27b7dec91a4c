"""Which texts count as one where no text may stand in two parts."""

from __future__ import annotations

import unicodedata

# ASCII to what counts of it: lower-case letters and digits.
_COUNTING = {code: chr(code).lower() if chr(code).isalnum() else None for code in range(128)}


def text_key(text: str) -> str:
    """What two texts must share to count as one: letters and digits, lower-cased, without accents.

    A text without any stands for itself.
    """
    if text.isascii():
        return text.translate(_COUNTING) or text
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(filter(str.isalnum, plain)) or text
