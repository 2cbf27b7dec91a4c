"""What runs of language models export: from tokens to probabilities of the next, or masked, one."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import tensorflow as tf
from scipy.special import softmax

from attnlab.tasks.exported import Exported, Stack, Transformer
from attnlab.tasks.language.data import PADDING
from attnlab.tasks.language.generation import Generator
from attnlab.tasks.language.models.transformer import TransformerLanguageModel
from attnlab.tasks.language.text.masking import MASK
from attnlab.tasks.language.text.vocabulary import Symbols, TextVocabulary, token_ids
from attnlab.text.portable import Portable, portable
from attnlab.text.tokenizers import END

_FILE = "tokenizer.json"
_MOST = 16  # tokens that CTranslate2 writes for each test item


def exported(trained: Any, count: int) -> Exported:
    """Return the model; its tokens are those of `tokenizer.json`, which has further ones."""
    task, model = trained.task, trained.model
    windows = task.scored_rows("test").tokens[:count]
    size = max(1, windows.shape[1] // 2)
    prompts = np.maximum(windows[:, :size], 0)
    tokenizer, ids, texts = _tokenizer(task)
    rows = np.full(max(tokenizer.known) + 1, -1)  # the model's token of each of the tokenizer's
    rows[ids] = np.arange(len(ids))
    read = np.maximum(rows, 0).astype(np.int32)[tokenizer.known]
    columns = np.where(rows < 0, len(ids), rows).astype(np.int32)

    def function(tokens: Any) -> dict[str, Any]:
        shares = tf.nn.softmax(model(tf.gather(read, tokens), training=False)[:, -1])
        return {"probabilities": tf.gather(tf.pad(shares, [[0, 0], [0, 1]]), columns, axis=1)}

    def outputs() -> dict[str, Any]:
        logits = model.predict(prompts, batch_size=32, verbose=0)[:, -1]
        shares = np.zeros((len(prompts), len(columns)), np.float32)
        shares[:, ids] = tf.nn.softmax(logits)
        return {"probabilities": shares}

    notes = ["Column n of `probabilities` is token n of tokenizer.json, as the next one."]
    if model.longest:
        notes.append(f"The model reads at most {model.longest} tokens.")
    transformer = None
    if isinstance(model, TransformerLanguageModel):
        tokens = [
            (tokenizer.made.id_to_token(n), int(rows[m])) for n, m in enumerate(tokenizer.known)
        ]
        stack = Stack(tokens, model.embedding, model.position, model.encoder, model.final_norm)
        most = min(_MOST, windows.shape[1] - size)
        generator = Generator(model, temperature=0)
        transformer = Transformer(
            encoder=None,
            decoder=stack,
            output=model.output_layer,
            longest=model.longest or 2048,
            limits=[most] * len(prompts),
            greedy=lambda: [
                ids[[int(step[0]) for step in generator.continued(row, tokens=most)]].tolist()
                for row in prompts
            ],
        )
    return Exported(
        function=function,
        inputs={"tokens": (None, None)},
        items={"tokens": ids[prompts].astype(np.int32)},
        outputs=outputs,
        tokenizers={_FILE: tokenizer},
        texts={_FILE: texts},
        transformer=transformer,
        license=task.corpus.license,
        notes=notes,
    )


def _tokenizer(task: Any) -> tuple[Portable, np.ndarray, tuple[list[str], list[list[int]]]]:
    """Return the tokenizer, its token for each of the model's, and texts with their tokens."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = task.vocabulary
    if isinstance(vocabulary, Symbols):
        numbers = [*range(vocabulary.size)]
        names = dict(zip(vocabulary.names, numbers, strict=True))
        symbols = Tokenizer(models.WordLevel(names))
        symbols.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        texts = vocabulary.names, [[number] for number in numbers]
        return Portable(symbols, numbers), np.array(numbers), texts
    vocabulary = cast(TextVocabulary, vocabulary)
    tokenizer = portable(vocabulary.tokenizer, clean=None)
    assert tokenizer is not None  # the tokenizer is fitted
    text = bytes(task.corpus.parts["test"].cut(0, 20_000)).decode("utf-8", "ignore")
    lines = [line for line in text.split("\n") if line][:100]
    return (
        tokenizer,
        vocabulary.ids,
        (lines, [token_ids(vocabulary.tokenizer, line).tolist() for line in lines]),
    )


def exported_masked(trained: Any, count: int) -> Exported:
    """Return the most probable word at each place, and its probability."""
    task, model = trained.task, trained.model
    part = task.data.parts["test"]
    targets = part.targets[:count]
    rows = np.where(targets == PADDING, part.tokens[:count], task.mask).astype(np.int32)
    frame = {"frame": (True, True), "most": task.width, "width": task.width, "mask": MASK}
    tokenizer = portable(task.tokenizer, **frame)
    assert tokenizer is not None  # the tokenizer is fitted
    ids = np.array(tokenizer.known, np.int32)

    def function(tokens: Any) -> dict[str, Any]:
        logits = model(tf.gather(ids, tokens), training=False)
        shares = tf.nn.softmax(logits[..., END + 1 :])
        words = tf.argmax(shares, axis=-1, output_type=tf.int32) + END + 1
        return {"words": words, "probabilities": tf.reduce_max(shares, axis=-1)}

    def outputs() -> dict[str, Any]:
        shares = softmax(model.predict(rows, batch_size=32, verbose=0)[..., END + 1 :], axis=-1)
        words = shares.argmax(axis=-1).astype(np.int32) + END + 1
        return {"words": words, "probabilities": shares.max(axis=-1)}

    texts = []  # the rows as texts with masks
    for row in rows:
        tokens = row[row > END]
        pieces = np.split(tokens, np.flatnonzero(tokens == task.mask))
        decoded = task.tokenizer.decode([piece[piece != task.mask].tolist() for piece in pieces])
        texts.append(f" {MASK} ".join(text.strip() for text in decoded).strip())
    return Exported(
        function=function,
        inputs={"tokens": (None, task.width)},
        items={"tokens": rows},
        outputs=outputs,
        tokenizers={_FILE: tokenizer},
        texts={_FILE: (texts, task.rows(texts).tolist())},
        license=task.corpus.license,
        notes=[f"Write a space before and after {MASK}: a mark right after it is another token."],
    )
