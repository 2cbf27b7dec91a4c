"""The corpora of images with classes, and how an image file is read."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.data.corpus import Corpus, DividedCorpus, FileCorpus
from attnlab.tasks.data.published import Published
from attnlab.tasks.data.readers import class_files, members, read_bytes
from attnlab.text.reading import printable

_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")
_FASHION = (
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/"
    "b2617bb6d3ffa2e429640350f613e3291e10b141/data/fashion"
)
_FASHION_FILES = {  # name -> SHA-256
    "train-images-idx3": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "train-labels-idx1": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "t10k-images-idx3": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "t10k-labels-idx1": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
}


class LabelledImage(NamedTuple):
    """An image and the name of its class."""

    name: str  # such as its file name
    pixels: np.ndarray  # (height, width, channels) uint8, of one shape in a corpus
    label: str


class ImageCorpus(Corpus):
    """Images with classes, all of one shape; images with equal pixels are in one part."""

    noun = "image"
    shape: tuple[int, int, int]  # height, width, channels; known before the corpus is opened

    def key(self, item: LabelledImage) -> str:
        """Return a digest of the pixels."""
        return hashlib.blake2b(item.pixels.tobytes(), digest_size=16).hexdigest()

    def digest(self) -> str:
        """See `Corpus.digest`."""
        state = hashlib.sha256(f"{self.validation} {self.test} {self.shape}".encode())
        for part, images in self.parts.items():
            for name, pixels, label in images:
                state.update(f"{part}\0{name}\0{label}\0".encode())
                state.update(pixels.tobytes())
        return state.hexdigest()


@dataclass(kw_only=True, eq=False)
class Digits(ImageCorpus):
    """1,797 handwritten digits of 8 x 8 grey pixels; nothing is downloaded.

    Source: Alpaydin and Kaynak 1998, as in `sklearn.datasets.load_digits`. Train and test share
    writers: results hold for the handwriting of known writers. The test part is the same for every
    seed of a run.
    """

    name = "digits"
    origin = "Alpaydin and Kaynak 1998 (UCI), through scikit-learn"
    license = "CC BY 4.0; name Alpaydin and Kaynak 1998"
    shape = (8, 8, 1)

    limit: int | None = None
    validation: float = 0.1

    def read(self, place: Path) -> Mapping[str, list[LabelledImage]]:
        """Return the images of `train` and `test`; `place` is ignored."""
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split

        digits = load_digits()
        pixels = np.rint(digits.images[..., None] * (255 / 16)).astype(np.uint8)  # of 0 to 16
        images = _number_images("digit", pixels, [str(digit) for digit in digits.target])
        rows = np.arange(len(images))
        parts = train_test_split(rows, test_size=0.2, stratify=digits.target, random_state=0)
        return {
            part: [images[row] for row in np.sort(numbers)]
            for part, numbers in zip(("train", "test"), parts, strict=True)
        }


@dataclass(kw_only=True, eq=False)
class Cifar10(FileCorpus, ImageCorpus):
    """60,000 colour photographs of 32 x 32 pixels in ten classes, 10,000 of them for the test.

    Source: Krizhevsky 2009, "Learning multiple layers of features from tiny images", in binary.
    """

    name = "cifar10"
    origin = "Krizhevsky 2009, cs.toronto.edu/~kriz/cifar.html"
    license = "none is given; cite Krizhevsky 2009"
    shape = (32, 32, 3)
    published = (
        Published(
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        ),
    )
    classes = "airplane automobile bird cat deer dog frog horse ship truck".split()

    url: str | None = None

    def read(self, place: Path) -> Mapping[str, list[LabelledImage]]:
        """Return the images: a byte for the class, then red, green and blue pixels, row by row."""
        height, width, channels = self.shape
        contents: dict[str, bytes] = {"train": b"", "test": b""}
        for match, content in members(place, re.compile(r"(?:^|/)(data|test)_batch(_\d)?\.bin$")):
            contents["test" if match[1] == "test" else "train"] += content
        parts = {}
        for part, content in contents.items():
            if not content or len(content) % (1 + height * width * channels):
                raise RequestError(f"{place}: expected the images of cifar10's {part}, got others.")
            records = np.frombuffer(content, np.uint8).reshape(-1, 1 + height * width * channels)
            pixels = records[:, 1:].reshape(-1, channels, height, width).transpose(0, 2, 3, 1)
            labels = [self.classes[number] for number in records[:, 0]]
            parts[part] = _number_images(part, np.ascontiguousarray(pixels), labels)
        return parts


class FashionMnist(FileCorpus, ImageCorpus):
    """70,000 grey pictures of clothes, 28 x 28, in ten classes, 10,000 of them for the test.

    Source: Xiao, Rasul and Vollgraf 2017 (arXiv 1708.07747).
    """

    name = "fashion_mnist"
    origin = "Xiao et al. 2017 (arXiv 1708.07747), github.com/zalandoresearch/fashion-mnist"
    license = "MIT"
    shape = (28, 28, 1)
    published = tuple(
        Published(f"{_FASHION}/{name}-ubyte.gz", digest) for name, digest in _FASHION_FILES.items()
    )
    classes = "t-shirt,trouser,pullover,dress,coat,sandal,shirt,sneaker,bag,ankle boot".split(",")

    def read(self, place: Path) -> Mapping[str, list[LabelledImage]]:
        """Return the images of `train` and `test`, from IDX files of bytes."""
        parts = {}
        for part, files in {"train": self.published[:2], "test": self.published[2:]}.items():
            # A header has 4 bytes, and 4 bytes per axis.
            images, labels = (read_bytes(file.path(place), "data.path") for file in files)
            if len(images) - 16 != (len(labels) - 8) * 28 * 28:
                raise RequestError(f"{place}: expected the files of fashion_mnist, got others.")
            pixels = np.frombuffer(images, np.uint8, offset=16).reshape(-1, *self.shape)
            names = [self.classes[number] for number in labels[8:]]
            parts[part] = _number_images(part, pixels, names)
        return parts


@dataclass(kw_only=True, eq=False)
class ImageFolder(DividedCorpus, ImageCorpus):
    """The user's own images: `path/CLASS/NAME.png`, or `path/train/CLASS/NAME.png` and so on.

    Images are resized to `size` x `size` pixels; see `read_image`.
    """

    name = "image_folder"
    origin = "your own images, a folder for each class"
    license = "yours"
    needs = "data.path=FOLDER"

    size: int = 32
    grey: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:  # type: ignore[override]
        """The shape that the settings `size` and `grey` give."""
        return self.size, self.size, 1 if self.grey else 3

    def read(self, place: Path) -> Mapping[str, list[LabelledImage]]:
        """Return the images of each part that has a folder, else all as `train`."""
        return {
            part: [
                LabelledImage(
                    printable(file.relative_to(place).as_posix()),
                    read_image(file, self.shape),
                    label,
                )
                for label, file in files
            ]
            for part, files in class_files(place, "data.path", _SUFFIXES).items()
        }


def read_image(source: str | Path | bytes, shape: tuple[int, int, int]) -> np.ndarray:
    """Return the pixels of an image file, or of its bytes, (height, width, channels) uint8.

    The image is rotated as its EXIF data say, transparent parts become white, colours become grey
    (1 channel) or RGB (3), and bilinear filtering resizes it. Of several frames the first is read.

    Raises:
        RequestError: the file isn't an image that Pillow reads, or has more than 8 bits per
            channel.
    """
    from PIL import Image, ImageOps

    height, width, channels = shape
    where = "image" if isinstance(source, bytes) else printable(str(source))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(source) if isinstance(source, bytes) else source) as file:
                modes = f"{file.mode} {[tile[3] for tile in file.tile]}"  # `RGB;16B` becomes RGB
                image = ImageOps.exif_transpose(file)
                if image.has_transparency_data:
                    image = image.convert("RGBA")
                    image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
                pixels = image.convert("L" if channels == 1 else "RGB")
    except Exception as error:  # Pillow raises many types for damaged files
        reason = str(error).partition(" <")[0]  # it would name an object
        raise RequestError(f"{where}: can't be read as an image: {reason}.") from error
    if modes[0] in "IF" or ";16" in modes:
        raise RequestError(
            f"{where}: expected 8 bits per channel, got more: the value that means white isn't "
            "known. Divide the pixels by it, times 255, and save them with 8 bits."
        )
    if pixels.size != (width, height):
        pixels = pixels.resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(pixels, np.uint8).reshape(shape)


def png_of(pixels: np.ndarray) -> bytes:
    """Return pixels (height, width, channels) uint8 as the content of a PNG file."""
    from PIL import Image

    file = BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(file, "PNG")
    return file.getvalue()


def _number_images(part: str, pixels: np.ndarray, labels: Sequence[str]) -> list[LabelledImage]:
    """Return images with names such as `test 17`, from 0."""
    return [
        LabelledImage(f"{part} {number}", image, label)
        for number, (image, label) in enumerate(zip(pixels, labels, strict=True))
    ]
