"""What runs of translation export: from a source in tokens to its translation in tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from attnlab.tasks.exported import Example, Exported, Stack, Transformer, one_text, padded, rows_of
from attnlab.tasks.translation.batches import cut_sources, longest_source
from attnlab.tasks.translation.decoding.search import Search
from attnlab.tasks.translation.models.transformer import TransformerTranslator
from attnlab.tasks.translation.scores import score
from attnlab.tasks.translation.sentences import MOST_TOKENS
from attnlab.text.cleaning import one_line
from attnlab.text.portable import portable
from attnlab.text.tokenizers import PAD, START, UNKNOWN

_SOURCE, _TARGET = "tokenizer.json", "target_tokenizer.json"
Tokens = Sequence[tuple[str, int]]
_BEFORE = f'target = Tokenizer.from_file(str(here / "{_TARGET}"))'
_AFTER = ('print(target.decode(outputs["tokens"][0], skip_special_tokens=False))',)


def exported(trained: Any, count: int) -> Exported:
    """Return the translator with its search, in one graph."""
    task, model = trained.task, trained.model
    part = task.tokenized.parts["test"]
    sources, references, _ = (each and each[:count] for each in part.texts())
    read = cut_sources(model, [part.source[row] for row in range(len(sources))])
    settings = {"length_penalty": task.length_penalty, "extra_length": task.extra_length}
    search = Search(model, beam=task.beam, **settings)
    text = task.text
    most = min(longest_source(model) or MOST_TOKENS, MOST_TOKENS)
    frame = {"clean": text.clean, "lowercase": text.lowercase, "frame": (False, True)}
    made = portable(task.source_tokenizer, most=most, **frame)
    target = portable(task.target_tokenizer)
    assert made and target  # the tokenizers are fitted
    known = np.array(made.known, np.int32)
    language = task.corpus.target_language

    def bleu(found: Any) -> float:
        written = task.target_tokenizer.decode([row[row != PAD] for row in found["tokens"]])
        return score(written, references, language)["bleu"]

    greedy = search if task.beam == 1 else Search(model, beam=1, **settings)
    form = None
    if isinstance(model, TransformerTranslator):
        sides = rows_of(made, made.known), rows_of(target, target.known)
        form = replace(
            transformer(model, *sides, most + task.extra_length),
            limits=[
                min(len(row) + task.extra_length, model.max_positions or most + task.extra_length)
                for row in read
            ],
            own=lambda: {"tokens": padded([best[0].tokens for best in greedy(read)])},
            beam=task.beam,
        )
    way = f"by beam search with {task.beam} beams" if task.beam > 1 else "greedily"
    return Exported(
        function=lambda tokens: {"tokens": search.best(tf.gather(known, tokens))},
        inputs={"tokens": ((None, None), "int32")},
        items={"tokens": padded(read)},
        own=lambda: {"tokens": padded([best[0].tokens for best in search(read)])},
        example=Example("Translate a sentence", _before(sources[0]), _AFTER),
        tokenizers={_SOURCE: made, _TARGET: target},
        texts={_SOURCE: (sources, [row.tolist() for row in read])},
        fixed=False,
        transformer=form,
        score=("BLEU", bleu),
        license=task.corpus.license,
        notes=[
            f"{_SOURCE} cuts a source to {most} tokens, END included.",
            f"Unknown words are written as ⁇ (token {UNKNOWN}).",
        ]
        + ["attnlab writes words of the source for them, the exported model doesn't."]
        * task.copy_unknown,
        function_notes=[f"Translates {way}, as for the metrics."],
    )


def _before(text: str) -> tuple[str, ...]:
    return (*one_text(one_line(text)), _BEFORE)


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
        scaled=True,
        longest=model.max_positions or longest,
        never=(PAD, START),
        refused="model.book=true has no counterpart" if model.book else "",
    )
