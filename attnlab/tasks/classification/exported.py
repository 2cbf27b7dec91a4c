"""What runs of classification export: from texts in tokens, or images, to probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from attnlab.layers.recurrent import with_whole_loops
from attnlab.tasks.exported import SAMPLE, Example, Exported, one_text
from attnlab.text.cleaning import one_line
from attnlab.text.portable import portable

_FILE = "tokenizer.json"


def exported(trained: Any, count: int) -> Exported:
    """Return the classifier of a run."""
    task, part = trained.task, trained.task.data.parts["test"]
    form = _images if task.has_images else _texts
    after = (
        f"classes = {[*task.classes]!r}",
        'shares = outputs["probabilities"][0]',
        "print(classes[shares.argmax()], shares.max())",
    )
    classes = ", ".join(f"{number} {one_line(name)}" for number, name in enumerate(task.classes))
    common = {"notes": [f"Columns of `probabilities`: {classes}."]}
    common["license"] = task.corpus.license
    common["score"] = "accuracy", lambda found: _accuracy(found, part.labels)
    return form(task, with_whole_loops(trained.model), part, count, after, common)


def _accuracy(found: Any, labels: np.ndarray) -> float:
    shares = np.asarray(found["probabilities"])
    return float(np.mean(shares.argmax(axis=1) == labels[: len(shares)]))


def _images(
    task: Any, model: Any, part: Any, count: int, after: Any, common: dict[str, Any]
) -> Exported:
    pixels = part.pixels[:count]
    return Exported(
        function=lambda images: {"probabilities": _shares(model, images)},
        inputs={"images": ((None, *task.shape), "uint8")},
        items={"images": pixels},
        own=lambda: {"probabilities": task.shares(model, [*pixels])},
        example=Example("Classify an image of pixels from 0 to 255", (SAMPLE,), after),
        **common,
    )


def _texts(
    task: Any, model: Any, part: Any, count: int, after: Any, common: dict[str, Any]
) -> Exported:
    tokens, texts = part.tokens[:count], [*part.texts[:count]]
    made = portable(task.tokenizer, most=task.length, width=task.length)
    known = np.array(made.known if made else range(task.tokenizer.size), np.int32)
    before = one_text(one_line(texts[0])) if made else (SAMPLE,)
    return Exported(
        function=lambda tokens: {"probabilities": _shares(model, tf.gather(known, tokens))},
        inputs={"tokens": ((None, task.length), "int32")},
        items={"tokens": tokens},
        own=lambda: {"probabilities": task.shares(model, texts)},
        example=Example("Classify a text", before, after),
        tokenizers={_FILE: made} if made else {},
        texts={_FILE: (texts, tokens.tolist())} if made else {},
        **common,
    )


def _shares(model: Any, inputs: Any) -> Any:
    return tf.nn.softmax(model(inputs, training=False))
