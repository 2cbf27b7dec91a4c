"""The report on a part: scores of the translations and of the baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from attnlab.tasks.base import Report
from attnlab.tasks.declaration import Progress
from attnlab.tasks.translation.attention_maps import alignment
from attnlab.tasks.translation.baselines import baselines
from attnlab.tasks.translation.decoding.copying import copied_words
from attnlab.tasks.translation.decoding.search import Search
from attnlab.tasks.translation.program import TranslationProgram
from attnlab.tasks.translation.scores import (
    counts_bleu,
    score,
    sentence_scores,
)
from attnlab.tasks.translation.tokenized import cut_sources, longest_source, padded_batches

if TYPE_CHECKING:
    from attnlab.tasks.translation.tokenized import TokenizedPart

_FIRST_PAIRS = "Only the first {count} of {total} pairs are scored."
_CUT_TARGETS = (
    "The loss, the perplexity and the accuracy count only the first {most} tokens of {cut} of "
    "{count} references, because the learned positions end there."
)
_SHORT = (
    "No reference has four tokens, so BLEU is always 0: task.monitor=val_chrf chooses "
    "the epoch by chrF, and compare --metric chrf compares by it."
)
_CUT_SOURCES = (
    "The model reads only the first {most} tokens of {cut} of {count} sources, because its "
    "attention weights or its learned positions end there."
)
_NO_TRAINING_PAIRS = "The baseline nearest_pair is missing, because it needs the training part."


def report(
    task: Any,
    model: keras.Model,
    part: TokenizedPart,
    beam: int,
    progress: Progress | None = None,
) -> Report:
    """Translate a part and score it with `task`, a `Translate`; see its `evaluate`."""
    sources, references, _ = part.texts()
    rows = np.arange(len(sources))  # all rows, but of the training part only the first 100
    settings = {"length_penalty": task.length_penalty, "extra_length": task.extra_length}
    search, language = Search(model, beam=beam, **settings), task.corpus.target_language
    if progress:
        name = "the test part" if part.name == "test" else part.name
        search.progress = lambda done, total: progress(done, total, f"scoring {name}")
    hypotheses = search_rows(task, search, part, rows)
    metrics = score(hypotheses, references, language)
    details: dict[str, Any] = {"signatures": metrics.pop("signatures"), "beam": beam}
    program = TranslationProgram(model, keras.optimizers.SGD())
    tokens = program.evaluate(padded_batches(model, part, rows))
    metrics |= {name: getattr(tokens, name) for name in ("loss", "perplexity", "accuracy")}
    train = task.tokenized.parts["train"] if task.tokenized else None
    simple = baselines(part, train, task.tokenizers).items()
    rules = {name: score(texts, references, language) for name, texts in simple}
    for scores in rules.values():
        del scores["signatures"]
    # Skill: by what share the error, 100 - BLEU, is smaller than the baseline's.
    distances = {name: 100.0 - scores["bleu"] for name, scores in rules.items()}
    skills = {
        name: 1.0 - (100.0 - metrics["bleu"]) / distance if distance else None
        for name, distance in distances.items()
    }
    best = max(rules, key=lambda name: rules[name]["bleu"])
    notes = [*part.notes, *_limits(model, part, rows)]
    notes += [] if "nearest_pair" in rules else [_NO_TRAINING_PAIRS]
    notes += [] if counts_bleu(references, language) else [_SHORT]
    texts = {"source": sources, "reference": references, "hypothesis": hypotheses}
    sentences = sentence_scores(hypotheses, references, language)
    if (rates := alignment(task.tokenizers, model, part)) is not None:
        details["alignment"] = rates
    return Report(
        metrics=metrics,
        baselines=rules,
        best_baseline=best,
        skill=skills[best],
        notes=notes,
        predictions={
            "index": rows,
            **{name: np.array(column, object) for name, column in texts.items()},
            **{f"sentence_{name}": np.round(column, 4) for name, column in sentences.items()},
        },
        units="points of 100 (loss in nats per token)",
        skills=skills,
        metric="bleu",
        details=details,
    )


def _limits(model: keras.Model, part: TokenizedPart, rows: np.ndarray) -> list[str]:
    """Return notes on pairs, ends of sources and ends of references that aren't scored."""
    count, total, notes = len(rows), len(part.source), []
    if count < total:
        notes.append(_FIRST_PAIRS.format(count=count, total=total))
    reach = longest_source(model)
    cut = int((part.source.lengths[rows] > reach).sum()) if reach else 0
    if reach and cut:  # END is one of the tokens that the model reads
        notes.append(_CUT_SOURCES.format(cut=cut, count=count, most=reach - 1))
    most = model.max_positions
    cut = int((part.target.lengths[rows] > most).sum()) if most else 0
    if cut:  # START is one of the positions and is not counted
        notes.append(_CUT_TARGETS.format(cut=cut, count=count, most=most - 1))
    return notes


def search_rows(task: Any, search: Search, part: TokenizedPart, rows: np.ndarray) -> list[str]:
    """Return the best translation of some rows of a part."""
    sources = cut_sources(search.model, [part.source[int(row)] for row in rows])
    targets = [best[0].tokens if best else np.zeros(0, np.int32) for best in search(sources)]
    copied: list[list[str]] = []
    if task.copy_unknown:
        texts = part.texts()[0]
        read = [texts[row] for row in rows]
        copied = copied_words(search.model, task.tokenizers[0], read, sources, targets)
    return task.tokenizers[1].decode(targets, copied)
