"""How attention was learned: at which words a place looked that was asked for, by epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.page.by_run import attention_by_run, by_epoch_or_kept
from attnlab.page.parts import Part, Slider, Text
from attnlab.page.shaded import Looked, shaded_texts
from attnlab.tasks.attention_by_epoch import looks_by_epoch
from attnlab.tasks.base import Shown
from attnlab.tasks.masked_words.examples import chosen_words
from attnlab.tasks.masked_words.kind import KIND
from attnlab.tasks.masked_words.masking import marked
from attnlab.text.unknown import UNNAMED

if TYPE_CHECKING:
    from attnlab.tasks.masked_words.data import Part as Rows

_NOTE = (
    "The word between » and « asks. The darker a word, the more weight it had; the darkest has the "
    "largest weight of its text. Point at what was said, or reach it by Tab, for the largest ones "
    "in numbers. Dotted: another word than at the epoch before."
)
_NAMES = ("text", "word", "said")
_KEPT = {"weights", "tokens", "place", "word", "prediction"}


def attention_parts(shown: Sequence[Shown]) -> list[Part]:
    """A slider over the epochs for each run."""
    return attention_by_run(shown, _run_parts)


def _run_parts(run: Shown) -> list[Part]:
    looked, problems = by_epoch_or_kept(run, _by_epoch, _kept)
    texts = shaded_texts(looked, run.room, _NAMES)
    slider = Slider(run.frames(looked.epochs), [texts])
    return [Text(_NOTE, "note"), slider, *problems, *run.problems()]


def _by_epoch(run: Shown) -> Looked:
    task: Any = run.task()
    run.load_data()
    part: Rows = task.data.parts["test"]
    asked = part.asked
    assert asked is not None
    numbers = _numbers(run, len(part.words))
    owners, columns = np.nonzero(asked.known)
    rows, places = owners[numbers], asked.places[owners, columns][numbers]
    epochs, weights, said = _looks(run, asked.tokens[rows], places)
    words = _marked(task.words(asked.tokens[rows]), places)
    right = task.labels(part.words[numbers])
    return Looked(epochs, words, right, [task.labels(each) for each in said], weights, UNNAMED)


def _looks(
    run: Shown, tokens: np.ndarray, places: np.ndarray
) -> tuple[list[int], np.ndarray, list[np.ndarray]]:
    """Epochs, weights of words (E, N, H, S), and by epoch the words (N,) that were said."""
    from attnlab.training.steps import compiled

    epochs, weights, said, guess = [], [], [], None
    asked = tokens, places[:, None], np.ones(len(tokens), np.int32)
    for epoch, model, found in looks_by_epoch(run, tokens):
        guess = guess or compiled(model.guesses, jit=False)
        weights.append(np.nan_to_num(found)[np.arange(len(places)), :, places])
        said.append(np.asarray(guess(*asked).logits)[:, 0].argmax(axis=-1))
        epochs.append(epoch)
    return epochs, np.stack(weights), said


def _numbers(run: Shown, count: int) -> np.ndarray:
    """Some test words, half of them wrong."""
    columns, path = (
        run.run.read_predictions(KIND.scoring.text_columns),
        run.run.path / "predictions.csv",
    )
    if not {"right", "row"} <= columns.keys():
        raise RequestError(f"{path}: damaged: expected predictions.")
    if len(columns["right"]) != count:
        raise RequestError(f"{path}: expected {count} words, got {len(columns['right'])}.")
    return chosen_words(columns["right"] > 0, columns["row"])


def _kept(run: Shown) -> Looked | None:
    """The same of the best epoch alone, as attention.npz has it; None without one."""
    from attnlab.figures.run import read_attention

    kept = read_attention(run.run)
    if kept is None or not kept.keys() >= _KEPT:
        return None
    words = _marked(kept["tokens"], kept["place"])
    right, said = ([str(word) for word in kept[name]] for name in ("word", "prediction"))
    weights = np.nan_to_num(kept["weights"])[None, :, :, 0]
    best = int(run.metrics.get("best_epoch", 1))
    return Looked([best], words, right, [said], weights, UNNAMED)


def _marked(tokens: np.ndarray, places: np.ndarray) -> list[list[str]]:
    """The words of each row (N, S) without padding, those that are asked for marked."""
    found = [[str(word) for word in row if word] for row in tokens]
    for words, place in zip(found, places.tolist(), strict=True):
        words[place] = marked(words[place])
    return found
