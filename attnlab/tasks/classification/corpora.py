"""The corpora of texts and images with classes."""

from __future__ import annotations

import hashlib
import itertools
import re
import unicodedata
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.data.builtin import rows
from attnlab.tasks.data.corpus import Corpus
from attnlab.tasks.data.published import Published
from attnlab.tasks.data.readers import class_files, members, read_bytes, read_table, read_text
from attnlab.text.cleaning import text_key
from attnlab.text.reading import decoded, printable

_IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")
_LINE_BREAK = re.compile(r"\s*<br\s*/?>\s*")
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


class LabelledText(NamedTuple):
    """A text and the name of its class."""

    text: str
    label: str
    group: str = ""  # accuracy is also reported by group, such as a number of nouns


class LabelledImage(NamedTuple):
    """An image and the name of its class."""

    name: str  # such as its file name
    pixels: np.ndarray  # (height, width, channels) uint8, of one shape in a corpus
    label: str


class TextCorpus(Corpus):
    """Texts with classes; equal texts are in one part."""

    def key(self, item: LabelledText) -> str:
        """Return the text, ignoring case."""
        return text_key(item.text, ignore_case=True)

    def label(self, item: LabelledText) -> str:
        """Return the class."""
        return item.label

    def texts(self, item: LabelledText) -> tuple[str, ...]:
        """Return the text."""
        return (item.text,)


class ImageCorpus(Corpus):
    """Images with classes, all of one shape; images with equal pixels are in one part.

    Attributes:
        shape: height, width and channels, known before the corpus is opened.
    """

    noun = "image"
    shape: tuple[int, int, int]

    def key(self, item: LabelledImage) -> str:
        """Return a digest of the pixels."""
        return hashlib.blake2b(item.pixels.tobytes(), digest_size=16).hexdigest()

    def label(self, item: LabelledImage) -> str:
        """Return the class."""
        return item.label

    def digest(self) -> str:
        """See `Corpus.digest`."""
        state = hashlib.sha256(f"{self.validation} {self.test} {self.shape}".encode())
        for part, images in self.parts.items():
            for name, pixels, label in images:
                state.update(f"{part}\0{name}\0{label}\0".encode())
                state.update(pixels.tobytes())
        return state.hexdigest()


class Agreement(TextCorpus):
    """English sentences, half of them with the wrong number of the verb; needs no file.

    "The keys to the cabinet near the doors are old." is right; with `is` it is wrong. Between
    subject and verb are 0 to 3 attractors, which are nouns of the other number, and nouns of the
    subject's number. The number of attractors is the text's group. Each sentence and its wrong twin
    are in the same part, so the classes differ only in a form of the verb. With attractors, the
    subject's number doesn't follow from the counts of singular and plural nouns, nor from the first
    or the last noun.

    Source: the number prediction and grammaticality judgment of Linzen, Dupoux, Goldberg 2016
    (arXiv 1611.01368). Difference: the paper's sentences are from Wikipedia; these are generated.

    `texts` is the number of training sentences; validation and test have 1,000 each.
    """

    name = "agreement"
    origin = "a grammar of this project, after Linzen et al. 2016 (arXiv 1611.01368)"
    license = "Apache-2.0, as attnlab"

    def __init__(self, *, texts: int = 20_000) -> None:
        self.size = texts

    def read(self, place: Path) -> Mapping[str, list[LabelledText]]:
        """Return the sentences of each part; `place` is ignored."""
        parts = {
            part: [LabelledText(*row) for row in table] for part, table in rows("agreement").items()
        }
        return {**parts, "train": parts["train"][: self.size]}


class ReviewArchive(TextCorpus):
    """An archive, or the folder into which it was unpacked, with a text per file.

    Attributes:
        wanted: matches the names of the texts; its groups are `label` and optionally `part`.
    """

    wanted: re.Pattern[str]

    def read(self, place: Path) -> Mapping[str, list[LabelledText]]:
        """Return the texts of each part, of all classes in turn."""
        texts: dict[str, dict[str, list[LabelledText]]] = {}
        for match, content in members(place, self.wanted):
            part, where = match.groupdict().get("part", "train"), f"{place}: {match.string}"
            text = LabelledText(_clean(decoded(content, where), where), match["label"])
            texts.setdefault(part, {}).setdefault(text.label, []).append(text)
        if not texts:
            raise RequestError(f"{place}: expected the files of {self.name}, got none of them.")
        return {
            part: [
                text
                for row in itertools.zip_longest(*(classes[label] for label in sorted(classes)))
                for text in row
                if text
            ]
            for part, classes in texts.items()
        }


@dataclass(kw_only=True, eq=False)
class MovieReviews(ReviewArchive):
    """2,000 reviews from 2004 and before, 1,000 per class, `neg` and `pos`.

    The texts are long and lower-cased, with one sentence per line and spaces between words and
    punctuation marks. The corpus has no parts of its own. Papers report the mean of ten folds, so
    their numbers aren't comparable to those of a single test part.
    """

    name = "movie_reviews"
    origin = "Pang and Lee 2004 (arXiv cs/0409058), through nltk_data"
    license = "CC BY 4.0, as nltk_data has it; name Pang and Lee 2004"
    published = (
        Published(
            "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/"
            "movie_reviews.zip",
            "a41211ae685019137410268134db6a1a14428c89b671eb83056151a878539008",
        ),
    )
    wanted = re.compile(r"(?:^|/)(?P<label>neg|pos)/[^/]+\.txt$")

    path: str | None = None
    url: str | None = None
    limit: int | None = None
    validation: float = 0.1
    test: float = 0.1


@dataclass(kw_only=True, eq=False)
class Imdb(ReviewArchive):
    """50,000 reviews of films, `neg` and `pos`, half for the test; the halves share no film.

    Source: Maas et al. 2011, ACL. Differences: validation is held out from train, `<br />` becomes
    a line break, and the 50,000 reviews without a class are not read.
    """

    name = "imdb"
    origin = "Maas et al. 2011 (ACL), ai.stanford.edu/~amaas/data/sentiment"
    license = "for research; the reviews come from IMDb; cite Maas et al. 2011"
    published = (
        Published(
            "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
            "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
        ),
    )
    wanted = re.compile(r"(?:^|/)(?P<part>train|test)/(?P<label>neg|pos)/[^/]+\.txt$")

    path: str | None = None
    url: str | None = None
    limit: int | None = None
    validation: float = 0.1

    def read(self, place: Path) -> Mapping[str, list[LabelledText]]:
        """Return the texts of `train` and `test`."""
        parts = super().read(place)
        if {*parts} != {"train", "test"}:
            raise RequestError(f"{place}: expected train and test of imdb, got only {[*parts][0]}.")
        return {
            part: [text._replace(text=_LINE_BREAK.sub("\n", text.text)) for text in parts[part]]
            for part in ("train", "test")
        }


@dataclass(kw_only=True, eq=False)
class Folder(TextCorpus):
    """The user's own texts: `path/CLASS/NAME.txt`, or `path/train/CLASS/NAME.txt` and so on."""

    name = "folder"
    origin = "your own files, a folder for each class"
    license = "yours"
    needs = "data.path=FOLDER"

    path: str | None = None
    limit: int | None = None
    validation: float = 0.1
    test: float = 0.1

    def read(self, place: Path) -> Mapping[str, list[LabelledText]]:
        """Return the texts of each part that has a folder, else all as `train`."""
        return {
            part: [
                LabelledText(_clean(read_text(file, "data.path"), str(file)), label)
                for label, file in files
            ]
            for part, files in class_files(place, "data.path", (".txt",)).items()
        }


class Table(TextCorpus):
    """The user's own texts in CSV or TSV files, one per row; see `read_table` for their form.

    Validation and test are shares of the rows, or files of their own with the same columns.
    """

    name = "table"
    origin = "your own CSV or TSV file"
    license = "yours"
    needs = "data.path=FILE.csv"

    def __init__(
        self,
        *,
        path: str | None = None,
        text: str | int = "text",
        label: str | int = "label",
        group: str | int | None = None,
        validation_path: str | None = None,
        test_path: str | None = None,
        limit: int | None = None,
        validation: float = 0.1,
        test: float = 0.1,
    ) -> None:
        self.path, self.limit, self.validation, self.test = path, limit, validation, test
        self._part_paths = {"validation": validation_path, "test": test_path}
        self._settings = {"data.text": text, "data.label": label}
        if group is not None:
            self._settings["data.group"] = group

    def read(self, place: Path) -> Mapping[str, list[LabelledText]]:
        """Return the texts of each file."""
        parts = {"train": self._read_file(place, "data.path")}
        for part, path in self._part_paths.items():
            if path is not None:
                parts[part] = self._read_file(Path(path).expanduser(), f"data.{part}_path")
        return parts

    def _read_file(self, path: Path, key: str) -> list[LabelledText]:
        texts = []
        for number, cells in enumerate(read_table(path, key, self._settings), 1):
            where = f"{key}: {path}, text {number}"
            text, *names = cells
            names = [unicodedata.normalize("NFC", name.strip()) for name in names]
            if not names[0]:
                raise RequestError(f"{where}: expected a class in the column data.label, got none.")
            texts.append(LabelledText(_clean(text, where), *names))
        return texts


def _clean(text: str, where: str) -> str:
    """Return a text in NFC, stripped; raise `RequestError` if it is empty."""
    text = unicodedata.normalize("NFC", text).strip()
    if not text:
        raise RequestError(f"{where}: expected a text, got an empty one.")
    return text


@dataclass(kw_only=True, eq=False)
class Digits(ImageCorpus):
    """1,797 handwritten digits of 8 x 8 grey pixels; nothing is downloaded.

    Source: Alpaydin and Kaynak 1998, the test part of "Optical Recognition of Handwritten Digits"
    (UCI), as in `sklearn.datasets.load_digits`: 13 writers. The data don't say who wrote which
    digit, so train and test share writers: results hold for the handwriting of known writers.

    The test part is that of `train_test_split(test_size=test, stratify=y, random_state=seed)`; the
    run's seed doesn't change it.
    """

    name = "digits"
    origin = "Alpaydin and Kaynak 1998 (UCI), through scikit-learn"
    license = "CC BY 4.0; name Alpaydin and Kaynak 1998"
    shape = (8, 8, 1)

    limit: int | None = None
    validation: float = 0.1
    test: float = 0.2
    seed: int = 0

    def read(self, place: Path) -> Mapping[str, list[LabelledImage]]:
        """Return the images of `train` and `test`; `place` is ignored."""
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split

        digits = load_digits()
        pixels = np.rint(digits.images[..., None] * (255 / 16)).astype(np.uint8)  # of 0 to 16
        images = _number_images("digit", pixels, [str(digit) for digit in digits.target])
        try:
            train, test = train_test_split(
                np.arange(len(images)),
                test_size=self.test,
                stratify=digits.target,
                random_state=self.seed,
            )
        except ValueError as error:
            raise RequestError(
                f"data.test={self.test:g}: must leave images of each digit for train and test."
            ) from error
        return {
            part: [images[row] for row in np.sort(numbers)]
            for part, numbers in {"train": train, "test": test}.items()
        }


@dataclass(kw_only=True, eq=False)
class Cifar10(ImageCorpus):
    """60,000 colour photographs of 32 x 32 pixels in ten classes, 10,000 of them for the test.

    This is the binary version, because the other one is a pickle.

    Source: Krizhevsky 2009, "Learning multiple layers of features from tiny images". Difference:
    validation is held out from train.
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

    path: str | None = None
    url: str | None = None
    limit: int | None = None
    validation: float = 0.1

    def read(self, place: Path) -> Mapping[str, list[LabelledImage]]:
        """Return the images of `train` and `test`.

        An image is a byte for its class, then its red, green and blue pixels, row by row.
        """
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


@dataclass(kw_only=True, eq=False)
class FashionMnist(ImageCorpus):
    """70,000 grey pictures of clothes, 28 x 28, in ten classes, 10,000 of them for the test.

    Source: Xiao, Rasul and Vollgraf 2017 (arXiv 1708.07747). Difference: validation is held out
    from train.
    """

    name = "fashion_mnist"
    origin = "Xiao et al. 2017 (arXiv 1708.07747), github.com/zalandoresearch/fashion-mnist"
    license = "MIT"
    shape = (28, 28, 1)
    published = tuple(
        Published(f"{_FASHION}/{name}-ubyte.gz", digest) for name, digest in _FASHION_FILES.items()
    )
    classes = (
        *("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag"),
        "ankle boot",
    )

    path: str | None = None
    limit: int | None = None
    validation: float = 0.1

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
class ImageFolder(ImageCorpus):
    """The user's own images: `path/CLASS/NAME.png`, or `path/train/CLASS/NAME.png` and so on.

    Images are resized to `size` x `size` pixels; see `read_image`.
    """

    name = "image_folder"
    origin = "your own images, a folder for each class"
    license = "yours"
    needs = "data.path=FOLDER"

    path: str | None = None
    size: int = 32
    grey: bool = False
    limit: int | None = None
    validation: float = 0.1
    test: float = 0.1

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
            for part, files in class_files(place, "data.path", _IMAGE_SUFFIXES).items()
        }


def read_image(path: Path, shape: tuple[int, int, int]) -> np.ndarray:
    """Return the pixels of an image file, (height, width, channels) uint8.

    The image is rotated as its EXIF data say, transparent parts become white, colours become grey
    (1 channel) or RGB (3), and bilinear filtering resizes it. Of several frames the first is read.

    Raises:
        RequestError: the file isn't an image that Pillow reads, or has more than 8 bits per
            channel.
    """
    from PIL import Image, ImageOps

    height, width, channels = shape
    where = printable(str(path))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as file:
                modes = f"{file.mode} {[tile[3] for tile in file.tile]}"  # `RGB;16B` becomes RGB
                image = ImageOps.exif_transpose(file)
                if image.has_transparency_data:
                    image = image.convert("RGBA")
                    image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
                pixels = image.convert("L" if channels == 1 else "RGB")
    except Exception as error:  # Pillow raises many types for damaged files
        raise RequestError(f"{where}: can't be read as an image: {error}.") from error
    if modes[0] in "IF" or ";16" in modes:
        raise RequestError(
            f"{where}: expected 8 bits per channel, got more: the value that means white isn't "
            "known. Divide the pixels by it, times 255, and save them with 8 bits."
        )
    if pixels.size != (width, height):
        pixels = pixels.resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(pixels, np.uint8).reshape(shape)


def _number_images(part: str, pixels: np.ndarray, labels: Sequence[str]) -> list[LabelledImage]:
    """Return images with names such as `test 17`, from 0."""
    return [
        LabelledImage(f"{part} {number}", image, label)
        for number, (image, label) in enumerate(zip(pixels, labels, strict=True))
    ]
