"""The built-in corpora have the sizes and the bytes on which published findings rest."""

from __future__ import annotations

import gzip
import hashlib

import pytest

from attnlab.tasks.data.builtin import FOLDER, rows

PARTS = ("train", "validation", "test")
CORPORA = {
    "builtin": (
        {"train": 20000, "validation": 1000, "test": 1000, "compositions": 1000},
        "00f44da4ed45c461eec43f21291f27ef74508c47a82aec78b598088748f36d63",
    ),
    "agreement": (
        {"train": 20000, "validation": 1000, "test": 1000},
        "25cd5e33c04d595ce3b2825af3795acfe825f509730628d258f21018719a706e",
    ),
    "sentences": (
        {"train": 20000, "validation": 500, "test": 500},
        "85b9d567b5ea4ae0a49f5052c2a44e4dd98e275ffe4d598af80830398bfc7724",
    ),
    "passages": (
        {"train": 8000, "validation": 1000, "test": 1000},
        "88e4175ba08275e695636374b501c89dc3b1c8a099f8b6cc6860df8f9a3d2a0b",
    ),
}


@pytest.mark.parametrize("name", CORPORA)
def test_a_corpus_has_its_sizes_and_its_bytes(name):
    sizes, digest = CORPORA[name]
    assert {part: len(table) for part, table in rows(name).items()} == sizes
    table = gzip.decompress((FOLDER / f"{name}.tsv.gz").read_bytes())
    assert hashlib.sha256(table).hexdigest() == digest


@pytest.mark.parametrize("name", CORPORA)
def test_no_text_is_in_two_parts(name):
    texts = [{row[0] for row in table} for table in rows(name).values()]
    assert len(set.union(*texts)) == sum(map(len, texts))


def test_an_encoder_of_sentences_never_sees_a_test_text_of_agreement():
    held_out = {text for part in PARTS[1:] for text, _, _ in rows("agreement")[part]}
    assert not held_out & {text for (text,) in rows("sentences")["train"]}


def test_pairs_of_agreement_differ_only_in_one_verb():
    for part in PARTS:
        table = rows("agreement")[part]
        for (right, *label), (wrong, *other) in zip(table[::2], table[1::2], strict=True):
            assert label[0] == "right" and other[0] == "wrong" and label[1] == other[1]
            words = list(zip(right.split(), wrong.split(), strict=True))
            assert sum(one != two for one, two in words) == 1


def test_answers_are_in_their_text_and_links_point_to_words():
    for table in rows("passages").values():
        for text, _, answer, start in table:
            assert text[int(start) :].startswith(answer)
    for table in rows("builtin").values():
        for source, target, links in table:
            pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
            first, second = (len(side.replace(",", " ,").split()) for side in (source, target))
            # The mark at the end is a word; it has the last numbers.
            assert pairs[-1] == (first, second) and max(max(p) for p in pairs) <= max(first, second)
