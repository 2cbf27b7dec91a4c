"""What runs of language models export: from tokens to probabilities of the next one."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from attnlab.errors import RequestError
from attnlab.tasks.exported import Exported
from attnlab.tasks.language.text.vocabulary import TextVocabulary, token_ids
from attnlab.text.portable import portable

_FILE = "tokenizer.json"


def exported(trained: Any, count: int) -> Exported:
    """Return the model of a text, with the ids of `tokenizer.json` as its tokens.

    The file has ids that the model lacks: they are read as its first token, and have probability 0.
    """
    task, model, vocabulary = trained.task, trained.model, trained.task.vocabulary
    if not isinstance(vocabulary, TextVocabulary):
        raise RequestError(f"RUN: expected a run on a text, got one of data={task.corpus.name}.")
    ids, numbers = vocabulary.ids, vocabulary.numbers
    windows = task.scored_rows("test").tokens[:count]
    prompts = np.maximum(windows[:, : max(1, windows.shape[1] // 2)], 0)
    tokenizer = portable(vocabulary.tokenizer, clean=None)
    assert tokenizer is not None  # the tokenizer is fitted
    model_tokens = np.maximum(numbers, 0)[tokenizer.model_ids]  # of each id of the file
    # The column of each id in the model's probabilities; the one after the last has zeros.
    columns = np.where(numbers < 0, vocabulary.size, numbers)

    def function(tokens: Any) -> dict[str, Any]:
        shares = tf.nn.softmax(model(tf.gather(model_tokens, tokens), training=False)[:, -1])
        return {"probabilities": tf.gather(tf.pad(shares, [[0, 0], [0, 1]]), columns, axis=1)}

    def outputs() -> dict[str, Any]:
        logits = model.predict(prompts, batch_size=32, verbose=0)[:, -1]
        shares = np.zeros((len(prompts), len(columns)), np.float32)
        shares[:, ids] = tf.nn.softmax(logits)
        return {"probabilities": shares}

    notes = ["Column n of `probabilities` is token n of tokenizer.json, as the next one."]
    if model.longest:
        notes.append(f"The model reads at most {model.longest} tokens.")
    text = bytes(task.corpus.parts["test"].cut(0, 20_000)).decode("utf-8", "ignore")
    lines = [line for line in text.split("\n") if line][:100]
    return Exported(
        function=function,
        inputs={"tokens": (None, None)},
        items={"tokens": ids[prompts].astype(np.int32)},
        outputs=outputs,
        tokenizers={_FILE: tokenizer},
        texts={_FILE: (lines, [token_ids(vocabulary.tokenizer, line).tolist() for line in lines])},
        license=task.corpus.license,
        notes=notes,
    )
