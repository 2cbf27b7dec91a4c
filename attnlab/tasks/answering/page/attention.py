"""How attention was learned: where the words of a few texts looked in the question, by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.page.by_run import attention_by_run, by_epoch_or_kept
from attnlab.page.parts import Part, Sentence, Sentences, Slider, Text, Written
from attnlab.tasks.accuracy_tests import chosen_examples
from attnlab.tasks.answering.examples import placed, shown_window
from attnlab.tasks.answering.kind import KIND
from attnlab.tasks.attention_by_epoch import looks_by_epoch
from attnlab.tasks.base import Shown
from attnlab.text.tokenizers import UNKNOWN
from attnlab.text.unknown import UNNAMED, name_unknown, unknown_notes

if TYPE_CHECKING:
    from attnlab.tasks.answering.data import AskedTexts
    from attnlab.tasks.answering.data import Part as Questions

_MOST_QUESTIONS, _MOST_HEADS = 6, 8
_NOTE = (
    "Point at a word, or reach it by Tab and the arrow keys: a word of the text lights up those of "
    "the question that it looks at, a word of the question those that look at it. Between "
    "brackets: what was said at that epoch. Dotted: changed since the epoch before."
)
_NAMES = ("question", "answer", "text")
_OPEN, _CLOSE = "[", "]"


class _Looked(NamedTuple):
    """What the model of each epoch made of some questions."""

    epochs: list[int]
    questions: list[list[str]]  # words of each, without padding
    texts: list[list[str]]
    answers: list[list[str]]  # words of the right answer to each
    said: list[list[tuple[int, int]]]  # of each epoch the places in each text
    weights: np.ndarray  # (E, N, H, P, Q)
    unknown: Mapping[str, str] = UNNAMED  # notes on words that the model doesn't know


def attention_parts(shown: Sequence[Shown]) -> list[Part]:
    """A slider over the epochs for each run that attends."""
    return attention_by_run(shown, _run_parts)


def _run_parts(run: Shown) -> list[Part]:
    looked, problems = by_epoch_or_kept(run, _by_epoch, _kept)
    slider = Slider(run.frames(looked.epochs), [_sentences(looked, run.room)])
    return [Text(_NOTE, "note"), slider, *problems, *run.problems()]


def _by_epoch(run: Shown) -> _Looked:
    """The same windows at each epoch: those around what the run's best epoch said."""
    task: Any = run.task()
    run.load_data()
    data: AskedTexts = task.data
    part = data.parts["test"]
    numbers = _numbers(run, len(part))
    predictions = run.run.read_predictions(KIND.scoring.text_columns)
    known = [_best_said(predictions, number) for number in numbers]
    rows = [
        shown_window(part, number, said, task.text_places)
        for number, said in zip(numbers, known, strict=True)
    ]
    tokens = part.rows.tokens[rows]
    epochs, weights, said = [], [], []
    for epoch, model, found in looks_by_epoch(run, tokens):
        weights.append(np.nan_to_num(found))
        answers = [
            task.answer(model, part.questions[number].question, part.questions[number].text)[0]
            for number in numbers
        ]
        said.append([placed(part, row, each) for row, each in zip(rows, answers, strict=True)])
        epochs.append(epoch)
    first = 1 + task.question_places
    unknown = [*zip(*(_unknown(task, part, row) for row in rows), strict=True)]
    sides = task.words(tokens[:, 1:first]), task.words(tokens[:, first:])
    words = [_named(own, named) for own, named in zip(sides, unknown, strict=True)]
    notes = unknown_notes(chain.from_iterable(chain(*unknown)), task.tokenizer.words)
    answers = [_words_of(part.questions[number].answers) for number in numbers]
    return _Looked(epochs, *words, answers, said, np.stack(weights), notes)


def _unknown(task: Any, part: Questions, row: int) -> tuple[list[str], list[str]]:
    """The words of a window that the model doesn't know: of its question, and of its text."""
    number, start = int(part.rows.owners[row]), int(part.rows.starts[row])
    question, text = part.questions[number].question, part.questions[number].text
    before = part.texts[number].tokens[:start].count(UNKNOWN)
    return task.unknown(question), task.unknown(text)[before:]


def _named(rows: np.ndarray, unknown: Sequence[list[str]]) -> list[list[str]]:
    """Words without padding."""
    return [
        name_unknown([str(word) for word in row if word], own)
        for row, own in zip(rows, unknown, strict=True)
    ]


def _best_said(predictions: Any, number: int) -> Any:
    """What the best epoch said, of which the place alone counts."""
    from attnlab.tasks.answering.predicted import PredictedAnswer

    start, end = (int(predictions[name][number]) for name in ("start", "end"))
    return (
        PredictedAnswer("", None, None, 0.0) if start < 0 else PredictedAnswer("", start, end, 0.0)
    )


def _words_of(answers: Sequence[Any]) -> list[str]:
    return answers[0].text.split() if answers else ["(no answer)"]


def _numbers(run: Shown, count: int) -> np.ndarray:
    """Some test questions, half of them wrong."""
    columns, path = (
        run.run.read_predictions(KIND.scoring.text_columns),
        run.run.path / "predictions.csv",
    )
    if not {"exact_match", "start", "end"} <= columns.keys():
        raise RequestError(f"{path}: damaged: expected predictions.")
    if len(columns["exact_match"]) != count:
        found = len(columns["exact_match"])
        raise RequestError(f"{path}: expected {count} questions, got {found}.")
    return chosen_examples(columns["exact_match"] > 0, _MOST_QUESTIONS)


def _kept(run: Shown) -> _Looked | None:
    """The same of the best epoch alone, as attention.npz has it; None without one."""
    from attnlab.figures.run import read_attention

    kept = read_attention(run.run)
    needed = {"weights", "question", "text", "answer", "prediction"}
    if kept is None or not needed <= kept.keys():
        return None
    kept = {name: values[:_MOST_QUESTIONS] for name, values in kept.items()}
    questions, texts = (
        [[str(word) for word in row if word] for row in kept[side]] for side in ("question", "text")
    )
    answers = [
        text[first : last + 1] if first >= 0 else ["(no answer)"]
        for text, (first, last) in zip(texts, kept["answer"].tolist(), strict=True)
    ]
    said = [(int(first), int(last)) for first, last in kept["prediction"]]
    best = int(run.metrics.get("best_epoch", 1))
    weights = np.nan_to_num(kept["weights"])[None]
    return _Looked([best], questions, texts, answers, [said], weights)


def _sentences(looked: _Looked, room: int) -> Sentences:
    """The questions for which there is room, a byte for each weight; where it allows, each head."""
    heads = looked.weights.shape[2]
    pairs = zip(looked.questions, looked.texts, strict=True)
    cells = np.cumsum([len(question) * (len(text) + 2) for question, text in pairs])
    cells = cells * len(looked.epochs)
    every = 1 < heads <= _MOST_HEADS and bool((1 + heads) * cells[-1] <= room)
    names = [f"mean of {heads} heads"] if heads > 1 else ["weights"]
    names += [f"head {number + 1}" for number in range(heads)] if every else []
    sentences = []
    for place in range(max(int(np.sum(cells <= room)), 1)):
        question, text = looked.questions[place], looked.texts[place]
        own = looked.weights[:, place, :, : len(text), : len(question)]  # (E, H, P, Q)
        mean = own.mean(axis=1, keepdims=True)
        maps = np.concatenate([mean, own], axis=1) if every else mean
        written = [
            _marked(text, each, said[place]) for each, said in zip(maps, looked.said, strict=True)
        ]
        notes = looked.unknown, looked.unknown
        sentences.append(Sentence(question, looked.answers[place], [], written, *notes))
    return Sentences(sentences, names, _NAMES)


def _marked(text: Sequence[str], weights: np.ndarray, said: tuple[int, int]) -> Written:
    """A text with brackets around what was said, which look at nothing."""
    first, last = said
    if not 0 <= first <= last < len(text):
        return Written(list(text), weights)
    tokens = [*text[:first], _OPEN, *text[first : last + 1], _CLOSE, *text[last + 1 :]]
    return Written(tokens, np.insert(weights, [first, last + 1], 0.0, axis=1))
