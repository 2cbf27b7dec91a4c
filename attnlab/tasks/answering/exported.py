"""What runs of answering export: from a question and a text to shares of starts and ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from attnlab.layers.recurrent import with_whole_loops
from attnlab.tasks.exported import SAMPLE, Example, Exported
from attnlab.text.cleaning import normalized, one_line
from attnlab.text.portable import portable
from attnlab.text.tokenizers import END, START

_FILE = "tokenizer.json"


def exported(trained: Any, count: int) -> Exported:
    """Return the reader of a run; a text longer than a window needs several rows."""
    task, model = trained.task, with_whole_loops(trained.model)
    part = task.data.parts["test"]
    rows, asked = part.rows.tokens[:count], part.questions[:count]
    made = portable(task.tokenizer)
    known = np.array(made.known if made else range(task.tokenizer.size), np.int32)
    texts = [normalized(each.question) for each in asked]
    cut = task.tokenizer.encode(texts)

    def function(tokens: Any) -> dict[str, Any]:
        shares = tf.nn.softmax(model(tf.gather(known, tokens), training=False))
        return {"start": shares[:, 0], "end": shares[:, 1]}

    def own() -> dict[str, Any]:
        shares = tf.nn.softmax(model.predict(rows, batch_size=256, verbose=0)).numpy()
        return {"start": shares[:, 0], "end": shares[:, 1]}

    return Exported(
        function=function,
        inputs={"tokens": ((None, rows.shape[1]), "int32")},
        items={"tokens": rows},
        own=own,
        example=_example(task, asked[0]) if made else _example_of_tokens(task),
        tokenizers={_FILE: made} if made else {},
        texts={_FILE: (texts, cut)} if made else {},
        license=task.corpus.license,
        notes=[
            f"A row has START ({START}), the question and END ({END}) in "
            f"{task.question_places} places, and {task.text_places} places of the text; 0 fills "
            "up both. `start` and `end` (N, places of the text + 1) are shares; place 0 means "
            "that there is no answer.",
        ],
    )


def _after(task: Any, answer: str) -> tuple[str, ...]:
    """Return lines that print the answer from `first` to `last`, or none, as `answer` does."""
    if task.nullable:
        least = f"spans.max() * np.exp({task.null_threshold})"
        answer = f'"no answer" if shares[0, 0] > {least} else {answer}'
    return (
        'shares = np.triu(np.outer(outputs["start"], outputs["end"]))  # of spans; 0, 0: no answer',
        f"spans = np.tril(shares[1:, 1:], {task.max_answer - 1})",
        "first, last = np.unravel_index(spans.argmax(), spans.shape)",
        f"print({answer})",
    )


def _example_of_tokens(task: Any) -> Example:
    return Example("Find a span", (SAMPLE,), _after(task, 'f"tokens {first} to {last}"'))


def _example(task: Any, asked: Any) -> Example:
    places, width = task.question_places, 1 + task.question_places + task.text_places
    before = (
        f'tokenizer = Tokenizer.from_file(str(here / "{_FILE}"))',
        f"question, text = {one_line(asked.question)!r}, {one_line(asked.text)!r}",
        f"asked, cut = tokenizer.encode(question).ids[:{places - 1}], tokenizer.encode(text)",
        f"row = [{START}, *asked, {END}] + [0] * ({places - 1} - len(asked)) + cut.ids",
        f'inputs = {{"tokens": np.array([(row + [0] * {width})[:{width}]], np.int32)}}',
    )
    after = _after(task, "text[cut.offsets[first][0] : cut.offsets[last][1]].strip()")
    return Example("Find the answer to a question in a text", before, after)
