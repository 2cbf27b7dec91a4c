"""How good translations are, beside what needs no network to translate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.analysis.translation_scores import score, sentence_scores
from attnlab.data.batches import length_plan
from attnlab.data.translation_memory import nearest_rows
from attnlab.tasks.base import Report
from attnlab.tasks.translate import sources_for
from attnlab.tasks.translation_alignment import alignment_scores

if TYPE_CHECKING:
    import keras

    from attnlab.data.prepared import EncodedPart
    from attnlab.tasks.translate import Translate

# Padded tokens of a batch that is scored without training.
_BATCH_TOKENS = 8192


def report(task: Translate, model: keras.Model, part: str, beam: int) -> Report:
    """Translate a part and score it; see `Translate.evaluate`."""
    sources, references, links = task.prepared.texts(part)
    hypotheses = translate_rows(task, model, part, beam=beam)
    scores = score(hypotheses, references)
    metrics = {**_numbers(scores), **token_scores(task, model, part)}
    translated = baselines(task, part)
    rows = {name: _numbers(score(texts, references)) for name, texts in translated.items()}
    best = max(rows, key=lambda name: rows[name]["bleu"])
    skills = {name: _skill(metrics["bleu"], values["bleu"]) for name, values in rows.items()}
    each = sentence_scores(hypotheses, references)
    details: dict[str, Any] = {"signatures": scores["signatures"], "beam": beam}
    if links is not None:
        details["alignment"] = alignment_scores(task, model, part)
    return Report(
        metrics=metrics,
        baselines=rows,
        best_baseline=best,
        skill=skills[best],
        notes=[],
        predictions={
            "index": np.arange(len(sources)),
            "source": np.array(sources, object),
            "reference": np.array(references, object),
            "hypothesis": np.array(hypotheses, object),
            **{f"sentence_{name}": np.round(values, 4) for name, values in each.items()},
        },
        units="points of 100 (loss in nats a token)",
        skills=skills,
        metric="bleu",
        details=details,
    )


def translate_rows(
    task: Translate, model: keras.Model, part: str, *, beam: int, rows: np.ndarray | None = None
) -> list[str]:
    """The best translation of each sentence of a part, or of some of its rows."""
    from attnlab.models.search import Search

    search = Search(model, beam=beam, length_penalty=task.length_penalty)
    return search_rows(task, search, part, rows)


def search_rows(task: Translate, search: Any, part: str, rows: np.ndarray | None) -> list[str]:
    """The same with a search that exists, so that it compiles once."""
    source = task.prepared.parts[part].source
    wanted = range(len(source)) if rows is None else rows
    found = search(sources_for(search.model, [source[int(row)] for row in wanted]))
    return task.target_tokenizer.decode([best[0].tokens if best else () for best in found])


def token_scores(task: Translate, model: keras.Model, part: str) -> dict[str, float]:
    """Loss, perplexity and accuracy of the true translations' tokens."""
    import keras

    from attnlab.training.translation_program import TranslationProgram

    program = TranslationProgram(model, keras.optimizers.SGD())
    scores = program.evaluate(padded_batches(model, task.prepared.parts[part]))
    return {"loss": scores.loss, "perplexity": scores.perplexity, "accuracy": scores.accuracy}


def padded_batches(
    model: keras.Model, part: EncodedPart, multiple: int = 1
) -> list[tuple[np.ndarray, np.ndarray]]:
    """A part in batches of near-equal length, nothing shuffled."""
    plan = length_plan(part.source.lengths, part.target.lengths, size=_BATCH_TOKENS)
    return [padded(model, part, rows, multiple) for rows in plan]


def padded(
    model: keras.Model, part: EncodedPart, rows: np.ndarray, multiple: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Source and target of some rows, padded at the end so that `multiple` divides the steps."""
    sources = sources_for(model, [part.source[int(row)] for row in rows])
    width = -(-max(map(len, sources)) // multiple) * multiple
    source = np.zeros((len(rows), width), np.int32)
    for place, row in enumerate(sources):
        source[place, : len(row)] = row
    # The decoder reads all but the last token of a target.
    steps = -(-(int(part.target.lengths[rows].max()) - 1) // multiple) * multiple
    return source, part.target.padded(rows, steps + 1)


def baselines(task: Translate, part: str) -> dict[str, list[str]]:
    """Translations by rules of thumb: the source as it is, the most similar training pair's."""
    prepared = task.prepared
    sources, _, _ = prepared.texts(part)
    train = prepared.parts["train"]
    rows = nearest_rows(train.source, prepared.parts[part].source)
    nearest = task.target_tokenizer.decode([train.target[int(row)][1:] for row in rows])
    return {"nearest_pair": nearest, "copied_source": sources}


def _numbers(scores: Any) -> dict[str, float]:
    return {name: scores[name] for name in ("bleu", "chrf", "bleu_lc_tok")}


def _skill(bleu: float, baseline: float) -> float:
    """What part of the baseline's distance to 100 is gone."""
    return 1.0 - (100.0 - bleu) / max(100.0 - baseline, 1e-9)
