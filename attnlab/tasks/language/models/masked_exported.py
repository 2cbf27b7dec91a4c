"""What runs of masked words export: from texts with masks to the most probable words."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from attnlab.tasks.exported import Exported
from attnlab.tasks.language.data import PADDING
from attnlab.tasks.language.text.masking import MASK
from attnlab.text.portable import portable
from attnlab.text.tokenizers import END

_FILE = "tokenizer.json"


def exported(trained: Any, count: int) -> Exported:
    """Return the most probable word at each place, and its probability."""
    task, model = trained.task, trained.model
    part = task.data.parts["test"]
    targets = part.targets[:count]
    rows = np.where(targets == PADDING, part.tokens[:count], task.mask).astype(np.int32)
    made = portable(
        task.tokenizer, frame=(True, True), most=task.width, width=task.width, mask=MASK
    )
    assert made is not None  # the tokenizer is fitted
    numbers = np.array(made.known, np.int32)

    def function(tokens: Any) -> dict[str, Any]:
        logits = model(tf.gather(numbers, tokens), training=False)
        shares = tf.nn.softmax(logits[..., END + 1 :])
        words = tf.argmax(shares, axis=-1, output_type=tf.int32) + END + 1
        return {"words": words, "probabilities": tf.reduce_max(shares, axis=-1)}

    def outputs() -> dict[str, Any]:
        logits = model.predict(rows, batch_size=32, verbose=0)[..., END + 1 :].astype(np.float64)
        shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        return {
            "words": shares.argmax(axis=-1).astype(np.int32) + END + 1,
            "probabilities": shares.max(axis=-1),
        }

    texts = _texts(task, rows)
    return Exported(
        function=function,
        inputs={"tokens": (None, task.width)},
        items={"tokens": rows.astype(np.int32)},
        outputs=outputs,
        tokenizers={_FILE: made},
        texts={_FILE: (texts, task.rows(texts).tolist())},
        license=task.corpus.license,
        notes=[f"Write a space before and after {MASK}: a mark right after it is another token."],
    )


def _texts(task: Any, rows: np.ndarray) -> list[str]:
    """Return the rows as texts with masks."""
    found = []
    for row in rows:
        tokens = [int(token) for token in row if token > END]
        pieces = np.split(tokens, np.flatnonzero(np.equal(tokens, task.mask)))
        texts = task.tokenizer.decode([piece[piece != task.mask].tolist() for piece in pieces])
        found.append(f" {MASK} ".join(text.strip() for text in texts).strip())
    return found
