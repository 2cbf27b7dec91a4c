"""Compressors as baselines of language models."""

from __future__ import annotations

import lzma
import sys
import types

import pytest

from attnlab.tasks.language.baselines import compressors

TRAIN = b"the cat sat on the mat and the dog sat on the cat, so it is said. " * 7
TEXT = b"the dog sat on the mat and the cat sat on the dog, as it is told. "


def test_bits_per_byte_alone_and_after_train():
    found, _ = compressors.compressed(TRAIN, TEXT)
    size = {
        name: len(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
        for name, content in (("alone", TEXT), ("train", TRAIN), ("both", TRAIN + TEXT))
    }
    assert found["xz"].alone == pytest.approx(8 * size["alone"] / len(TEXT))
    assert found["xz"].continued == pytest.approx(8 * (size["both"] - size["train"]) / len(TEXT))
    assert found["xz"].continued < found["xz"].alone


def test_ppmd_can_be_decompressed_and_knows_train():
    pyppmd = pytest.importorskip("pyppmd")
    found, notes = compressors.compressed(TRAIN, TEXT)
    packed = pyppmd.compress(TEXT, max_order=6, mem_size=64 << 20, variant="H")
    assert found["ppmd"].alone == 8 * len(packed) / len(TEXT) and not notes
    assert pyppmd.Ppmd7Decoder(6, 64 << 20).decode(packed, len(TEXT)) == TEXT
    assert found["ppmd"].continued < found["ppmd"].alone


def test_without_pyppmd_ppmd_is_left_out_and_the_extra_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyppmd", None)
    found, notes = compressors.compressed(TRAIN, TEXT)
    assert [*found] == ["xz"]
    assert len(notes) == 1 and "pip install 'attnlab[language]'" in notes[0]


def test_large_texts_are_left_out_with_a_sentence_each(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyppmd", types.SimpleNamespace())
    most = dict.fromkeys(compressors.MOST_BYTES, len(TRAIN) + len(TEXT) - 1)
    monkeypatch.setattr(compressors, "MOST_BYTES", most)
    found, notes = compressors.compressed(TRAIN, TEXT)
    assert not found and [each.split()[2] for each in notes] == ["xz", "ppmd"]
    assert f"{len(TRAIN) + len(TEXT):,} bytes" in notes[0]


def test_an_empty_text_has_no_bits():
    assert compressors.compressed(TRAIN, b"")[0] == {}


@pytest.mark.realdata
def test_tinyshakespeare_has_the_known_bits_per_byte(realdata):
    pytest.importorskip("pyppmd")
    content = (realdata / "shakespeare" / "input.txt").read_bytes()
    cut = int(0.9 * len(content))
    found, _ = compressors.compressed(content[:cut], content[cut:])
    bits = {name: tuple(f"{each:.2f}" for each in pair) for name, pair in found.items()}
    assert bits == {"xz": ("2.95", "2.52"), "ppmd": ("2.40", "2.03")}
