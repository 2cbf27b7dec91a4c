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
from attnlab.tasks.classification.corpora.division import divided
from attnlab.tasks.classification.images.corpora import cifar10, fashion_mnist
from attnlab.tasks.classification.images.corpora.cifar10 import Cifar10
from attnlab.tasks.classification.images.corpora.digits import Digits
from attnlab.tasks.classification.images.corpora.fashion_mnist import FashionMnist, read_idx
from attnlab.tasks.classification.images.corpora.image_files import is_image_name, read_image
from attnlab.tasks.classification.images.corpora.image_folder import ImageFolder

DRAW = np.random.default_rng(3)


def pixels(*shape: int) -> np.ndarray:
    return DRAW.integers(0, 256, shape, dtype=np.uint8)


def opened(corpus, cache: Path):
    corpus.open(cache)
    return corpus


# Digits


def test_digits_are_scikit_learns_and_the_test_part_is_fixed(tmp_path):
    corpus = opened(Digits(), tmp_path)
    parts = divided(corpus, 0)
    counts = {part: len(images) for part, images in parts.items()}
    assert counts == {"train": 1295, "validation": 142, "test": 360}
    known = load_digits()
    for name, image, label in parts["test"]:
        row = int(name.split()[1])
        assert label == str(known.target[row])
        np.testing.assert_allclose(image[..., 0] / 255 * 16, known.images[row], atol=0.04)
    other = divided(opened(Digits(), tmp_path), 1)
    names = [[image.name for image in each["test"]] for each in (parts, other)]
    assert names[0] == names[1]
    validation = [{image.name for image in each["validation"]} for each in (parts, other)]
    assert validation[0] != validation[1]
    assert Digits(seed=1).open(tmp_path) is None
    assert opened(Digits(seed=1), tmp_path).digest() != corpus.digest()


@pytest.mark.parametrize("test", [0.001, 0.9995])
def test_shares_that_leave_no_image_of_a_digit_are_refused(tmp_path, test):
    with pytest.raises(RequestError, match=rf"data\.test={test}: must leave images"):
        Digits(test=test).open(tmp_path)


# Folders


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
    (tmp_path / "images/cat/notes.txt").write_text("no image")
    return tmp_path / "images"


def test_a_folder_for_each_class_is_read_at_one_size(folder, tmp_path):
    corpus = opened(ImageFolder(path=str(folder), size=8), tmp_path)
    images = list(corpus.items())
    assert [image.label for image in images] == ["cat", "dog"] * 6
    assert {image.pixels.shape for image in images} == {corpus.shape} == {(8, 8, 3)}
    assert images[0].name == "cat/00.png"
    with Image.open(folder / "cat/00.png") as file:
        expected = np.asarray(file.resize((8, 8), Image.Resampling.BILINEAR))
    np.testing.assert_array_equal(images[0].pixels, expected)
    grey = opened(ImageFolder(path=str(folder), size=8, grey=True), tmp_path)
    assert next(grey.items()).pixels.shape == (8, 8, 1) and grey.digest() != corpus.digest()
    parts = divided(corpus, 0)
    assert {part: len(own) for part, own in parts.items()} == {
        **{"train": 8, "validation": 2, "test": 2}
    }


def test_files_that_are_not_images_are_counted_in_a_note(folder, tmp_path):
    (folder / "dog/one.heic").write_bytes(b"")
    corpus = opened(ImageFolder(path=str(folder), size=8), tmp_path)
    assert len([*corpus.items()]) == 12
    assert corpus.notes == (
        "Files not named like images are left out: .txt (1), .heic (1), such as cat/notes.txt.",
    )


def test_parts_may_have_folders_of_their_own(folder, tmp_path):
    whole = tmp_path / "whole"
    for part in ("train", "test"):
        for label in ("cat", "dog"):
            (whole / part / label).mkdir(parents=True)
    for path in sorted(folder.glob("*/[0-9]*")):
        part = "test" if path.stem in ("10", "11") else "train"
        path.rename(whole / part / path.parent.name / path.name)
    parts = divided(opened(ImageFolder(path=str(whole), size=8), tmp_path), 0)
    assert sorted(image.name for image in parts["test"]) == ["test/cat/10.JPG", "test/dog/11.jpeg"]
    (whole / "test/dog").rename(whole / "test/bird")
    with pytest.raises(
        RequestError, match=r"part test: expected the classes of train \(cat, dog\)"
    ):
        divided(opened(ImageFolder(path=str(whole), size=8), tmp_path), 0)


def test_equal_images_are_in_one_part(folder, tmp_path):
    for path in sorted(folder.glob("cat/[0-9]*.png")):
        (path.parent / f"copy_{path.name}").write_bytes(path.read_bytes())
    for seed in range(4):
        parts = divided(opened(ImageFolder(path=str(folder), size=8), tmp_path), seed)
        keys = [{image.key for image in images} for images in parts.values()]
        assert not (keys[0] & keys[1] or keys[0] & keys[2] or keys[1] & keys[2])


def wrong(folder: Path, case: str) -> str:
    """Damage a folder in some way; return the message."""
    cats = sorted(folder.glob("cat/[0-9]*"))
    if case == "broken":
        cats[0].write_bytes(cats[0].read_bytes()[:60])
        return r"00\.png: can't be read as an image, such as a PNG or JPEG: "
    if case == "no image":
        cats[0].write_text("some text")
        return r"00\.png: can't be read as an image, such as a PNG or JPEG: not a known format"
    if case == "one class":
        for path in cats:
            path.unlink()
        (folder / "cat/notes.txt").unlink()
        (folder / "cat/.hidden.png").unlink()
        (folder / "cat").rmdir()
        return r"expected images of two or more classes, got 'dog' alone\."
    if case == "no cat":
        for path in cats:
            path.unlink()
        return r"data\.path: no image that can be read in cat \(\.txt\) of .*data\.allow_empty=true"
    if case == "one example":
        for path in cats[1:]:
            path.unlink()
        return (
            r"expected at least 3 different images of each class, for train and validation and "
            r"test, got 1 of 'cat'\."
        )
    for path in folder.glob("*/[0-9]*"):
        path.unlink()
    return r"data\.path: .* has no folder with images, only \.txt\."


@pytest.mark.parametrize(
    "case", ["broken", "no image", "one class", "one example", "no cat", "empty"]
)
def test_an_unusable_folder_is_refused_in_one_sentence(folder, tmp_path, case):
    message = wrong(folder, case)
    with pytest.raises(RequestError, match=message):
        divided(opened(ImageFolder(path=str(folder), size=8), tmp_path), 0)


@pytest.mark.parametrize("path", [None, "nowhere"])
def test_a_missing_folder_is_refused(tmp_path, path):
    with pytest.raises(RequestError, match=r"data\.path(: expected a folder|=nowhere: doesn't ex)"):
        ImageFolder(path=path).open(tmp_path)


def test_images_of_all_sorts_become_pixels(tmp_path):
    grey = pixels(4, 4)
    clear = np.dstack([pixels(4, 4, 3), np.zeros((4, 4), np.uint8)])
    deep = grey.astype(np.uint16) * 256 + 7
    sorts = {
        "grey": (Image.fromarray(grey), np.dstack([grey] * 3)),
        "clear": (Image.fromarray(clear), np.full((4, 4, 3), 255)),
        "deep": (Image.fromarray(deep), np.dstack([grey] * 3)),
        "palette": (Image.fromarray(grey).convert("P"), np.dstack([grey] * 3)),
    }
    for name, (image, expected) in sorts.items():
        path = tmp_path / f"{name}.png"
        image.save(path)
        np.testing.assert_array_equal(read_image(path, (4, 4, 3)), expected, err_msg=name)
        assert read_image(path, (2, 6, 1)).shape == (2, 6, 1)
    turned = Image.fromarray(pixels(4, 8, 3))
    exif = turned.getexif()
    exif[0x0112] = 6  # to be turned by a quarter
    turned.save(tmp_path / "turned.jpg", exif=exif, quality=100)
    found = read_image(tmp_path / "turned.jpg", (8, 4, 3))
    expected = np.rot90(np.asarray(Image.open(tmp_path / "turned.jpg")), -1)
    np.testing.assert_array_equal(found, expected)
    # The same, and a resolution that is a text.
    tags = struct.pack("<HHIHxx", 0x0112, 3, 1, 6) + struct.pack("<HHI4s", 0x011A, 2, 2, b"x")
    odd = b"Exif\0\0II*\0" + struct.pack("<IH", 8, 2) + tags + bytes(4)
    turned.save(tmp_path / "turned.jpg", exif=odd, quality=100)
    np.testing.assert_array_equal(read_image(tmp_path / "turned.jpg", (8, 4, 3)), expected)


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "the file is empty."), (b"GIF89a", "not a known format")]
)
def test_a_broken_image_gets_the_same_message_each_time(tmp_path, content, message):
    (tmp_path / "x.png").write_bytes(content)
    with pytest.raises(
        RequestError, match=f"can't be read as an image, such as a PNG or JPEG: {message}"
    ):
        read_image(tmp_path / "x.png", (4, 4, 3))


FORMATS = {"png": "PNG", "BMP": "BMP", "tif": "TIFF", "ppm": "PPM", "gif": "GIF", "tga": "TGA"}


@pytest.mark.parametrize("ending", FORMATS)
def test_formats_without_loss_are_read_to_the_pixel(tmp_path, ending):
    expected = pixels(3, 5, 1).repeat(3, axis=2) if ending == "gif" else pixels(3, 5, 3)
    Image.fromarray(expected).save(tmp_path / f"x.{ending}", format=FORMATS[ending])
    assert is_image_name(f"x.{ending}")
    np.testing.assert_array_equal(read_image(tmp_path / f"x.{ending}", (3, 5, 3)), expected)


def test_webp_and_jpeg_of_another_name_are_read(tmp_path):
    expected = pixels(3, 5, 3)
    Image.fromarray(expected).save(tmp_path / "x.webp", lossless=True)
    np.testing.assert_array_equal(read_image(tmp_path / "x.webp", (3, 5, 3)), expected)
    Image.new("RGB", (5, 3), (200, 100, 50)).save(tmp_path / "x.jfif", format="JPEG", quality=100)
    found = read_image(tmp_path / "x.jfif", (3, 5, 3)).astype(int)
    assert np.abs(found - (200, 100, 50)).max() <= 2
    for name in ("x.jfif", "X.WEBP", "x.JPE", "x.tiff"):
        assert is_image_name(name)
    assert not any(map(is_image_name, ("x.eps", "x.pdf", "x.txt", "x", "x.heic", "x.mpg")))


def test_cmyk_half_transparent_and_deep_pixels_have_their_values(tmp_path):
    ink = np.full((2, 3, 4), (255, 0, 0, 0), np.uint8)  # cyan alone
    clear = np.full((2, 3, 4), (200, 100, 0, 51), np.uint8)  # a fifth of it, on white
    deep = np.full((2, 3), 0x80FF, np.uint16)
    sorts = {
        "ink.tif": (Image.fromarray(ink, "CMYK"), (0, 255, 255)),
        "clear.png": (Image.fromarray(clear), (244, 224, 204)),
        "deep.tif": (Image.fromarray(deep), (128, 128, 128)),
        "deep.png": (Image.fromarray(deep), (128, 128, 128)),
        "bits.png": (Image.fromarray(np.ones((2, 3), bool)), (255, 255, 255)),
    }
    for name, (image, expected) in sorts.items():
        image.save(tmp_path / name)
        found = read_image(tmp_path / name, (2, 3, 3))
        np.testing.assert_array_equal(found, np.full((2, 3, 3), expected), err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_pixels_without_a_known_range_are_refused(tmp_path, dtype):
    Image.fromarray(np.ones((2, 3), dtype)).save(tmp_path / "x.tif")
    with pytest.raises(RequestError, match=r"x\.tif: expected 8 or 16 bits for each channel"):
        read_image(tmp_path / "x.tif", (2, 3, 3))


@pytest.mark.parametrize("ending", ["gif", "tif", "png", "webp"])
def test_the_first_of_several_frames_is_read_with_a_note(folder, tmp_path, ending):
    frames = [Image.new("RGB", (4, 4), (value,) * 3) for value in (0, 255)]
    path = folder / f"cat/several.{ending}"
    options = {"lossless": True} if ending == "webp" else {}
    frames[0].save(path, save_all=True, append_images=frames[1:], **options)
    assert not read_image(path, (4, 4, 3)).any()
    corpus = opened(ImageFolder(path=str(folder), size=8), tmp_path)
    assert corpus.notes[1:] == ("1 file has several images, of which the first is read.",)


def test_file_names_that_are_not_utf8_are_read_and_shown_with_escapes(folder, tmp_path):
    (folder / "cat/00.png").rename(folder / "cat/00\udce9.png")
    images = opened(ImageFolder(path=str(folder), size=8), tmp_path).items()
    assert next(images).name == "cat/00\\xe9.png"


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("ending", ["png", "tif", "webp"])
def test_images_are_rotated_as_by_pil(tmp_path, orientation, ending):
    image = Image.fromarray(pixels(3, 5, 3))
    exif = image.getexif()
    exif[0x0112] = orientation
    image.save(tmp_path / f"turned.{ending}", exif=exif, lossless=True)
    image.getexif()[0x0112] = orientation
    expected = np.asarray(ImageOps.exif_transpose(image))
    found = read_image(tmp_path / f"turned.{ending}", expected.shape)
    np.testing.assert_array_equal(found, expected)


# Published ones


def write_idx(path: Path, values: np.ndarray) -> None:
    header = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    path.write_bytes(gzip.compress(header + values.tobytes()))


@pytest.fixture
def fashion(tmp_path) -> Path:
    """Fashion-MNIST in its format, with 40 images to train on and 20 to test on."""
    for name, count in (("train", 40), ("t10k", 20)):
        write_idx(tmp_path / f"{name}-images-idx3-ubyte.gz", pixels(count, 28, 28))
        labels = (np.arange(count) % 10).astype(np.uint8)
        write_idx(tmp_path / f"{name}-labels-idx1-ubyte.gz", labels)
    return tmp_path


def test_fashion_mnist_is_read_in_its_format(fashion):
    corpus = opened(FashionMnist(path=str(fashion)), fashion)
    images = list(corpus.items("test"))
    assert len(images) == 20 and len(list(corpus.items())) == 40
    raw = gzip.decompress((fashion / "t10k-images-idx3-ubyte.gz").read_bytes())
    np.testing.assert_array_equal(
        images[3].pixels[..., 0], np.frombuffer(raw, np.uint8)[16:].reshape(20, 28, 28)[3]
    )
    assert images[9].label == "ankle boot" and images[3].name == "test 3"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: path.unlink(), r"expected train-labels-idx1-ubyte\.gz in it"),
        (lambda path: path.write_bytes(path.read_bytes()[:20]), "can't be read: "),
        (lambda path: write_idx(path, pixels(3, 2)), "expected an IDX file of bytes with 1 axes"),
        (lambda path: write_idx(path, np.zeros(39, np.uint8)), "expected 40 labels, got 39"),
        (lambda path: write_idx(path, np.full(40, 10, np.uint8)), "expected classes 0 to 9, got 1"),
        (
            lambda path: path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes())[:-1])),
            r"expected 8 \+ 40 bytes, got 47 bytes",
        ),
    ],
)
def test_wrong_files_of_fashion_mnist_are_refused(fashion, change, message):
    change(fashion / "train-labels-idx1-ubyte.gz")
    with pytest.raises(RequestError, match=message):
        FashionMnist(path=str(fashion)).open(fashion)


def test_fashion_mnist_with_another_image_size_is_refused(fashion):
    write_idx(fashion / "train-images-idx3-ubyte.gz", pixels(40, 8, 9))
    with pytest.raises(RequestError, match="expected images of 28 x 28 pixels, got 8 x 9"):
        FashionMnist(path=str(fashion)).open(fashion)


def test_an_unpacked_file_is_read_too(tmp_path):
    values = pixels(3, 2, 2)
    write_idx(tmp_path / "x.gz", values)
    (tmp_path / "x").write_bytes(gzip.decompress((tmp_path / "x.gz").read_bytes()))
    np.testing.assert_array_equal(read_idx(tmp_path / "x", 3), values)


@pytest.fixture
def cifar(tmp_path) -> Path:
    """CIFAR-10's binary version, with four images a file."""
    with tarfile.open(tmp_path / "cifar-10-binary.tar.gz", "w:gz") as archive:
        for name in (*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"):
            records = pixels(4, 3073)
            records[:, 0] = np.arange(4) % 10
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
            info.size = records.size
            archive.addfile(info, io.BytesIO(records.tobytes()))
    return tmp_path / "cifar-10-binary.tar.gz"


def test_cifar10_is_read_in_its_format_from_archive_and_folder(cifar, tmp_path):
    corpus = opened(Cifar10(path=str(cifar)), tmp_path)
    assert len(list(corpus.items())) == 20
    image = list(corpus.items("test"))[1]
    with tarfile.open(cifar) as archive:
        archive.extractall(tmp_path / "there", filter="data")
    raw = (tmp_path / "there/cifar-10-batches-bin/test_batch.bin").read_bytes()[3073:6146]
    assert image.label == cifar10.CLASSES[raw[0]] == "automobile"
    plane = np.frombuffer(raw, np.uint8)[1:].reshape(3, 32, 32)
    for channel in range(3):
        np.testing.assert_array_equal(image.pixels[..., channel], plane[channel])
    same = opened(Cifar10(path=str(tmp_path / "there")), tmp_path)
    assert same.digest() == corpus.digest()


def test_wrong_archives_of_cifar10_are_refused(cifar, tmp_path):
    content = cifar.read_bytes()
    checksum = content[:-8] + bytes([content[-8] ^ 1]) + content[-7:]
    for damaged in (content[: len(content) // 2], checksum):
        cifar.write_bytes(damaged)
        with pytest.raises(RequestError, match="can't be read: "):
            Cifar10(path=str(cifar)).open(tmp_path)
    folder = tmp_path / "there"
    folder.mkdir()
    with pytest.raises(RequestError, match=r"expected the binary version of CIFAR-10, got no data"):
        Cifar10(path=str(folder)).open(tmp_path)
    for name in (*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"):
        (folder / f"{name}.bin").write_bytes(bytes(3072))
    with pytest.raises(RequestError, match="expected records of 3,073 bytes, got 3,072 bytes"):
        Cifar10(path=str(folder)).open(tmp_path)


def test_downloads_are_checked_by_the_published_digest(tmp_path):
    from download_server import serving

    for module, made in ((cifar10, Cifar10), (fashion_mnist, FashionMnist)):
        assert all(len(digest) == 64 for digest in made.known.values()), module
    with serving({"/x/" + name: b"something else" for name in Cifar10.known}) as server:
        corpus = Cifar10(url=f"{server.url}/x/cifar-10-binary.tar.gz")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Cifar10, "usual_url", corpus.url)
            with pytest.raises(RequestError, match="expected a file with SHA-256 c4a38c50"):
                corpus.open(tmp_path / "cache")
        assert corpus.location(tmp_path / "cache") is None
