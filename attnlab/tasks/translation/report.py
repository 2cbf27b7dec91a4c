"""The report on a part: scores of the translations and of the baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
import numpy as np
from scipy import sparse

from attnlab.tasks.base import Report, skills
from attnlab.tasks.kinds import Progress
from attnlab.tasks.translation.attention_maps import alignment
from attnlab.tasks.translation.program import TranslationProgram
from attnlab.tasks.translation.scores import NAMES, score, sentence_scores
from attnlab.tasks.translation.sentences import translations
from attnlab.tasks.translation.tokenized import cut_sources, longest_source, pad_batches

if TYPE_CHECKING:
    from attnlab.tasks.data.tokens import Tokens
    from attnlab.tasks.translation.search import Search
    from attnlab.tasks.translation.tokenized import TokenizedPart, Tokenizers

# Training pairs that are searched, and the number of queries compared with them at once.
_MOST_PAIRS, _CHUNK = 200_000, 256


def report(
    task: Any,
    model: keras.Model,
    part: TokenizedPart,
    beam: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Translate a part and score it with `task`, a `Translate`; see its `evaluate`."""
    sources, references, _ = part.texts()
    rows = np.arange(len(sources))  # all rows, but of the training part only the first 100
    search, language = task.search(model, beam), task.corpus.target_language
    if progress:
        name = "the test part" if part.name == "test" else part.name
        search.progress = lambda done, total: progress(done, total, f"scoring {name}")
    hypotheses = search_rows(task, search, part, rows)
    metrics = score(hypotheses, references, language)
    details: dict[str, Any] = {"signatures": metrics.pop("signatures"), "beam": search.beam}
    program = TranslationProgram(model, keras.optimizers.SGD())
    tokens = program.evaluate(pad_batches(model, part, rows))
    metrics |= {name: getattr(tokens, name) for name in ("loss", "perplexity", "accuracy")}
    train = task.tokenized.parts["train"] if task.tokenized else None
    rules: dict[str, dict[str, float | None]] = {}
    for name, texts in baselines(part, train, task.tokenizers).items():
        scores = score(texts, references, language)
        rules[name] = {metric: scores[metric] for metric in NAMES}
    # The error is the distance of BLEU from 100.
    errors = {name: 100.0 - (scores["bleu"] or 0.0) for name, scores in rules.items()}
    best, against = skills(100.0 - metrics["bleu"], errors)
    notes = [*part.notes, *_limits(model, part, rows)]
    if "nearest_pair" not in rules:
        notes.append("The baseline nearest_pair is missing, because it needs the training part.")
    columns = {"source": sources, "reference": references, "hypothesis": hypotheses}
    sentences = sentence_scores(hypotheses, references, language)
    if (rates := alignment(task.tokenizers, model, part)) is not None:
        details["alignment"] = rates
    return Report(
        metrics=metrics,
        baselines=rules,
        best_baseline=best,
        skill=against[best],
        notes=notes,
        predictions={
            "index": rows,
            **{name: np.array(column, object) for name, column in columns.items()},
            **{f"sentence_{name}": np.round(column, 4) for name, column in sentences.items()},
        },
        units="points of 100 (loss in nats per token)",
        skills=against,
        metric="bleu",
        details=details,
    )


def _limits(model: keras.Model, part: TokenizedPart, rows: np.ndarray) -> list[str]:
    """Return notes on pairs, ends of sources and ends of references that aren't scored."""
    count, total, notes = len(rows), len(part.source), []
    if count < total:
        notes.append(f"Only the first {count} of {total} pairs are scored.")
    sources, references = (side.lengths[rows] for side in (part.source, part.target))
    for what, lengths, most in (
        ("sources are read", sources, longest_source(model)),
        ("references count in loss, perplexity and accuracy", references, model.max_positions),
    ):
        cut = int((lengths > most).sum()) if most else 0
        if most and cut:  # END of a source, or START of a reference, is one of the tokens
            notes.append(
                f"Only the first {most - 1} tokens of {cut} of {count} {what}, because the model's "
                "attention weights or learned positions end there."
            )
    return notes


def search_rows(task: Any, search: Search, part: TokenizedPart, rows: np.ndarray) -> list[str]:
    """Return the best translation of some rows of a part."""
    sources = cut_sources(search.model, [part.source[int(row)] for row in rows])
    texts = part.texts()[0] if task.copy_unknown else None
    texts = texts and [texts[row] for row in rows]
    return [best.text for best, *_ in translations(search, task.tokenizers, sources, texts)]


def baselines(
    part: TokenizedPart, train: TokenizedPart | None, tokenizers: Tokenizers
) -> dict[str, list[str]]:
    """Translate a part by copying the source, and by the most similar training pair.

    Without the training part only `copied_source` is returned.
    """
    sources, _, _ = part.texts()
    texts = {"copied_source": sources}
    if train is not None:
        rows = nearest_rows(train.source, part.source, len(sources), tokenizers[0].size)
        targets = [train.target[int(row)][1:] for row in rows]
        texts["nearest_pair"] = tokenizers[1].decode(targets)
    return texts


def nearest_rows(train: Tokens, queries: Tokens, count: int, size: int) -> np.ndarray:
    """Return the number of the most similar training row for each of the first rows: (count,).

    Similarity is the cosine of tf-idf vectors, idf = ln(N / rows with the token) + 1; the first of
    equally similar rows wins. Only the first 200,000 training rows are searched.
    """
    from sklearn.preprocessing import normalize

    pairs = min(len(train), _MOST_PAIRS)
    memory = _counts(train, pairs, size)
    share = np.bincount(memory.indices, minlength=size) / pairs
    idf = np.where(share > 0, 1.0 - np.log(np.maximum(share, 1e-12)), 0.0)
    memory = normalize(memory.multiply(idf[None]).tocsr())
    vectors = normalize(_counts(queries, count, size).multiply(idf[None]).tocsr())
    nearest = [
        np.asarray((vectors[start : start + _CHUNK] @ memory.T).argmax(axis=1)).ravel()
        for start in range(0, count, _CHUNK)
    ]
    return np.concatenate([np.zeros(0, np.int64), *nearest])


def _counts(rows: Tokens, first: int, size: int) -> sparse.csr_matrix:
    """Return the counts (first, size) of each token in each of the first rows."""
    ends = np.asarray(rows.offsets[: first + 1])
    tokens = rows.tokens[: ends[-1]].astype(np.int64)
    matrix = sparse.csr_matrix((np.ones(len(tokens), np.float32), tokens, ends), (first, size))
    matrix.sum_duplicates()
    return matrix
