"""CIFAR-10: small photographs of ten things."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.classification.images.corpora.image_corpus import LabelledImage, numbered
from attnlab.tasks.classification.images.corpora.published import PublishedImages, cut_short
from attnlab.tasks.downloads import read_to_end

URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
CLASSES = (
    *("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
)
_SIDE, _CHANNELS = 32, 3
_RECORD = 1 + _CHANNELS * _SIDE * _SIDE  # bytes: the class, then red, green, blue row by row
_FILES = {
    "train": [f"data_batch_{number}.bin" for number in range(1, 6)],
    "test": ["test_batch.bin"],
}


@dataclass(kw_only=True, eq=False)
class Cifar10(PublishedImages):
    """60,000 colour photographs of 32 x 32 pixels in ten classes, 10,000 of them for the test.

    This is the binary version. The other version is a pickle, which can run any code when it is
    read.

    Source: Krizhevsky 2009, "Learning multiple layers of features from tiny images". Difference:
    validation is held out from train.
    """

    name = "cifar10"
    origin = "Krizhevsky 2009, cs.toronto.edu/~kriz/cifar.html"
    license = "none is given; cite Krizhevsky 2009"
    shape = (_SIDE, _SIDE, _CHANNELS)

    usual_url = URL
    known = {
        "cifar-10-binary.tar.gz": "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
    }
    own_parts = ("train", "test")

    path: str | None = None
    url: str = URL
    limit: int | None = None
    validation: float = 0.1

    def _address(self, name: str) -> str:
        return self.url

    def _take(self, place: Path) -> None:
        archive = place / next(iter(self.known))
        found = dict(_files(archive if archive.is_file() else place))
        for names in _FILES.values():
            for name in names:
                if name not in found:
                    raise RequestError(
                        f"{place}: expected the binary version of CIFAR-10, got no {name} in it."
                    )
        self.set_items(
            {
                part: _images(part, place, {name: found[name] for name in names})
                for part, names in _FILES.items()
            }
        )


def _files(place: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the binary files in a folder or a tar archive."""
    wanted = {name for names in _FILES.values() for name in names}
    try:
        if place.is_dir():
            for path in sorted(place.rglob("*.bin")):
                if path.name in wanted:
                    yield path.name, path.read_bytes()
            return
        with tarfile.open(place, "r:*") as archive:
            for member in archive:
                name = PurePosixPath(member.name).name
                if name in wanted and member.isreg() and (stream := archive.extractfile(member)):
                    yield name, stream.read()
            read_to_end(archive)
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        raise RequestError(f"{place}: can't be read: {error}.") from error


def _images(part: str, place: Path, files: dict[str, bytes]) -> list[LabelledImage]:
    rows = []
    for name, content in files.items():
        if not content or len(content) % _RECORD:
            raise cut_short(place / name, f"records of {_RECORD:,} bytes", len(content))
        rows.append(np.frombuffer(content, np.uint8).reshape(-1, _RECORD))
    records = np.concatenate(rows)
    labels = records[:, 0]
    if labels.max() >= len(CLASSES):
        raise RequestError(f"{place}: expected classes 0 to 9, got {labels.max()}.")
    pixels = records[:, 1:].reshape(-1, _CHANNELS, _SIDE, _SIDE).transpose(0, 2, 3, 1)
    return numbered(part, np.ascontiguousarray(pixels), labels, CLASSES)
