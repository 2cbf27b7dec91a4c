"""What runs of answering export: from a question and a text to shares of starts and ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from attnlab.layers.recurrent import with_whole_loops
from attnlab.tasks.exported import Exported
from attnlab.text.cleaning import normalize
from attnlab.text.portable import portable
from attnlab.text.tokenizers import END, START

_FILE = "tokenizer.json"


def exported(trained: Any, count: int) -> Exported:
    """Return the reader of a run; a text longer than a window needs several rows."""
    task, model = trained.task, with_whole_loops(trained.model)
    part = task.data.parts["test"]
    rows = part.rows.tokens[:count].astype(np.int32)
    questions = [normalize(question.question) for question in part.questions[:count]]
    tokenizer = portable(task.tokenizer)
    ids = np.array(tokenizer.model_ids if tokenizer else range(task.tokenizer.size), np.int32)

    def with_names(logits: Any) -> dict[str, Any]:
        shares = tf.nn.softmax(logits)
        return {"start": shares[:, 0], "end": shares[:, 1]}

    return Exported(
        function=lambda tokens: with_names(model(tf.gather(ids, tokens), training=False)),
        inputs={"tokens": (None, rows.shape[1])},
        items={"tokens": rows},
        outputs=lambda: {
            name: shares.numpy()
            for name, shares in with_names(model.predict(rows, batch_size=256, verbose=0)).items()
        },
        tokenizers={_FILE: tokenizer} if tokenizer else {},
        texts={_FILE: (questions, task.tokenizer.encode(questions))} if tokenizer else {},
        license=task.corpus.license,
        notes=[
            f"A row has START ({START}), the question and END ({END}) in "
            f"{task.question_places} places, and {task.text_places} places of the text; 0 fills "
            "up both. `start` and `end` (N, places of the text + 1) are shares; place 0 means "
            "that there is no answer. The answer is the span with the largest start * end.",
        ],
    )
