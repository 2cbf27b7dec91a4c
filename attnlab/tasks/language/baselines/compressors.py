"""Compressors as language models: how many bits they need per byte of a text."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from typing import NamedTuple

from attnlab.text.raw_text import RawText

MOST_BYTES = {"xz": 5_000_000, "ppmd": 20_000_000}  # about 20 seconds each on one core


class BitsPerByte(NamedTuple):
    """What one compressor needs per byte of a text."""

    alone: float  # of the text alone
    # (size(train + text) - size(train)) / bytes: it knows train, and learns on while it reads
    continued: float


def compressed(train: RawText, text: RawText) -> tuple[dict[str, BitsPerByte], list[str]]:
    """Compress a text by `xz` and `ppmd`; also return a sentence for each that is left out.

    xz: LZMA2 with preset 9e, in its container. ppmd: PPMd, variant H of order 6 with 64 MiB,
    without a container; it needs the package pyppmd. Texts of more than `MOST_BYTES` take too long.

    Args:
        train: the training text.
        text: another text, at least one byte.
    """
    found, notes = {}, []
    for name, compress in (("xz", _xz), ("ppmd", _ppmd())):
        if compress is None:
            notes.append(
                "The baseline ppmd is left out: it needs the package pyppmd "
                "(pip install 'attnlab[language]')."
            )
        elif (size := len(train) + len(text)) > MOST_BYTES[name]:
            notes.append(
                f"The baseline {name} is left out: it takes too long for {size:,} bytes, more than "
                f"{MOST_BYTES[name]:,}."
            )
        elif len(text):
            before, own = bytes(train), bytes(text)
            grown = compress(before + own) - compress(before)
            bits = 8 / len(own)
            found[name] = BitsPerByte(bits * compress(own), bits * grown)
    return found, notes


def _xz(content: bytes) -> int:
    return len(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


def _ppmd() -> Callable[[bytes], int] | None:
    try:
        import pyppmd
    except ImportError:
        return None
    return lambda content: len(
        pyppmd.compress(content, max_order=6, mem_size=64 << 20, variant="H")
    )
