"""Images into classes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.config.options import option_class
from attnlab.encoders.opening import open_image_source, save_source, saved_image_source
from attnlab.errors import RequestError
from attnlab.records.assets import read_assets
from attnlab.records.files import write_json
from attnlab.tasks.base import Report, Task, require_part
from attnlab.tasks.classification.corpora.division import class_names, divided
from attnlab.tasks.classification.images.corpora.image_corpus import ImageCorpus, LabelledImage
from attnlab.tasks.classification.images.corpora.image_files import read_image
from attnlab.tasks.classification.images.data import LabelledImages
from attnlab.tasks.classification.images.part import ImagePart
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.report import build_report
from attnlab.tasks.classification.task import Classify, probabilities
from attnlab.tasks.declaration import Kind, Progress

if TYPE_CHECKING:
    import keras

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.encoders.hub_images import ImageSource
    from attnlab.tasks.classification.images.models.vision_transformer import VisionTransformer

_FILE = "classes.json"
_BATCH = 256


class Images(Task):
    """Sort a corpus's images into its classes.

    Attributes:
        monitor: the validation metric that chooses the best epoch, and its direction.
        classes: names, in the order of their numbers, once the corpus is loaded or read.
        class_counts: training items of each class, in the same order.
        shape: (height, width, channels) of an image.
        data: the corpus, once it is loaded.

    The settings are those of conf/task/images.yaml; `cache` is the folder of downloads.
    """

    kind: ClassVar[Kind] = KIND
    name: ClassVar[str] = "images"
    monitor: ClassVar[tuple[str, str]] = ("val_loss", "min")
    classes: Sequence[str]
    class_counts: Mapping[str, int]
    shape: tuple[int, int, int]
    data: LabelledImages
    source: ImageSource | None = None  # of an encoder that was trained before
    _is_saved = False  # whether the model gets the weights of a run

    loss = staticmethod(Classify.loss)

    def __init__(
        self,
        *,
        corpus: ImageCorpus,
        cache: Path,
        flip: bool = True,
        shift: int = 0,
        encoder: str | None = None,
    ) -> None:
        self.corpus, self.cache = corpus, Path(cache).expanduser()
        self.augmentation = {"flip": flip, "shift": shift}
        self.shape, self.encoder = corpus.shape, encoder

    def load(self, seed: int = 0, progress: Progress | None = None) -> LabelledImages:
        """Find the corpus, and divide it by the seed.

        Raises:
            RequestError: the corpus is missing, damaged, too small, or has one class; there is no
                such encoder.
        """
        if self.encoder and self.source is None:
            self.source = open_image_source(self.encoder)
        self.corpus.open(self.cache, progress)
        parts = divided(self.corpus, seed)
        self.classes = class_names(parts)
        decisive = json.dumps([self.corpus.digest(), seed])
        self.data = LabelledImages(
            name=self.corpus.name,
            source=self.corpus.origin,
            digest=hashlib.sha256(decisive.encode()).hexdigest(),
            classes=self.classes,
            parts={name: self._part(images) for name, images in parts.items()},
            said=self.corpus.notes,
            left_out=self.corpus.left_out,
        )
        self.class_counts = self.data.class_counts()
        return self.data

    def _part(self, images: Sequence[LabelledImage]) -> ImagePart:
        numbers = {label: number for number, label in enumerate(self.classes)}
        return ImagePart(
            names=[each.name for each in images],
            pixels=np.stack([each.pixels for each in images]),
            labels=np.array([numbers[each.label] for each in images], np.int32),
        )

    def build(self, attention: Callable[[], Attention], model: Option) -> VisionTransformer:
        """The classifier, its weights drawn: (B, H, W, C) pixels to (B, classes) logits.

        Raises:
            RequestError: there is no such model for this task, or its parts don't fit.
        """
        from attnlab.encoders.tuning import begin

        found = self._build(attention, model, len(self.classes), self.source)
        if not self._is_saved:
            begin(found)
        return found

    def check(self, attention: Callable[[], Attention], model: Option) -> None:
        """Refuse what `build` would, whatever the corpus; called before it is read."""
        self._build(attention, model, classes=2, source=None)

    def _build(
        self,
        attention: Callable[[], Attention],
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
                f"task.encoder: expected null, since model=vit has none, got {self.encoder}."
            )
        return build_vision_transformer(attention, self.shape, **given)

    def evaluate(self, model: keras.Model, part: str = "test") -> Report:
        """Classify a part and score it beside the baselines.

        Raises:
            RequestError: the run has no such part.
        """
        require_part(self.data.parts, part)
        logits = model.predict(self.data.parts[part].pixels, batch_size=_BATCH, verbose=0)
        return self.report(logits, part)

    def report(self, logits: np.ndarray, part: str = "test") -> Report:
        """Score the logits (N, C) of one part beside the baselines."""
        return build_report(self.data, part, probabilities(logits))

    def serve(self, model: keras.Model, inputs: Any = None) -> np.ndarray:
        """The class of each image, (N, height, width, channels) of 0 to 255, to (N,).

        Grey images may lack the last axis, and a table has a pixel a column, row by row.

        Raises:
            RequestError: the inputs are none, of another size, or outside of 0 to 255.
        """
        best = self.shares(model, list(self._pixels(inputs))).argmax(axis=-1)
        return np.array([self.classes[number] for number in best], dtype=object)

    def _pixels(self, inputs: Any) -> np.ndarray:
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
        return np.rint(found).astype(np.uint8)

    def shares(self, model: keras.Model, images: Sequence[np.ndarray]) -> np.ndarray:
        """The probability of each class for each image, (H, W, C) uint8 each: (N, classes)."""
        batches = [np.stack(images[at : at + _BATCH]) for at in range(0, len(images), _BATCH)]
        logits = [np.asarray(model(batch, training=False)) for batch in batches]
        return probabilities(np.concatenate(logits))

    def read(self, path: Path) -> np.ndarray:
        """An image file as a model of this task reads it; see `read_image`."""
        return read_image(path, self.shape)

    def save(self, folder: Path) -> None:
        """Write the classes, the size of images, and what makes an encoder again."""
        content = {"classes": dict(self.class_counts), "shape": list(self.shape)}
        write_json(folder / _FILE, content)
        if self.source:
            save_source(folder, self.source)

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote; then images can be classified without the corpus.

        Raises:
            RequestError: the file is missing or damaged, or of images of another size.
        """

        def read(content: Mapping[str, Any]) -> tuple[tuple[int, ...], dict[str, int]]:
            counts = {str(name): int(n) for name, n in content["classes"].items()}
            return tuple(int(size) for size in content["shape"]), counts

        counts = read_assets(folder / _FILE, read, expected=self.shape, what="images of")
        self.classes, self.class_counts = [*counts], counts
        self.source, self._is_saved = saved_image_source(folder), True


class Digits(Images):
    """Sort the digits of scikit-learn: none of them is what it was in the mirror."""

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


def served_example(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """An input of the model that MLflow serves, one image, and an output, its class."""
    settings = {key: value for key, value in document["data"].items() if key != "name"}
    shape = option_class("data", document["data"]["name"])(**settings).shape  # type: ignore[call-arg]
    return (
        {"values": np.zeros((1, *shape), int).tolist(), "dtype": "int64"},
        {"values": ["a class"], "dtype": "object"},
    )
