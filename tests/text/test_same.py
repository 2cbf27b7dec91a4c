"""Which texts count as one."""

from __future__ import annotations

import pytest

from attnlab.text.same import text_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Go.", "go!"),
        ("I'm tired", "im tired"),
        ("Tür", "Tu\u0308r"),
        ("café", "Cafe"),
        ("STRASSE", "Straße"),
    ],
)
def test_texts_that_cleaning_makes_one_are_one(one, other):
    assert text_key(one) == text_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("...", "!"), ("go", "got"), ("2", "3"), ("вот", "кот")]
)
def test_other_texts_stay_apart(one, other):
    assert text_key(one) != text_key(other)
