"""Small models that fill in words, texts for them, and synthetic runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
from unlabelled import Documents, document

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.masked_words.data import MaskedPart, MaskedTexts
from attnlab.tasks.masked_words.filling import labels
from attnlab.tasks.masked_words.masking import choose
from attnlab.tasks.masked_words.report import build_report
from attnlab.tasks.masked_words.rows import Row, filled
from attnlab.tasks.masked_words.task import MaskedWords
from attnlab.text.tokenizers import Tokenizer


def task_of(count: int = 40, **settings) -> MaskedWords:
    return MaskedWords(corpus=Documents(count), cache=Path("."), **settings)


def small_model(words: int = 50, width: int = 30, next_sentence: bool = False):
    """Two layers of multi-head attention, without dropout."""
    from attnlab.attention.multi_head import MultiHeadAttention
    from attnlab.layers.text_encoder import TextEncoder
    from attnlab.tasks.masked_words.models.model import MaskedWordModel

    keras.utils.set_random_seed(3)
    layers = [MultiHeadAttention(units=6, heads=2) for _ in range(2)]
    sizes = {"vocabulary": words + 1, "most": width, "units": 6, "feed_forward": 11}
    model = MaskedWordModel(
        encoder=TextEncoder(attention=layers, name="encoder", **sizes), next_sentence=next_sentence
    )
    model.build((None, width))
    return model


def some_rows(words: int = 50, width: int = 30, count: int = 7) -> np.ndarray:
    """Rows (N, S) of any words, of different lengths; some of the words are unknown."""
    draw = np.random.default_rng(1)
    texts = [draw.integers(4, words, length) for length in draw.integers(1, width - 1, count)]
    for text in texts[1:]:
        text[0] = 1
    return filled([Row(text.tolist()) for text in texts], width)


def data_of(train: Sequence[str], test: Sequence[str]) -> tuple[MaskedTexts, Tokenizer]:
    """The task's data for these texts, one document each."""
    tokenizer = Tokenizer.fit(train, kind="word", lowercase=True)
    rows = [[Row(each) for each in tokenizer.encode(texts)] for texts in (train, test)]
    width = max(row.length for part in rows for row in part)
    tokens = [filled(part, width) for part in rows]
    ones = [np.ones(len(part), np.int32) for part in rows]
    asked = choose(tokens[1], tokenizer.size, seed=0)
    parts = {
        "train": MaskedPart(tokens[0], ones[0], None),
        "test": MaskedPart(tokens[1], ones[1], asked),
    }
    width = parts["train"].tokens.shape[1]
    return MaskedTexts("documents", "a test", "0" * 64, parts, width, 0, 0, False), tokenizer


TRAIN = [" ".join(document(number)) for number in range(12)]
TEST = [sentence for number in range(7) for sentence in document(number)]
DATA, TOKENIZER = data_of(TRAIN, TEST)


def fake_task(data: MaskedTexts = DATA, tokenizer: Tokenizer = TOKENIZER):
    """The attributes of a task that a report needs."""
    real = task_of()
    real.data, real.tokenizer = data, tokenizer
    real.width = data.parts["test"].tokens.shape[1]
    return real


def said(wrong: Sequence[int], data: MaskedTexts = DATA, tokenizer: Tokenizer = TOKENIZER):
    """`WordPredictions`: all words right, except those in `wrong`, which get the word before."""
    words = data.parts["test"].words
    own, losses = words.copy(), np.full(len(words), 0.25, np.float32)
    own[list(wrong)] = np.where(own[list(wrong)] > 4, own[list(wrong)] - 1, 5)
    losses[list(wrong)] = np.linspace(1, 3, len(wrong))
    return SimpleNamespace(
        words=own, losses=losses, probabilities=np.full(len(words), 0.75), follows=None
    )


def write_filler(
    runs: Path,
    attention: str,
    wrong: Sequence[int],
    *,
    seed: int = 0,
    task: MaskedWords | None = None,
    kept: Mapping[str, np.ndarray] | None = None,
) -> RunDirectory:
    """Write a run with wrong predictions for these words, and right ones for all others."""
    from compared_runs import write_run

    task = task or fake_task()
    report = build_report(task, "test", said(wrong, task.data, task.tokenizer))
    scores = report.scores()
    known = {"test": scores.pop("metrics"), **scores, "notes": report.notes}
    known |= {"monitor": "val_loss", "best_epoch": 2}
    run = write_run(runs, attention, seed, None, task="masked_words", metrics=known)
    run.write_predictions(report.predictions)
    if kept is not None:
        np.savez(run.path / "attention.npz", **kept)
    return run


def word(number: int) -> str:
    """The test word of a number."""
    return labels(TOKENIZER, DATA.parts["test"].words[[number]])[0]
