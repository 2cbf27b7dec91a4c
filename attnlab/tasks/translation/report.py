"""How good translations are, beside what needs no network to translate."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
from scipy import sparse

from attnlab.tasks.base import Report
from attnlab.tasks.declaration import Progress
from attnlab.tasks.translation.attention_maps import attention_details
from attnlab.tasks.translation.batches import cut_sources, longest_source, padded_batches
from attnlab.tasks.translation.copying import copied_words
from attnlab.tasks.translation.decoding.search import Search
from attnlab.tasks.translation.program import TranslationProgram
from attnlab.tasks.translation.scores import (
    bleu_of_all_references,
    counts_bleu,
    score,
    sentence_scores,
)
from attnlab.tasks.translation.text.token_files import Ragged

if TYPE_CHECKING:
    from attnlab.tasks.translation.task import Translate
    from attnlab.tasks.translation.text.tokenized_corpus import TokenizedPart

# Training pairs that are searched, and queries compared with them at once.
_MOST_PAIRS, _CHUNK = 200_000, 256
_ALL_REFERENCES = (
    "Sources come back with other translations: BLEU is {bleu:.2f} where each of the {count} "
    "different ones counts once, against all of its own."
)
_FIRST_PAIRS = "Only the first {count} of {total} pairs are scored."
_CUT_TARGETS = (
    "Of {cut} of {count} references the loss, the perplexity and the accuracy count the first "
    "{most} tokens only: learned positions reach no further."
)
_SHORT = (
    "No reference has four tokens, so BLEU is 0 whatever is written: task.monitor=val_chrf chooses "
    "the epoch by chrF, and compare --metric chrf compares by it."
)
_CUT_SOURCES = (
    "Of {cut} of {count} sources the first {most} tokens only are read: the model, or its learned "
    "positions, reach no further."
)
_NO_TRAINING_PAIRS = "The baseline nearest_pair is left out: it needs the training part."


def report(
    task: Translate,
    model: keras.Model,
    part: TokenizedPart,
    beam: int,
    progress: Progress | None = None,
) -> Report:
    """Translate a part and score it; see `Translate.evaluate`."""
    sources, references, _ = part.texts()
    rows = np.arange(len(sources))  # all of them, but of the training part the first ones
    settings = {"length_penalty": task.length_penalty, "extra_length": task.extra_length}
    search, language = Search(model, beam=beam, **settings), task.corpus.target_language
    if progress:
        name = "the test part" if part.name == "test" else part.name
        search.told = partial(progress, what=f"scoring {name}")
    hypotheses = search_rows(task, search, part, rows)
    metrics = score(hypotheses, references, language)
    details: dict[str, Any] = {"signatures": metrics.pop("signatures"), "beam": beam}
    if hasattr(task, "tokenized") and (left_out := task.tokenized.statistics["left_out"]):
        details["left_out"] = left_out
    program = TranslationProgram(model, keras.optimizers.SGD())
    tokens = program.evaluate(padded_batches(model, part, rows))
    metrics |= {name: getattr(tokens, name) for name in ("loss", "perplexity", "accuracy")}
    texts = baselines(task, part).items()
    rules = {name: score(each, references, language) for name, each in texts}
    for scores in rules.values():
        del scores["signatures"]
    # What part of each baseline's distance to 100 is gone.
    distances = {name: 100.0 - scores["bleu"] for name, scores in rules.items()}
    skills = {
        name: 1.0 - (100.0 - metrics["bleu"]) / each if each else None
        for name, each in distances.items()
    }
    best = max(rules, key=lambda name: rules[name]["bleu"])
    notes = [*part.notes, *_limits(model, part, rows)]
    notes += [] if "nearest_pair" in rules else [_NO_TRAINING_PAIRS]
    notes += [] if counts_bleu(references, language) else [_SHORT]
    if len(set(zip(sources, references, strict=True))) > len(set(sources)):
        bleu, count = bleu_of_all_references(sources, hypotheses, references, language)
        details["all_references"] = {"bleu": bleu, "sources": count}
        notes.append(_ALL_REFERENCES.format(bleu=bleu, count=count))
    return Report(
        metrics=metrics,
        baselines=rules,
        best_baseline=best,
        skill=skills[best],
        notes=notes,
        predictions=_predictions(sources, references, hypotheses, language),
        units="points of 100 (loss in nats a token)",
        skills=skills,
        metric="bleu",
        details=details | attention_details(task, model, part),
    )


def _limits(model: keras.Model, part: TokenizedPart, rows: np.ndarray) -> list[str]:
    """What of a part isn't scored: a sentence for the pairs, and one for ends of references."""
    count, total, notes = len(rows), len(part.source), []
    if count < total:
        notes.append(_FIRST_PAIRS.format(count=count, total=total))
    reach = longest_source(model)
    cut = int((part.source.lengths[rows] > reach).sum()) if reach else 0
    if reach and cut:  # END is one of them
        notes.append(_CUT_SOURCES.format(cut=cut, count=count, most=reach - 1))
    most = model.max_positions
    cut = int((part.target.lengths[rows] > most).sum()) if most else 0
    if cut:  # START is one of the positions and is not counted
        notes.append(_CUT_TARGETS.format(cut=cut, count=count, most=most - 1))
    return notes


def _predictions(sources, references, hypotheses, language: str) -> dict[str, np.ndarray]:
    texts = {"source": sources, "reference": references, "hypothesis": hypotheses}
    scores = sentence_scores(hypotheses, references, language)
    return {
        "index": np.arange(len(sources)),
        **{name: np.array(each, object) for name, each in texts.items()},
        **{f"sentence_{name}": np.round(each, 4) for name, each in scores.items()},
    }


def search_rows(
    task: Translate, search: Search, part: TokenizedPart, rows: np.ndarray
) -> list[str]:
    """The best translation of some sentences of a part."""
    sources = cut_sources(search.model, [part.source[int(row)] for row in rows])
    targets = [best[0].tokens if best else np.zeros(0, np.int32) for best in search(sources)]
    copied: list[list[str]] = []
    if task.copy_unknown:
        texts, _, _ = part.texts()
        own = [texts[row] for row in rows]
        copied = copied_words(search.model, task.source_tokenizer, own, sources, targets)
    return task.target_tokenizer.decode(targets, copied)


def baselines(task: Translate, part: TokenizedPart) -> dict[str, list[str]]:
    """Translations by rules of thumb: the source as it is, the most similar training pair's.

    Without the corpus only those that need no training pairs.
    """
    sources, _, _ = part.texts()
    if not hasattr(task, "tokenized"):
        return {"copied_source": sources}
    train = task.tokenized.parts["train"]
    found = nearest_rows(train.source, part.source, len(sources), task.source_tokenizer.size)
    nearest = task.target_tokenizer.decode([train.target[int(row)][1:] for row in found])
    return {"nearest_pair": nearest, "copied_source": sources}


def nearest_rows(train: Ragged, asked: Ragged, count: int, size: int) -> np.ndarray:
    """The training row with the most similar tokens for each of the first rows asked: (count,).

    Similar is the cosine of tf-idf vectors, idf = ln(N / rows with the token) + 1; the first of
    equals counts. Only the first 200,000 training rows are searched. Tokens are below `size`.
    """
    pairs = min(len(train), _MOST_PAIRS)
    memory = _counts(train, pairs, size)
    share = np.bincount(memory.indices, minlength=size) / pairs
    idf = np.where(share > 0, 1.0 - np.log(np.maximum(share, 1e-12)), 0.0)
    memory = _unit_rows(memory.multiply(idf[None]).tocsr())
    queries = _unit_rows(_counts(asked, count, size).multiply(idf[None]).tocsr())
    found = np.zeros(count, np.int64)
    for start in range(0, count, _CHUNK):
        similar = queries[start : start + _CHUNK] @ memory.T
        found[start : start + _CHUNK] = np.asarray(similar.argmax(axis=1)).ravel()
    return found


def _counts(rows: Ragged, first: int, size: int) -> sparse.csr_matrix:
    """(first, size) how often each token stands in each of the first rows."""
    ends = np.asarray(rows.offsets[: first + 1])
    tokens = rows.tokens[: ends[-1]].astype(np.int64)
    matrix = sparse.csr_matrix((np.ones(len(tokens), np.float32), tokens, ends), (first, size))
    matrix.sum_duplicates()
    return matrix


def _unit_rows(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return sparse.diags(1.0 / np.maximum(lengths, 1e-12)) @ matrix
