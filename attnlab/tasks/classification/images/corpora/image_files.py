"""Read image files as pixels; messages name the file."""

from __future__ import annotations

import io
import struct
import warnings
from functools import cache
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from attnlab.errors import RequestError, explained
from attnlab.text.reading import printable

# Formats that Pillow recognises but can't read without another program.
_NOT_READ = {"BUFR", "EPS", "GRIB", "HDF5", "MPEG", "WMF"}
# Formats whose files may contain several images of equal rank.
_OF_SEVERAL = {"AVIF", "FLI", "GIF", "PNG", "TIFF", "WEBP"}
_WHITE = (255, 255, 255, 255)
_ORIENTATION = 0x0112  # in EXIF
# EXIF orientation -> transposition, as in `PIL.ImageOps.exif_transpose`, which fails if another tag
# is invalid.
_UPRIGHT = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}
# The errors that PIL raises for broken files, intended and unintended.
_BROKEN = (OSError, ValueError, SyntaxError, LookupError, TypeError, AttributeError, struct.error)


@cache
def _formats() -> frozenset[str]:
    """Return Pillow's names of the formats that it can read here."""
    from PIL import Image

    Image.init()
    return frozenset(Image.OPEN) - _NOT_READ


@cache
def _endings() -> frozenset[str]:
    from PIL import Image

    known = Image.registered_extensions()
    return frozenset(ending for ending, name in known.items() if name in _formats())


def is_image_name(name: str) -> bool:
    """Whether a file name has the extension, in any case, of an image that Pillow reads."""
    return PurePath(name).suffix.lower() in _endings()


def read_image(path: Path, shape: tuple[int, int, int]) -> np.ndarray:
    """Return the pixels of an image file, (height, width, channels) uint8."""
    return read_image_file(path, shape)[0]


def read_image_file(path: Path, shape: tuple[int, int, int]) -> tuple[np.ndarray, int]:
    """Read an image file as pixels (height, width, channels), and its number of frames.

    The image is rotated as its EXIF data say, transparent parts become white, the colours become
    grey (1 channel) or RGB (3), and bilinear filtering resizes it to height and width. Of 16 bits
    per channel the upper 8 are used. Of several frames, such as the pages of a TIFF, the first is
    read.

    Raises:
        RequestError: the file can't be read, isn't an image that Pillow reads, is damaged, is far
            too large, or has pixels without a known range.
    """
    from PIL import Image, UnidentifiedImageError

    where = printable(str(path))
    with explained(f"{where}: can't be read"):
        content = path.read_bytes()
    height, width, channels = shape
    unreadable = f"{where}: can't be read as an image, such as a PNG or JPEG"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content), formats=[*_formats()]) as image:
                frames = image.n_frames if image.format in _OF_SEVERAL else 1  # type: ignore[attr-defined]
                image.load()
                _check_range(image, where)
                flat = _flat(_upright(image)).convert("L" if channels == 1 else "RGB")
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise RequestError(f"{where}: the image has too many pixels to be read.") from error
    except UnidentifiedImageError as error:
        what = "not a known format" if content else "the file is empty"
        raise RequestError(f"{unreadable}: {what}.") from error
    except RequestError:
        raise
    except _BROKEN as error:
        raise RequestError(f"{unreadable}: {error}.") from error
    if flat.size != (width, height):
        flat = flat.resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(flat, np.uint8).reshape(shape), frames


def _check_range(image: Any, where: str) -> None:
    """Refuse pixels of 32 bits, because the number that means white isn't known."""
    if image.mode == "F" or (image.mode == "I" and image.format not in ("PNG", "PPM")):
        raise RequestError(
            f"{where}: expected 8 or 16 bits for each channel of a pixel, got 32: save it with 8."
        )


def _upright(image: Any) -> Any:
    """Rotate an image as its EXIF data say."""
    from PIL import Image

    way = _UPRIGHT.get(image.getexif().get(_ORIENTATION))
    return image.transpose(Image.Transpose[way]) if way else image


def _flat(image: Any) -> Any:
    """Convert an image to 8 bits per channel without transparency."""
    from PIL import Image

    if image.mode.startswith("I"):  # 16 bits, which PIL would cut off at 255
        return Image.fromarray((np.asarray(image).astype(np.int64) >> 8).astype(np.uint8))
    if "A" not in image.mode and "transparency" not in image.info:
        return image
    image = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, _WHITE), image)
