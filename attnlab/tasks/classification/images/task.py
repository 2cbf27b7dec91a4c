"""The tasks `images` and `digits`: classify images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.config.options import option_class
from attnlab.encoders.opening import open_image_source, save_source, saved_image_source
from attnlab.errors import RequestError
from attnlab.records.files import read_assets, write_json
from attnlab.tasks.classification.base import BATCH, ClassificationTask, probabilities
from attnlab.tasks.classification.data import LabelledImages
from attnlab.tasks.classification.images.corpora.image_corpus import ImageCorpus, LabelledImage
from attnlab.tasks.classification.images.corpora.image_files import read_image
from attnlab.tasks.classification.part import ImagePart
from attnlab.tasks.declaration import Progress
from attnlab.tasks.text_corpus import digest_of

if TYPE_CHECKING:
    import keras

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.encoders.hub_images import ImageSource
    from attnlab.tasks.classification.images.models.vision_transformer import VisionTransformer

_FILE = "classes.json"


class Images(ClassificationTask):
    """Classify the images of a corpus.

    Attributes:
        shape: (height, width, channels) of an image.

    The settings are those of conf/task/images.yaml; `cache` is the folder of downloads.
    """

    name: ClassVar[str] = "images"
    has_images: ClassVar[bool] = True
    shape: tuple[int, int, int]
    data: LabelledImages
    source: ImageSource | None = None  # the source of a pretrained encoder
    _is_saved = False  # whether the model will get the weights of a run

    def __init__(
        self,
        *,
        corpus: ImageCorpus,
        cache: Path,
        flip: bool = True,
        shift: int = 0,
        encoder: str | None = None,
    ) -> None:
        super().__init__(corpus, cache)
        self.augmentation = {"flip": flip, "shift": shift}
        self.shape, self.encoder = corpus.shape, encoder

    def load(self, seed: int = 0, progress: Progress | None = None) -> LabelledImages:
        """Load the corpus, after checking that the encoder exists; see `ClassificationTask`."""
        if self.encoder and self.source is None:
            self.source = open_image_source(self.encoder)
        return super().load(seed, progress)

    def _data(self, parts: Mapping[str, Sequence[LabelledImage]], seed: int) -> LabelledImages:
        return LabelledImages(
            **self._described(),
            digest=digest_of([self.corpus.digest(), seed]),
            parts={name: self._part(images) for name, images in parts.items()},
        )

    def _part(self, images: Sequence[LabelledImage]) -> ImagePart:
        return ImagePart(
            names=[each.name for each in images],
            pixels=np.stack([each.pixels for each in images]),
            labels=self._labels(images),
        )

    def build(self, attention: Callable[..., Attention], model: Option) -> VisionTransformer:
        """Return a classifier, drawn or pretrained: (B, H, W, C) pixels to (B, classes) logits.

        Raises:
            RequestError: the task has no such model, or its settings contradict each other.
        """
        from attnlab.encoders.tuning import begin

        found = self._build(attention, model, len(self.classes), self.source)
        if not self._is_saved:
            begin(found)
        return found

    def check(self, attention: Callable[..., Attention], model: Option) -> None:
        """Refuse settings that `build` refuses with any corpus, before the corpus is read."""
        self._build(attention, model, classes=2, source=None)

    def _build(
        self,
        attention: Callable[..., Attention],
        model: Option,
        classes: int,
        source: ImageSource | None,
    ) -> VisionTransformer:
        from attnlab.tasks.classification.images.models.pretrained import build_pretrained
        from attnlab.tasks.classification.images.models.vision_transformer import (
            build_vision_transformer,
        )

        given = {**model.settings, **self.augmentation, "classes": classes}
        if model.name == "pretrained":
            source = source or open_image_source(self.encoder or given["path"])
            return build_pretrained(attention, self.shape, source=source, **given)
        if self.encoder:
            raise RequestError(
                f"task.encoder={self.encoder}: must be null with model=vit, which has no encoder."
            )
        return build_vision_transformer(attention, self.shape, **given)

    def learning(self, model: VisionTransformer, batch: int) -> dict[str, Any]:
        """Return arguments of the learner: whether XLA is faster."""
        from attnlab.training.steps import Border, is_faster_with_xla, step_operations

        operations = step_operations(model, batch * model.steps)
        return {"faster_with_xla": is_faster_with_xla(operations, Border.TRANSFORMER_STACK)}

    def examples(self, model: VisionTransformer, inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Return `pixels` (N, height, width, channels), and `positions` (P, P) if learned.

        These are those of `VisionTransformer.position_similarity`.
        """
        similarity = model.position_similarity()
        return {"pixels": inputs, **({} if similarity is None else {"positions": similarity})}

    def _items(self, inputs: Any) -> list[np.ndarray]:
        """Convert images, (N, height, width, channels) of 0 to 255, to a list.

        Grey images may lack the last axis; a table has one pixel per column, row by row.

        Raises:
            RequestError: there are no inputs, or one has another size or values outside 0 to 255.
        """
        size = " x ".join(map(str, self.shape))
        expected = f"inputs: expected images of {size} numbers from 0 to 255, got"
        if inputs is None:
            raise RequestError(f"{expected} none.")
        try:
            found = np.asarray(inputs, np.float64)
            found = found.reshape(len(found), *self.shape)
        except (TypeError, ValueError) as error:
            shape = " x ".join(map(str, np.shape(inputs))) if np.shape(inputs) else str(inputs)
            raise RequestError(f"{expected} {shape}.") from error
        if not len(found):
            raise RequestError(f"{expected} none.")
        if not ((found >= 0) & (found <= 255)).all():
            raise RequestError(f"{expected} {found.min():g} to {found.max():g}.")
        return [*np.rint(found).astype(np.uint8)]

    def shares(self, model: keras.Model, items: Sequence[np.ndarray]) -> np.ndarray:
        """Return the probability of each class for images (H, W, C) uint8: (N, classes)."""
        batches = [np.stack(items[at : at + BATCH]) for at in range(0, len(items), BATCH)]
        logits = [np.asarray(model(batch, training=False)) for batch in batches]
        return probabilities(np.concatenate(logits))

    def read(self, items: Sequence[str]) -> list[np.ndarray]:
        """Read the pixels of image files; see `read_image`."""
        return [read_image(Path(item), self.shape) for item in items]

    def save(self, folder: Path) -> None:
        """Write the classes, the size of images, and the description of an encoder."""
        content = {"classes": dict(self.class_counts), "shape": list(self.shape)}
        write_json(folder / _FILE, content)
        if self.source:
            save_source(folder, self.source)

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote, which is all that classifying images needs: no corpus.

        Raises:
            RequestError: the file is missing or damaged, or its images have another size.
        """

        def read(content: Mapping[str, Any]) -> tuple[tuple[int, ...], dict[str, int]]:
            return tuple(map(int, content["shape"])), self.saved_counts(content)

        counts = read_assets(folder / _FILE, read, expected=self.shape, what="images of")
        self.classes, self.class_counts = [*counts], counts
        self.source, self._is_saved = saved_image_source(folder), True

    @classmethod
    def served(cls, document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return one image, and its class."""
        settings = {key: value for key, value in document["data"].items() if key != "name"}
        corpus: type[ImageCorpus] = option_class("data", document["data"]["name"])
        return (
            {"values": np.zeros((1, *corpus(**settings).shape), int).tolist(), "dtype": "int64"},
            {"values": ["a class"], "dtype": "object"},
        )


class Digits(Images):
    """Classify scikit-learn's digits; they aren't mirrored in training, but shifted by a pixel."""

    name: ClassVar[str] = "digits"

    def __init__(
        self,
        *,
        corpus: ImageCorpus,
        cache: Path,
        flip: bool = False,
        shift: int = 1,
        encoder: str | None = None,
    ) -> None:
        super().__init__(corpus=corpus, cache=cache, flip=flip, shift=shift, encoder=encoder)
