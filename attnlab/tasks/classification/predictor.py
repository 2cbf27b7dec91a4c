"""The predictions of a trained classifier: the command `attnlab classify`."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator, Sequence
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError
from attnlab.tasks.predictor import Inputs, Request, Setting, TextPredictor
from attnlab.text.reading import check_utf8
from attnlab.text.unknown import unknown_column

if TYPE_CHECKING:
    import numpy as np

    from attnlab.views.records import Figure

    # A text or an image file, and the probability of each class (C,); None for a blank line.
    Classified = tuple[str, np.ndarray | None]


class ClassPredictor(TextPredictor):
    """Classify TEXTs, files, or standard input line by line, with a trained RUN.

    A run on images classifies image files, such as PNG or JPEG, of any size, grey, in colour or
    transparent.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Prints one class
    per line. --scores puts its probability before it, and the words that the model doesn't know
    after it, with tabs between the columns. --json prints one object per line, whose `classes` are
    the classes with their numbers of training items.
    """

    takes = Inputs(
        "TEXT",
        "[TEXT | FILE.png]...",
        files="A file with one text, or an image file; may be repeated.",
    )
    settings = (Setting("scores", "Print the probability of the class before it.", bool),)
    figure = Setting(
        "attention",
        "Draw the attention weights of the words of one text, or the attention maps of images.",
    )

    def __init__(self, request: Request, *, scores: bool) -> None:
        self._scores = scores
        self._has_images = _has_images(request.run.read_task())
        if self._has_images:
            self.noun, self.most_drawn = "image", 16
        super().__init__(request)

    @classmethod
    def prefers(cls, task: str, words: Sequence[str]) -> bool:
        """Prefer a run on images for names of image files, else a run on texts."""
        return _has_images(task) == any(map(_is_named_as_image, words))

    def read(self) -> Sequence[str]:
        """Return the texts, or the image files."""
        if self._has_images:
            return self._image_files()
        for name in filter(isfile, self.request.words):
            self.request.report(
                f"warning: {name} is classified as a text; --file {name} reads the file"
            )
        return super().read()

    def _image_files(self) -> list[str]:
        found = [*self.request.words, *map(str, self.request.files)]
        if not found:
            raise RequestError("FILE.png: the run classifies images; give image files.")
        for number, name in enumerate(found, 1):
            check_utf8(name, f"FILE.png {number}")
            if not isfile(name):
                what = "a folder" if Path(name).is_dir() else "no such file"
                raise RequestError(f"FILE.png: expected an image file, got {name}, {what}.")
        return found

    def check(self, text: str, where: str) -> None:
        """Refuse an empty text."""
        if not text.strip():
            raise RequestError(f"{where}: expected words, got an empty text.")

    def predict(self, inputs: Sequence[str]) -> Iterator[Classified]:
        """Yield the probabilities of each item; None for a blank line, which stays blank."""
        items = [item for item in inputs if item.strip()]
        if not self._has_images:
            self.warn_unknown(items)
            self.warn_cut(items, self.task.length)
        shares = iter(self.task.shares(self.model, self.task.read(items)) if items else ())
        for item in inputs:
            yield item, next(shares) if item.strip() else None

    def lines(self, result: Classified) -> list[str]:
        """Return the class, or an empty line for a blank line."""
        item, shares = result
        if shares is None:
            return [""]
        best = int(shares.argmax())
        name = [*self.task.class_counts][best]
        if not self._scores:
            return [name]
        return [f"{shares[best]:.4f}\t{name}{unknown_column(self.task.unknown(item))}"]

    def content(self, result: Classified) -> dict[str, Any]:
        """Return the class and the probabilities; None and {} for a blank line."""
        item, shares = result
        if shares is None:
            return {self.noun: item, "class": None, "probabilities": {}}
        counts = dict(self.task.class_counts)
        found = {name: round(float(each), 6) for name, each in zip(counts, shares, strict=True)}
        content = {
            self.noun: item,
            "class": [*counts][int(shares.argmax())],
            "probabilities": found,
            "classes": counts,  # with their numbers of training items
        }
        if not self._has_images:
            content["unknown"] = [*dict.fromkeys(self.task.unknown(item))]
        return content

    def draw(self, results: Sequence[Classified], **settings: Any) -> Figure:
        """Draw the attention weights of a text's words, or the attention maps of images."""
        items = self.task.read([item for item, _ in results])
        return self._image_maps(items) if self._has_images else self._words(items)

    def _words(self, texts: Sequence[str]) -> Figure:
        from attnlab.tasks.classification.shown.texts import attention_figure

        if not texts[0].strip():
            raise RequestError("--attention: the text has no words; give one with words.")
        tokens = self.task.tokens(texts)
        weights = self.model.attend(tokens)
        if weights is None:
            return None
        kept = {
            "weights": weights.numpy(),
            "tokens": self.task.words(tokens),
            "prediction": self.task.serve(self.model, texts),
        }
        return attention_figure(kept, self.trained.config.names)

    def _image_maps(self, images: Sequence[np.ndarray]) -> Figure:
        import numpy as np

        from attnlab.tasks.classification.shown.images import attention_figure

        pixels = np.stack(images)
        kept = {
            "weights": self.model.attend(pixels).numpy(),
            "pixels": pixels,
            "prediction": self.task.serve(self.model, pixels),
        }
        return attention_figure(kept, self.trained.config.names)


def _has_images(task: str) -> bool:
    from attnlab.tasks.classification.base import has_images

    return has_images(task)


def _is_named_as_image(word: str) -> bool:
    return (mimetypes.guess_type(word)[0] or "").startswith("image/")
