"""Fashion-MNIST: grey pictures of clothes."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.classification.images.corpora.image_corpus import LabelledImage, numbered
from attnlab.tasks.classification.images.corpora.published import PublishedImages, cut_short

URL = (
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/"
    "b2617bb6d3ffa2e429640350f613e3291e10b141/data/fashion"
)
CLASSES = (
    *("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag"),
    "ankle boot",
)
_FILES = {"train": "train", "test": "t10k"}
_UNSIGNED_BYTES = 8  # type of an IDX file


@dataclass(kw_only=True, eq=False)
class FashionMnist(PublishedImages):
    """70,000 grey pictures of clothes, 28 x 28, in ten classes, 10,000 of them for the test.

    Source: Xiao, Rasul and Vollgraf 2017 (arXiv 1708.07747). Difference: validation is held out
    from train.
    """

    name = "fashion_mnist"
    origin = "Xiao et al. 2017 (arXiv 1708.07747), github.com/zalandoresearch/fashion-mnist"
    license = "MIT"
    shape = (28, 28, 1)

    usual_url = URL
    known = {
        "train-images-idx3-ubyte.gz": (
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"
        ),
        "train-labels-idx1-ubyte.gz": (
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"
        ),
        "t10k-images-idx3-ubyte.gz": (
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"
        ),
        "t10k-labels-idx1-ubyte.gz": (
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"
        ),
    }
    own_parts = ("train", "test")

    path: str | None = None
    url: str = URL
    limit: int | None = None
    validation: float = 0.1

    def _take(self, place: Path) -> None:
        if not place.is_dir():
            names = ", ".join(self.known)
            raise RequestError(f"data.path: expected a folder with {names}, got {place}, a file.")
        self.set_items({part: _part(place, part, name) for part, name in _FILES.items()})


def _part(folder: Path, part: str, name: str) -> list[LabelledImage]:
    path = _file(folder, f"{name}-images-idx3-ubyte")
    images = read_idx(path, axes=3)
    if images.shape[1:] != FashionMnist.shape[:2]:
        height, width = images.shape[1:]
        raise RequestError(f"{path}: expected images of 28 x 28 pixels, got {height} x {width}.")
    path = _file(folder, f"{name}-labels-idx1-ubyte")
    labels = read_idx(path, axes=1)
    if len(labels) != len(images):
        raise RequestError(f"{path}: expected {len(images):,} labels, got {len(labels):,}.")
    if labels.max(initial=0) >= len(CLASSES):
        raise RequestError(f"{path}: expected classes 0 to 9, got {labels.max()}.")
    return numbered(part, images[..., None], labels, CLASSES)


def _file(folder: Path, name: str) -> Path:
    """Return a file of a folder, gzipped as downloaded, or unpacked."""
    places = [folder / f"{name}.gz", folder / name]
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        raise RequestError(f"{folder}: expected {name}.gz in it, got no such file.")
    return found


def read_idx(path: Path, axes: int) -> np.ndarray:
    """Read an array of unsigned bytes from an IDX file, plain or gzipped.

    The format of yann.lecun.com/exdb/mnist: two zeros, a type (8: unsigned bytes), the number of
    axes; the size of each axis as a big-endian uint32; the values.

    Raises:
        RequestError: the file is damaged, or isn't an IDX file of bytes with `axes` axes.
    """
    try:
        raw = path.read_bytes()
        content = gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (OSError, EOFError, zlib.error) as error:
        raise RequestError(f"{path}: can't be read: {error}.") from error
    start = 4 * (axes + 1)
    if content[:4] != bytes([0, 0, _UNSIGNED_BYTES, axes]) or len(content) < start:
        raise RequestError(
            f"{path}: expected an IDX file of bytes with {axes} axes, got something else."
        )
    shape = np.frombuffer(content, ">u4", axes, offset=4).astype(int)
    if len(content) != start + shape.prod():
        sizes = " x ".join(map(str, shape))
        raise cut_short(path, f"{start} + {sizes} bytes", len(content))
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
