"""The tasks `images` and `digits`: classify images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.files import read_assets, write_json
from attnlab.tasks.classification.base import BATCH, FILE, ClassificationTask, probabilities
from attnlab.tasks.classification.image_corpora import ImageCorpus, LabelledImage, read_image

if TYPE_CHECKING:
    import keras

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.tasks.classification.vision_transformer import VisionTransformer


class Images(ClassificationTask):
    """Classify the images of a corpus.

    Attributes:
        shape: (height, width, channels) of an image.

    The settings are those of conf/task/images.yaml; `cache` is the folder of downloads.
    """

    name = "images"
    has_images = True

    def __init__(
        self, *, corpus: ImageCorpus, cache: Path, flip: bool = True, shift: int = 0
    ) -> None:
        super().__init__(corpus, cache)
        self.shape, self.augmentation = corpus.shape, {"flip": flip, "shift": shift}

    @property
    def served(self) -> tuple[Any, Any]:  # noqa: D102
        return np.zeros(self.shape, int), "a class"

    def convert(
        self, parts: Mapping[str, Sequence[LabelledImage]]
    ) -> tuple[dict[str, np.ndarray], list[str], list[Any]]:
        """Return the pixels of each part; see `ClassificationTask.convert`."""
        pixels = {name: np.stack([image.pixels for image in part]) for name, part in parts.items()}
        return pixels, [], []

    def build(self, attention: Callable[..., Attention], model: Option) -> VisionTransformer:
        """Return a classifier with drawn weights: (B, H, W, C) pixels to (B, classes) logits."""
        from attnlab.layers.transformer import make_mechanisms
        from attnlab.tasks.classification.vision_transformer import VisionTransformer

        settings = {**model.settings, **self.augmentation, "classes": len(self.classes)}
        network = VisionTransformer(attention=make_mechanisms(attention, settings), **settings)
        network.build((None, *self.shape))
        return network

    def learning(self, model: VisionTransformer, batch: int) -> dict[str, Any]:
        """Return arguments of the learner: whether XLA is faster."""
        from attnlab.training.compilation import XlaLimit, is_faster_with_xla, step_operations

        operations = step_operations(model, batch * model.steps)
        return {"faster_with_xla": is_faster_with_xla(operations, XlaLimit.TRANSFORMER_STACK)}

    def readable(self, inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Return the `pixels` (N, height, width, channels)."""
        return {"pixels": inputs}

    def items(self, inputs: Any) -> list[np.ndarray]:
        """Convert images, (N, height, width, channels) of 0 to 255, to a list.

        Grey images may lack the last axis; a table has one pixel per column, row by row.
        """
        size = " x ".join(map(str, self.shape))
        expected = f"inputs: expected images of {size} numbers from 0 to 255, got"
        try:
            images = np.asarray([] if inputs is None else inputs, np.float64)
            images = images.reshape(len(images), *self.shape)
        except (TypeError, ValueError) as error:
            raise RequestError(f"{expected} shape {np.shape(inputs)}.") from error
        if not len(images):
            raise RequestError(f"{expected} none.")
        if not ((images >= 0) & (images <= 255)).all():
            raise RequestError(f"{expected} {images.min():g} to {images.max():g}.")
        return [*np.rint(images).astype(np.uint8)]

    def read(self, items: Sequence[str | bytes]) -> list[np.ndarray]:
        """Read the pixels of image files, or of their bytes; see `read_image`."""
        return [read_image(item, self.shape) for item in items]

    def shares(self, model: keras.Model, items: Sequence[np.ndarray]) -> np.ndarray:
        """Return the probability of each class for images (H, W, C) uint8: (N, classes)."""
        batches = [np.stack(items[at : at + BATCH]) for at in range(0, len(items), BATCH)]
        logits = [np.asarray(model(batch, training=False)) for batch in batches]
        return probabilities(np.concatenate(logits))

    def save(self, folder: Path) -> None:  # noqa: D102
        write_json(folder / FILE, {"classes": list(self.classes), "shape": list(self.shape)})

    def load_from(self, folder: Path) -> None:  # noqa: D102
        def read(content: Mapping[str, Any]) -> tuple[tuple[int, ...], list[str]]:
            return tuple(map(int, content["shape"])), [*map(str, content["classes"])]

        self.classes = read_assets(folder / FILE, read, expected=self.shape, what="images of")


class Digits(Images):
    """Classify scikit-learn's digits; they aren't mirrored in training, but shifted by a pixel."""

    name = "digits"
