"""The predictions of a trained classifier: the command `attnlab classify`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os.path import isfile
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError
from attnlab.tasks.predictor import Explored, Inputs, Predictor, Request, Setting
from attnlab.text.reading import check_utf8
from attnlab.text.vocabulary import unknown_column

if TYPE_CHECKING:
    from attnlab.views.records import Figure


class ClassPredictor(Predictor):
    """Classify TEXTs, files, or standard input line by line, with a trained RUN.

    A run on images classifies image files, such as PNG or JPEG, of any size, grey, in colour or
    transparent.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Prints one class
    per line. --scores puts its probability before it, and the words that the model doesn't know
    after it, with tabs between the columns. --json prints one object per line.
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
        from attnlab.tasks.classification.base import has_images

        self._scores, self._has_images = scores, has_images(request.run.read_task())
        if self._has_images:
            self.noun, self.most_drawn, self.fields = "image", 16, {"image": "image"}
            self.takes = Inputs("FILE.png", "FILE.png...", required=True)
        super().__init__(request)

    def read(self) -> Sequence[str]:
        """Return the texts, or the names of image files."""
        if not self._has_images:
            for name in filter(isfile, self.request.words):
                self.request.report(
                    f"warning: {name} is classified as a text; --file {name} reads the file"
                )
            return super().read()
        names = [*self.request.words, *map(str, self.request.files)]
        for number, name in enumerate(names, 1):
            check_utf8(name, f"FILE.png {number}")
            if not isfile(name):
                raise RequestError(f"FILE.png: expected an image file, got {name}, no such file.")
        return names

    def check(self, text: str, where: str) -> None:
        """Refuse an empty text."""
        if not text.strip():
            raise RequestError(f"{where}: expected words, got an empty text.")

    def predict(self, inputs: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """Yield the class and the probabilities; None and {} for a blank line."""
        items = [item for item in inputs if item.strip()]
        if not self._has_images:
            self.warn(items, self.task.length)
        shares = iter(self.task.shares(self.model, self.task.read(items)) if items else ())
        for item in inputs:
            result: dict[str, Any] = {self.noun: item, "class": None, "probabilities": {}}
            if item.strip():
                probabilities = next(shares)
                result["class"] = self.task.classes[int(probabilities.argmax())]
                result["probabilities"] = {
                    name: round(float(share), 6)
                    for name, share in zip(self.task.classes, probabilities, strict=True)
                }
            if not self._has_images:
                result["unknown"] = self.unknown(item)
            yield result

    def starts(self) -> Mapping[str, Any]:
        """Return a text; of a run on images a test image that was recorded, else a black one."""
        if not self._has_images:
            return super().starts()
        from attnlab.tasks.attention import read_attention
        from attnlab.tasks.classification.image_corpora import png_of

        recorded = read_attention(self.request.run)
        pixels = recorded.final()["pixels"][0] if recorded else self.task.served[0]
        return {"image": png_of(pixels.astype("uint8"))}

    def explore(self, entries: Mapping[str, Any]) -> Explored:
        """Return the class of a text, or of an image; see `Predictor`."""
        import numpy as np

        (item,) = entries.values()
        (result,) = self.predict([item])
        classes, name = self.task.classes, result["class"]
        if name is None:
            return Explored("")
        chosen, names = np.array([classes.index(name)]), lambda places: [classes[n] for n in places]
        if self._has_images:
            inputs = np.stack(self.task.read([item]))
            seen = {"image": inputs[0], "grid": self.model.grid}
            return Explored(name, inputs, chosen, names, **seen)
        inputs = self.task.tokens([item])
        (labels,) = self.task.words(inputs).tolist()
        count = np.count_nonzero(inputs)
        words = {
            "text": labels,
            "class token and text": ["<class>", *labels],
            # of pretrained encoders
            "start, text and end": ["<start>", *labels[:count], "<end>", *labels[count:]],
            "class": [name],
        }
        return Explored(name, inputs, chosen, names, words)

    def lines(self, result: Mapping[str, Any]) -> list[str]:
        """Return the class, or an empty line for a blank line."""
        name = result["class"]
        if name is None or not self._scores:
            return [name or ""]
        share = result["probabilities"][name]
        return [f"{share:.4f}\t{name}{unknown_column(result.get('unknown', ()))}"]

    def draw(self, results: Sequence[Mapping[str, Any]], **settings: Any) -> Figure | None:
        """Draw the attention weights of a text's words, or the attention maps of images."""
        import numpy as np

        from attnlab.tasks.classification.shown import attention_figure

        items = self.task.read([result[self.noun] for result in results])
        if not self._has_images and not items[0].strip():
            raise RequestError("--attention: the text has no words; give one with words.")
        inputs = np.stack(items) if self._has_images else self.task.tokens(items)
        weights = self.model.attention_weights(inputs)
        if weights is None:
            return None
        classes = np.array([result["class"] for result in results], object)
        arrays = {"weights": weights.numpy(), "prediction": classes, **self.task.readable(inputs)}
        return attention_figure(arrays, self.trained.config.names)
