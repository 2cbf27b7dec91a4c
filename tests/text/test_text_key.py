"""Texts that count as equal."""

from __future__ import annotations

import pytest

from attnlab.text.cleaning import text_key


@pytest.mark.parametrize(
    ("one", "other"),
    [("Tür", "Tu\u0308r"), (" a  b\n", "a\u00a0b"), ("が", "か\u3099"), ("", " ")],
)
def test_texts_that_differ_in_composition_and_white_space_are_one(one, other):
    assert text_key(one) == text_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Go.", "Go!"),
        ("CC(=O)O", "CCOO"),  # SMILES
        ("मीना", "मन"),  # vowel signs are no letters
        ("café", "cafe"),
        ("a b", "ab"),
    ],
)
def test_other_texts_are_different(one, other):
    assert text_key(one, ignore_case=True) != text_key(other, ignore_case=True)


def test_case_counts_unless_the_task_ignores_it():
    assert text_key("c1ccccc1O") != text_key("C1CCCCC1O")
    assert text_key("c1ccccc1O", ignore_case=True) == text_key("C1CCCCC1O", ignore_case=True)
    assert text_key("İ x", ignore_case=True) == text_key("i\u0307 x", ignore_case=True)
