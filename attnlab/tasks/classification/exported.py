"""What runs of classification export: from texts in tokens, or images, to probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from attnlab.layers.recurrent import with_whole_loops
from attnlab.tasks.exported import Exported
from attnlab.text.cleaning import one_line
from attnlab.text.portable import portable

_FILE = "tokenizer.json"


def exported(trained: Any, count: int) -> Exported:
    """Return the classifier of a run."""
    task, model = trained.task, with_whole_loops(trained.model)
    part = task.data.parts["test"]
    classes = ", ".join(f"{number} {one_line(name)}" for number, name in enumerate(task.classes))
    common: dict[str, Any] = {
        "license": task.corpus.license,
        "notes": [f"Columns of `probabilities`: {classes}."],
    }
    if task.has_images:
        pixels = part.inputs[:count]
        return Exported(
            function=lambda images: {"probabilities": _shares(model, images)},
            inputs={"images": (None, *task.shape)},
            items={"images": pixels},
            outputs=lambda: {"probabilities": task.shares(model, [*pixels])},
            **common,
        )
    tokens, texts = part.inputs[:count], [*part.names[:count]]
    tokenizer = portable(task.tokenizer, most=task.length, width=task.length)
    ids = np.array(tokenizer.model_ids if tokenizer else range(task.tokenizer.size), np.int32)
    return Exported(
        function=lambda tokens: {"probabilities": _shares(model, tf.gather(ids, tokens))},
        inputs={"tokens": (None, task.length)},
        items={"tokens": tokens.astype(np.int32)},
        outputs=lambda: {"probabilities": task.shares(model, texts)},
        tokenizers={_FILE: tokenizer} if tokenizer else {},
        texts={_FILE: (texts, tokens.tolist())} if tokenizer else {},
        **common,
    )


def _shares(model: Any, inputs: Any) -> Any:
    return tf.nn.softmax(model(inputs, training=False))
