"""How good translations are, beside what needs no network to translate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.tasks.base import Report
from attnlab.tasks.translation.attention_details import attention_details
from attnlab.tasks.translation.baselines import nearest_rows
from attnlab.tasks.translation.scores import bleu_of_all_references, score, sentence_scores
from attnlab.tasks.translation.task import longest_source, sources_for
from attnlab.training.batches import length_plan

if TYPE_CHECKING:
    import keras

    from attnlab.tasks.translation.task import Translate
    from attnlab.tasks.translation.text.prepared import EncodedPart

# Padded tokens of a batch that is scored without training.
_BATCH_TOKENS = 8192


def report(task: Translate, model: keras.Model, part: str, beam: int) -> Report:
    """Translate a part and score it; see `Translate.evaluate`."""
    sources, references, _ = task.prepared.texts(part)
    rows = np.arange(len(sources))  # all of them, but of the training part the first ones
    hypotheses = translate_rows(task, model, part, rows, beam=beam)
    scores = score(hypotheses, references)
    metrics = {**_numbers(scores), **token_scores(task, model, part, rows)}
    rules = {
        name: _numbers(score(texts, references))
        for name, texts in baselines(task, part, rows).items()
    }
    best = max(rules, key=lambda name: rules[name]["bleu"])
    skills = {name: _skill(metrics["bleu"], values["bleu"]) for name, values in rules.items()}
    each = sentence_scores(hypotheses, references)
    details: dict[str, Any] = {"signatures": scores["signatures"], "beam": beam}
    notes = []
    if len(set(sources)) < len(sources):
        bleu, count = bleu_of_all_references(sources, hypotheses, references)
        details["all_references"] = {"bleu": bleu, "sources": count}
        notes.append(
            f"Sources come back with other translations: BLEU is {bleu:.2f} where each of the "
            f"{count} different ones counts once, against all of its own."
        )
    details |= attention_details(task, model, part)
    return Report(
        metrics=metrics,
        baselines=rules,
        best_baseline=best,
        skill=skills[best],
        notes=notes,
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
    task: Translate, model: keras.Model, part: str, rows: np.ndarray, *, beam: int
) -> list[str]:
    """The best translation of some sentences of a part."""
    from attnlab.tasks.translation.decoding.search import Search

    search = Search(model, beam=beam, length_penalty=task.length_penalty)
    return search_rows(task, search, part, rows)


def search_rows(task: Translate, search: Any, part: str, rows: np.ndarray) -> list[str]:
    """The same with a search that exists, so that it compiles once."""
    source = task.prepared.parts[part].source
    found = search(sources_for(search.model, [source[int(row)] for row in rows]))
    return task.target_tokenizer.decode([best[0].tokens if best else () for best in found])


def token_scores(
    task: Translate, model: keras.Model, part: str, rows: np.ndarray
) -> dict[str, float]:
    """Loss, perplexity and accuracy of the true translations' tokens."""
    import keras

    from attnlab.tasks.translation.program import TranslationProgram

    program = TranslationProgram(model, keras.optimizers.SGD())
    scores = program.evaluate(padded_batches(model, task.prepared.parts[part], rows))
    return {"loss": scores.loss, "perplexity": scores.perplexity, "accuracy": scores.accuracy}


def padded_batches(
    model: keras.Model, part: EncodedPart, rows: np.ndarray, multiple: int = 1
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows of a part in batches of near-equal length, nothing shuffled."""
    lengths = part.source.lengths[rows], part.target.lengths[rows] - 1
    plan = length_plan(*lengths, size=_BATCH_TOKENS, multiple=multiple)
    return [padded(model, part, _numbered(rows, places), multiple) for places in plan]


def _numbered(rows: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The rows at some places; place -1 is row -1, which fills up a batch."""
    return np.where(places < 0, -1, rows[places])


def padded(
    model: keras.Model, part: EncodedPart, rows: np.ndarray, multiple: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Source and target of some rows, padded at the end so that `multiple` divides the steps.

    A row of number -1 is all padding.
    """
    limit, real = longest_source(model), rows[rows >= 0]
    lengths = part.source.lengths[real]
    if limit is None or lengths.max() <= limit:
        source = part.source.padded(rows, _rounded(lengths.max(), multiple))
    else:
        cut = sources_for(model, [part.source[int(row)] for row in rows])
        source = np.zeros((len(rows), _rounded(limit, multiple)), np.int32)
        for place, row in enumerate(cut):
            source[place, : len(row)] = row
    # The decoder reads all but the last token of a target.
    steps = _rounded(part.target.lengths[real].max() - 1, multiple)
    return source, part.target.padded(rows, steps + 1)


def _rounded(length: int, multiple: int) -> int:
    return -(-int(length) // multiple) * multiple


def baselines(task: Translate, part: str, rows: np.ndarray) -> dict[str, list[str]]:
    """Translations by rules of thumb: the source as it is, the most similar training pair's."""
    prepared = task.prepared
    sources, _, _ = prepared.texts(part)
    train = prepared.parts["train"]
    found = nearest_rows(train.source, prepared.parts[part].source, rows)
    nearest = task.target_tokenizer.decode([train.target[int(row)][1:] for row in found])
    return {"nearest_pair": nearest, "copied_source": sources}


def _numbers(scores: Any) -> dict[str, float]:
    return {name: scores[name] for name in ("bleu", "chrf", "bleu_lc_tok")}


def _skill(bleu: float, baseline: float) -> float:
    """What part of the baseline's distance to 100 is gone."""
    return 1.0 - (100.0 - bleu) / max(100.0 - baseline, 1e-9)
