"""What runs of language models export: from tokens to the next ones, and their probabilities."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import tensorflow as tf

from attnlab.tasks.exported import Example, Exported, Stack, Transformer, one_text, rows_of
from attnlab.tasks.language.generation import Generator
from attnlab.tasks.language.models.transformer import TransformerLanguageModel
from attnlab.tasks.language.text.vocabulary import Symbols, TextVocabulary, token_ids
from attnlab.text.portable import Portable, portable

_FILE = "tokenizer.json"
_MOST = 16  # tokens that are written for each test item
_AFTER = (
    'ids = [*tokenizer.encode(text).ids, *outputs["tokens"][0]]',
    "print(tokenizer.decode(ids, skip_special_tokens=False))",
)


def exported(trained: Any, count: int) -> Exported:
    """Return the model with its greedy continuation of texts, in one graph.

    Tokens are those of `tokenizer.json`, which has tokens that the model doesn't have.
    """
    task, model = trained.task, trained.model
    windows = task.asked("test").tokens[:count]
    size = max(1, windows.shape[1] // 2)
    most = min(_MOST, windows.shape[1] - size)
    made, ids, texts = _tokenizer(task)
    read = np.maximum(windows[:, :size], 0)
    numbers = np.zeros(max(made.known) + 1, np.int32)
    numbers[ids] = np.arange(len(ids))
    model_tokens = numbers[made.known]
    written = ids.astype(np.int32)
    prompt = one_text(made.made.decode(ids[read[0]].tolist(), skip_special_tokens=False))
    prompt += (f'inputs["count"] = np.array({most}, np.int32)',)

    def function(tokens: Any, count: Any) -> dict[str, Any]:
        shares, found = _continued(model, tf.gather(model_tokens, tokens), count)
        return {"tokens": tf.gather(written, found), "probabilities": shares}

    def own() -> dict[str, Any]:
        generator = Generator(model, temperature=0)
        found = [[int(each[0]) for each in generator.continued(row, tokens=most)] for row in read]
        logits = model.predict(read, batch_size=32, verbose=0)[:, -1]
        shares = tf.nn.softmax(logits).numpy()
        return {"tokens": ids[np.array(found)].astype(np.int32), "probabilities": shares}

    return Exported(
        function=function,
        inputs={"tokens": ((None, None), "int32"), "count": ((), "int32")},
        items={"tokens": ids[read].astype(np.int32), "count": np.array(most, np.int32)},
        own=own,
        example=Example("Continue a text by its most probable tokens", prompt, _AFTER),
        tokenizers={_FILE: made},
        texts={_FILE: texts},
        fixed=False,
        transformer=_transformer(model, made, ids, most, own, len(read)),
        score=_accuracy(task, windows, size),
        license=task.corpus.license,
        function_notes=_notes(model, ids),
    )


def _transformer(
    model: Any, made: Portable, ids: np.ndarray, most: int, own: Any, count: int
) -> Transformer | None:
    if not isinstance(model, TransformerLanguageModel):
        return None
    numbers = np.full(max(made.known) + 1, -1)
    numbers[ids] = np.arange(len(ids))
    rows = numbers[made.known]
    return Transformer(
        encoder=None,
        decoder=Stack(
            rows_of(made, rows), model.embedding, model.position, model.encoder, model.final_norm
        ),
        output=model.output_layer,
        scaled=False,
        longest=model.longest or 2048,
        limits=[most] * count,
        own=own,
    )


def _accuracy(task: Any, windows: np.ndarray, size: int) -> Any:
    """Return the accuracy of the next token; None where items end after the prompt."""
    if windows.shape[1] <= size:
        return None
    right = windows[:, size]
    return "accuracy of the next token", lambda found: float(
        np.mean(np.asarray(found["probabilities"]).argmax(axis=1) == right)
    )


def _notes(model: Any, ids: np.ndarray) -> list[str]:
    special = [str(token) for token in ids if token < ids[0]]
    last = f", and the last ones are {', '.join(special)}" if special else ""
    notes = [
        f"Column n of `probabilities` is token n + {ids[0]} of tokenizer.json{last}.",
    ]
    if model.longest:
        notes.append(f"Prompt and continuation have at most {model.longest} tokens together.")
    return notes


def _tokenizer(task: Any) -> tuple[Portable, np.ndarray, tuple[list[str], list[list[int]]]]:
    """Return the tokenizer, its token for each of the model's, and texts with their tokens."""
    vocabulary = task.vocabulary
    if isinstance(vocabulary, Symbols):
        made = _of_symbols(vocabulary)
        return made, np.arange(vocabulary.size), (vocabulary.names, [[n] for n in made.known])
    vocabulary = cast(TextVocabulary, vocabulary)
    made_of_text = portable(vocabulary.tokenizer, clean=None)
    assert made_of_text is not None  # the tokenizer is fitted
    text = bytes(task.corpus.parts["test"].cut(0, 20_000)).decode("utf-8", "ignore")
    lines = [line for line in text.split("\n") if line][:100]
    rows = [token_ids(vocabulary.tokenizer, line).tolist() for line in lines]
    return made_of_text, vocabulary.ids, (lines, rows)


def _of_symbols(vocabulary: Symbols) -> Portable:
    from tokenizers import Tokenizer, models, pre_tokenizers

    ids = {name: number for number, name in enumerate(vocabulary.names)}
    made = Tokenizer(models.WordLevel(ids))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return Portable(made, [*range(len(ids))])


def _continued(model: Any, tokens: Any, count: Any) -> tuple[Any, Any]:
    """Return probabilities (N, V) of the next token, and `count` most probable tokens (N, C)."""
    rows, size = tf.shape(tokens)[0], tf.shape(tokens)[1]
    length = model.longest
    if length is not None:
        count = tf.minimum(count, length - size)
    state = model.initial_state(rows, length)
    logits, state = model.step(tokens, tf.constant(0), state)
    first = logits[:, -1]
    found = tf.zeros((rows, tf.maximum(count, 0)), tf.int32)

    def body(index: Any, logits: Any, found: Any, state: Any) -> tuple[Any, ...]:
        token = tf.argmax(logits, axis=-1, output_type=tf.int32)
        here = tf.equal(tf.range(tf.shape(found)[1]), index)
        found = tf.where(here, token[:, None], found)
        logits, new = model.step(token[:, None], size + index, state)
        for old, each in zip(tf.nest.flatten(state), tf.nest.flatten(new), strict=True):
            each.set_shape(old.shape)
        return index + 1, logits[:, -1], found, new

    def cond(index: Any, *_: Any) -> Any:
        return index < count

    start = (tf.constant(0), first, found, state)
    return tf.nn.softmax(first), tf.while_loop(cond, body, start)[2]
