"""Image files as pixels; what is wrong is named by its file."""

from __future__ import annotations

import io
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.errors import RequestError

SUFFIXES = (".png", ".jpg", ".jpeg")
_FORMATS = ("PNG", "JPEG")
_WHITE = (255, 255, 255, 255)
_ORIENTATION = 0x0112  # in EXIF
# By its number, as `PIL.ImageOps.exif_transpose` has it, which fails where another tag is odd.
_UPRIGHT = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}
# PIL's words for broken files, and what it doesn't foresee in them.
_BROKEN = (OSError, ValueError, SyntaxError, LookupError, TypeError, AttributeError, struct.error)


def read_image(path: Path, shape: tuple[int, int, int]) -> np.ndarray:
    """The pixels of a PNG or JPEG file in a shape: (height, width, channels) uint8.

    It is turned as its EXIF says, laid on white where it is transparent, made grey or coloured as
    the channels (1 or 3) want it, and stretched or shrunk by bilinear filtering to height and
    width.

    Raises:
        RequestError: it can't be read, is no such image, is broken, or far too large.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        content = path.read_bytes()
    except OSError as error:
        raise RequestError(f"{path}: can't be read ({error.strerror}).") from error
    height, width, channels = shape
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content), formats=_FORMATS) as image:
                image.load()
                flat = _flat(_upright(image)).convert("L" if channels == 1 else "RGB")
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise RequestError(f"{path}: expected an image, got one of too many pixels.") from error
    except UnidentifiedImageError as error:
        what = "there is none in it" if content else "the file is empty"
        raise RequestError(f"{path}: expected a whole PNG or JPEG image, but: {what}.") from error
    except _BROKEN as error:
        raise RequestError(f"{path}: expected a whole PNG or JPEG image, but: {error}.") from error
    if flat.size != (width, height):
        flat = flat.resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(flat, np.uint8).reshape(shape)


def _upright(image: Any) -> Any:
    """An image turned as its EXIF says."""
    from PIL import Image

    way = _UPRIGHT.get(image.getexif().get(_ORIENTATION))
    return image.transpose(Image.Transpose[way]) if way else image


def _flat(image: Any) -> Any:
    """An image without transparency, of 8 bits a channel."""
    from PIL import Image

    if image.mode.startswith("I"):  # 16 bits, which PIL would cut off at 255
        return Image.fromarray((np.asarray(image).astype(np.int64) >> 8).astype(np.uint8))
    if "A" not in image.mode and "transparency" not in image.info:
        return image
    image = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, _WHITE), image)
