"""What runs of translation export: from a source in tokens to its translation in tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from attnlab.tasks.exported import Exported, Stack, Transformer
from attnlab.tasks.translation.models.transformer import TransformerTranslator
from attnlab.tasks.translation.search import Search
from attnlab.tasks.translation.sentences import MOST_TOKENS
from attnlab.tasks.translation.tokenized import cut_sources, longest_source
from attnlab.text.portable import Portable, portable
from attnlab.text.tokenizers import UNKNOWN, pad_rows

_SOURCE, _TARGET = "tokenizer.json", "target_tokenizer.json"
Tokens = Sequence[tuple[str, int]]


def exported(trained: Any, count: int) -> Exported:
    """Return the translator with greedy decoding, in one graph."""
    task, model = trained.task, trained.model
    part = task.tokenized.parts["test"]
    sources, *_ = (column and column[:count] for column in part.texts())
    rows = cut_sources(model, [part.source[row] for row in range(len(sources))])
    search = Search(model, extra_length=task.extra_length)
    most = min(longest_source(model) or MOST_TOKENS, MOST_TOKENS)
    tokenizer = portable(
        task.tokenizers[0],
        clean=task.text.clean,
        lowercase=task.text.lowercase,
        frame=(False, True),
        most=most,
    )
    target = portable(task.tokenizers[1])
    assert tokenizer and target  # the tokenizers are fitted
    ids = np.array(tokenizer.model_ids, np.int32)

    def greedy() -> list[np.ndarray]:
        return [best[0].tokens for best in search(rows)]

    form = None
    if isinstance(model, TransformerTranslator):
        longest = model.max_positions or most + task.extra_length
        limits = [min(len(row) + task.extra_length, longest) for row in rows]
        form = transformer(model, _tokens(tokenizer), _tokens(target), longest)
        form = replace(form, limits=limits, greedy=greedy)
    notes = [
        f"{_SOURCE} cuts a source to {most} tokens, END included.",
        f"Translates greedily; the metrics are those of task.beam={task.beam}.",
        f"Unknown words are written as ⁇ (token {UNKNOWN}).",
    ]
    if task.copy_unknown:
        notes.append("attnlab writes words of the source for them, the exported model doesn't.")
    return Exported(
        function=lambda tokens: {"tokens": search.best(tf.gather(ids, tokens))},
        inputs={"tokens": (None, None)},
        items={"tokens": pad_rows(rows)},
        outputs=lambda: {"tokens": pad_rows(greedy())},
        tokenizers={_SOURCE: tokenizer, _TARGET: target},
        texts={_SOURCE: (sources, [row.tolist() for row in rows])},
        loops=True,
        transformer=form,
        license=task.corpus.license,
        notes=notes,
    )


def _tokens(tokenizer: Portable) -> Tokens:
    return [(tokenizer.tokenizer.id_to_token(n), row) for n, row in enumerate(tokenizer.model_ids)]


def transformer(
    model: TransformerTranslator, source: Tokens, target: Tokens, longest: int
) -> Transformer:
    """Return the parts of a translator; `source` and `target` are `Stack.tokens`."""
    norms = [model.norms.get(side) for side in ("source", "target")]
    return Transformer(
        encoder=Stack(
            source, model.source_embedding, model.source_position, model.encoder, norms[0]
        ),
        decoder=Stack(
            target, model.target_embedding, model.target_position, model.decoder, norms[1]
        ),
        output=model.vocabulary,
        longest=longest,
        refused="model.book=true has no counterpart" if model.book else "",
    )
