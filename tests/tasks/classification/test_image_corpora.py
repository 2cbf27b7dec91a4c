"""Corpora of images: file formats, parts, and messages about wrong files."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps
from sklearn.datasets import load_digits

from attnlab.errors import RequestError
from attnlab.tasks.classification.image_corpora import (
    Cifar10,
    Digits,
    FashionMnist,
    ImageFolder,
    read_image,
)
from attnlab.tasks.data.division import divide

DRAW = np.random.default_rng(3)


def pixels(*shape: int) -> np.ndarray:
    return DRAW.integers(0, 256, shape, dtype=np.uint8)


def opened(corpus, cache: Path):
    corpus.open(cache)
    return corpus


def test_digits_are_scikit_learns_and_the_test_part_is_fixed(tmp_path):
    corpus = opened(Digits(), tmp_path)
    parts, others = (divide(corpus, seed, corpus.key) for seed in (0, 1))
    counts = {part: len(images) for part, images in parts.items()}
    assert counts == {"train": 1295, "validation": 142, "test": 360}
    digits = load_digits()
    for name, image, label in parts["test"]:
        row = int(name.split()[1])
        assert label == str(digits.target[row])
        np.testing.assert_allclose(image[..., 0] / 255 * 16, digits.images[row], atol=0.04)
    names = {
        part: [[image.name for image in item[part]] for item in (parts, others)] for part in parts
    }
    assert names["test"][0] == names["test"][1] and names["train"][0] != names["train"][1]
    assert opened(Digits(limit=99), tmp_path).digest() != corpus.digest()


@pytest.fixture
def folder(tmp_path) -> Path:
    """Twelve images of two classes, in files of several sorts and sizes."""
    for number in range(12):
        place = tmp_path / "images" / ("cat", "dog")[number % 2]
        place.mkdir(parents=True, exist_ok=True)
        size = 5 + number
        suffix = (".png", ".JPG", ".jpeg")[number % 3]
        Image.fromarray(pixels(size, size + 1, 3)).save(place / f"{number:02}{suffix}")
    (tmp_path / "images/cat/.hidden.png").write_bytes(b"no image")
    return tmp_path / "images"


def test_a_folder_for_each_class_is_read_at_one_size(folder, tmp_path):
    corpus = opened(ImageFolder(path=str(folder), size=8), tmp_path)
    images = corpus.parts["train"]
    assert [image.label for image in images] == ["cat", "dog"] * 6
    assert {image.pixels.shape for image in images} == {corpus.shape} == {(8, 8, 3)}
    assert images[0].name == "cat/00.png"
    with Image.open(folder / "cat/00.png") as file:
        expected = np.asarray(file.resize((8, 8), Image.Resampling.BILINEAR))
    np.testing.assert_array_equal(images[0].pixels, expected)
    grey = opened(ImageFolder(path=str(folder), size=8, grey=True), tmp_path)
    assert grey.parts["train"][0].pixels.shape == (8, 8, 1) and grey.digest() != corpus.digest()


def test_equal_images_are_in_one_part(folder, tmp_path):
    for path in sorted(folder.glob("cat/[0-9]*.png")):
        (path.parent / f"copy_{path.name}").write_bytes(path.read_bytes())
    for seed in range(4):
        corpus = opened(ImageFolder(path=str(folder), size=8), tmp_path)
        keys = [{*map(corpus.key, images)} for images in divide(corpus, seed, corpus.key).values()]
        assert not (keys[0] & keys[1] or keys[0] & keys[2] or keys[1] & keys[2])


def test_images_of_all_sorts_become_pixels(tmp_path):
    grey = pixels(4, 4)
    flat = np.dstack([grey] * 3)
    clear = np.full((4, 4, 4), (200, 100, 0, 51), np.uint8)  # a fifth of it, on white
    ink = np.full((4, 4, 4), (255, 0, 0, 0), np.uint8)  # cyan alone
    sorts = {
        "grey.png": (Image.fromarray(grey), flat),
        "palette.png": (Image.fromarray(grey).convert("P"), flat),
        "x.bmp": (Image.fromarray(flat), flat),
        "x.gif": (Image.fromarray(flat), flat),
        "clear.png": (Image.fromarray(clear), np.full((4, 4, 3), (244, 224, 204))),
        "ink.tif": (Image.fromarray(ink, "CMYK"), np.full((4, 4, 3), (0, 255, 255))),
        "bits.png": (Image.fromarray(np.ones((4, 4), bool)), np.full((4, 4, 3), 255)),
    }
    for name, (image, expected) in sorts.items():
        image.save(tmp_path / name)
        result = read_image(tmp_path / name, (4, 4, 3))
        np.testing.assert_array_equal(result, expected, err_msg=name)
    assert read_image(tmp_path / "ink.tif", (2, 6, 1)).shape == (2, 6, 1)
    frames = [Image.new("RGB", (4, 4), (value,) * 3) for value in (0, 255)]
    frames[0].save(tmp_path / "frames.tif", save_all=True, append_images=frames[1:])
    assert not read_image(tmp_path / "frames.tif", (4, 4, 3)).any()


def test_images_are_rotated_as_their_exif_data_say(tmp_path):
    image = Image.fromarray(pixels(3, 5, 3))
    for orientation in range(1, 9):
        exif = image.getexif()
        exif[0x0112] = orientation
        image.save(tmp_path / "turned.png", exif=exif)
        image.getexif()[0x0112] = orientation
        expected = np.asarray(ImageOps.exif_transpose(image))
        result = read_image(tmp_path / "turned.png", expected.shape)
        np.testing.assert_array_equal(result, expected)


def test_pixels_of_more_than_8_bits_are_refused(tmp_path):
    """The number that means white isn't known: microscopes and scanners use 10, 12 or 14 bits."""
    for name, dtype in (("grey.png", np.uint16), ("f.tif", np.float32), ("i.tif", np.int32)):
        Image.fromarray(np.full((2, 3), 600, dtype)).save(tmp_path / name)
    for name in ("grey.png", "f.tif", "i.tif"):
        with pytest.raises(RequestError, match=f"{name}: expected 8 bits per channel, got more"):
            read_image(tmp_path / name, (2, 3, 3))


# Published ones


@pytest.fixture
def fashion(tmp_path) -> Path:
    """Fashion-MNIST in its format, with 40 images to train on and 20 to test on."""
    for name, count in (("train", 40), ("t10k", 20)):
        images, labels = pixels(count, 28, 28), (np.arange(count) % 10).astype(np.uint8)
        for kind, values in (("images-idx3", images), ("labels-idx1", labels)):
            header = struct.pack(f">{1 + values.ndim}I", 2048 + values.ndim, *values.shape)
            content = gzip.compress(header + values.tobytes())
            (tmp_path / f"{name}-{kind}-ubyte.gz").write_bytes(content)
    return tmp_path


def test_fashion_mnist_is_read_in_its_format(fashion):
    corpus = opened(FashionMnist(path=str(fashion)), fashion)
    images = corpus.parts["test"]
    assert len(images) == 20 and len(corpus.parts["train"]) == 40
    raw = gzip.decompress((fashion / "t10k-images-idx3-ubyte.gz").read_bytes())
    np.testing.assert_array_equal(
        images[3].pixels[..., 0], np.frombuffer(raw, np.uint8)[16:].reshape(20, 28, 28)[3]
    )
    assert images[9].label == "ankle boot" and images[3].name == "test 3"
    labels = fashion / "train-labels-idx1-ubyte.gz"
    whole = gzip.decompress(labels.read_bytes())
    for content, message in ((whole[:-1], "expected the files of fashion_mnist"), (None, "can't")):
        labels.write_bytes(labels.read_bytes()[:20] if content is None else gzip.compress(content))
        with pytest.raises(RequestError, match=message):
            FashionMnist(path=str(fashion)).open(fashion)


def cifar(folder: Path) -> Path:
    """CIFAR-10's binary version, with four images a file."""
    path = folder / "cifar-10-binary.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in (*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"):
            records = pixels(4, 3073)
            records[:, 0] = np.arange(4)
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
            info.size = records.size
            archive.addfile(info, io.BytesIO(records.tobytes()))
    return path


def test_cifar10_is_read_in_its_format_from_archive_and_folder(tmp_path):
    path = cifar(tmp_path)
    corpus = opened(Cifar10(path=str(path)), tmp_path)
    assert len(corpus.parts["train"]) == 20 and corpus.parts["train"][19].name == "train 19"
    image = corpus.parts["test"][1]
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path / "there", filter="data")
    raw = (tmp_path / "there/cifar-10-batches-bin/test_batch.bin").read_bytes()[3073:6146]
    assert image.label == "automobile"
    plane = np.frombuffer(raw, np.uint8)[1:].reshape(3, 32, 32)
    for channel in range(3):
        np.testing.assert_array_equal(image.pixels[..., channel], plane[channel])
    same = opened(Cifar10(path=str(tmp_path / "there")), tmp_path)
    assert same.digest() == corpus.digest()
