"""Small language models and tasks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from same_runs import assert_same_run

from attnlab.attention.multi_head import MultiHeadAttention
from attnlab.tasks.language.corpora import Text, by_position
from attnlab.tasks.language.data import PADDING, Rows
from attnlab.tasks.language.generated import GeneratedRows
from attnlab.tasks.language.models.model import TransformerLanguageModel
from attnlab.tasks.language.task import LanguageTask
from attnlab.tasks.language.text.reading import encode_stream, fit_stream
from attnlab.tasks.language.text.vocabulary import TextVocabulary
from attnlab.text.reading import RawText


class GivenText(Text):
    """A given text, cut by position."""

    name, origin = "given", "a test"

    def __init__(self, text: str | bytes, validation: float = 0.2, test: float = 0.2) -> None:
        self.text = text.encode() if isinstance(text, str) else text
        self.validation, self.test = validation, test

    def read(self, place: Path) -> dict[str, RawText]:
        return by_position(RawText(self.text), self.validation, self.test)


def vocabulary_of(kind: str, text: str, has_unknown: bool = False) -> TextVocabulary:
    """Return the vocabulary of a text."""
    corpus = GivenText(text, 0, 0)
    corpus.parts = {"train": RawText(corpus.text)}
    return TextVocabulary(fit_stream(corpus, kind, 300, 1), has_unknown)


def tokens_of(vocabulary: TextVocabulary, text: str) -> np.ndarray:
    """Return the model's tokens of a text."""
    return vocabulary.numbers[np.concatenate(encode_stream(vocabulary.tokenizer, text))]


def rows_scored(whole: np.ndarray, scored: np.ndarray) -> Rows:
    """Rows of sequences (N, T + 1) in which the next token is predicted at some places (T,)."""
    return Rows(whole[:, :-1], np.where(scored, whole[:, 1:], PADDING))


class Echo(GeneratedRows):
    """Rows whose last tokens repeat the first ones; rows of test are longer."""

    name, origin, token_names, chance = "echo", "a test", ("a", "b", "c", "d"), 0.25

    def open(self, cache: Path, progress=None) -> None:
        self.parts = {part: self.part(part) for part in ("train", "validation", "test")}

    def part(self, part: str) -> Rows:
        draw = np.random.default_rng(len(part))
        length, count = (5, 7) if part == "test" else (3, 400 if part == "train" else 11)
        first = draw.integers(0, 4, (count, length))
        both = np.concatenate([first, first], axis=1).astype(np.int32)
        return rows_scored(both, np.arange(2 * length - 1) >= length - 1)


def small_model(*, layers: int = 2, vocabulary: int = 11, context: int = 13, **settings):
    arguments = {"units": 12, "feed_forward": 17, "positions": "learned"} | settings
    model = TransformerLanguageModel(
        attention=[MultiHeadAttention(heads=3) for _ in range(layers)],
        vocabulary=vocabulary,
        context=context,
        **arguments,
    )
    model.build((None, context))
    return model


def task_of(corpus: Text | GeneratedRows, **settings) -> LanguageTask:
    task = LanguageTask(corpus=corpus, cache=Path("."), **settings)
    task.load(0)
    return task


def assert_resumes_to_the_same_bits(trained, words, learner, epoch: int, monkeypatch) -> None:
    """Stop a run in an epoch's validation, resume it, and compare it with the one of `trained`."""
    (whole,) = trained.run_folders()
    validate = learner.validate

    def stop(self, number):
        if number == epoch:
            raise KeyboardInterrupt
        return validate(self, number)

    monkeypatch.setattr(learner, "validate", stop)
    assert trained(*words, "paths.runs=again").code != 0
    monkeypatch.setattr(learner, "validate", validate)
    (other,) = (path.parent.absolute() for path in Path("again").glob("*/*/*/status.json"))
    code, _, err = trained("resume", str(other))
    assert code == 0, err
    assert_same_run(other, whole)
