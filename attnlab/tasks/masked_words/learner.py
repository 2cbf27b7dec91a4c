"""Train a model to fill in words: one compiled program runs an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.tasks.in_memory import InMemoryLearner, text_settings
from attnlab.tasks.masked_words.data import StoredPart
from attnlab.tasks.masked_words.report import build_report, chosen_words
from attnlab.tasks.masked_words.scoring import Scorer, WordPredictions
from attnlab.text.tokenizers import PAD
from attnlab.training.batches import BatchPlan

if TYPE_CHECKING:
    from attnlab.tasks.base import Losses, Report
    from attnlab.tasks.masked_words.models.model import MaskedWordModel
    from attnlab.tasks.masked_words.task import MaskedWords


class MaskedWordLearner(InMemoryLearner):
    """Trains a model on its corpus; see `Learner`."""

    def __init__(self, config: RunConfig, task: MaskedWords, model: MaskedWordModel) -> None:
        self._task, train = task, task.data.parts["train"]
        self._stored = train if isinstance(train, StoredPart) else None
        rows, follows = train.tokens, train.follows
        if self._stored is not None:  # `train` gives the program the rows of each chunk
            rows = np.zeros((config.trainer.step_size, task.width), np.int32)
            follows = rows[:, 0]
        inputs, targets = {"train": rows}, {"train": _targets(rows, follows)}
        given = text_settings(model, inputs)
        super().__init__(config, model, task.loss, inputs, targets, **given)
        self._scorer = Scorer(model, task.width)

    def chunks(self, epoch: int) -> list[BatchPlan]:
        """Return the epoch's steps; see `InMemoryLearner.chunks`."""
        if self._stored is None:
            return super().chunks(epoch)
        lengths = None if self._lengths is None else self._stored.lengths
        return self.planned(np.arange(len(self._stored)), lengths, epoch)

    def train(self, chunk: BatchPlan, rates: np.ndarray, first_step: int) -> Losses:
        """Run the steps of a chunk, whose rows may be on the disk."""
        if self._stored is None:
            return super().train(chunk, rates, first_step)
        numbers = chunk.indices.reshape(-1)
        rows = self._stored.rows(numbers)
        lengths = None if self._lengths is None else self._stored.lengths[numbers]
        self.program.feed(rows, _targets(rows, np.ones(len(rows), np.int32)), lengths)
        places = np.arange(len(numbers), dtype=np.int32).reshape(chunk.indices.shape)
        return super().train(BatchPlan(places, chunk.weights), rates, first_step)

    def validate(self, epoch: int) -> dict[str, float]:
        """Return `val_loss` (nats) and `val_accuracy` over words, `val_follows` over text pairs."""
        part = self._task.data.parts["validation"]
        found = self._predicted("validation")
        scores = {
            "val_loss": found.loss,
            "val_accuracy": float(np.mean(found.words == part.words)),
        }
        if found.follows is not None:
            scores["val_follows"] = float(np.mean((found.follows > 0.5) == part.follows))
        return scores

    def report(self) -> Report:
        """Score the words of the test part and the baselines."""
        return build_report(self._task, "test", self._predicted("test"))

    def examples(self) -> dict[str, Any]:
        """Return attention on a few test rows; half have a wrong prediction, and those come first.

        Each row has one predicted word: the `weights` (N, H, 1, S) of its place, the `tokens`
        (N, S) as words, "" for padding, and, (N,) each, its `place`, the right `word`, the
        `prediction`, whether it is `right`, and `index`, the row of predictions.csv.
        """
        part, predicted = self._task.data.parts["test"], self._predicted("test")
        asked = part.asked
        assert asked is not None
        owners, columns = np.nonzero(asked.known)
        right = predicted.words == part.words
        chosen = chosen_words(right, owners)
        rows, places = owners[chosen], asked.places[owners, columns][chosen]
        tokens = asked.tokens[rows]
        if self.model.fixed_length is None:
            tokens = tokens[:, : int(np.sum(tokens != PAD, axis=1).max())]
        weights = np.asarray(self.program.attend(tokens), np.float32)
        return {
            "weights": weights[np.arange(len(rows)), :, places][:, :, None],
            "tokens": self._task.words(tokens),
            "place": places,
            "word": np.array(self._task.labels(part.words[chosen])),
            "prediction": np.array(self._task.labels(predicted.words[chosen])),
            "right": right[chosen],
            "index": chosen,
        }

    def _predicted(self, part: str) -> WordPredictions:
        self.program.fill_model()  # the scorer reads its variables
        return self._scorer(self._task.data.parts[part])


def _targets(rows: np.ndarray, follows: np.ndarray) -> np.ndarray:
    """Return (N, 1 + S): whether a row's second text follows its first one, and the row."""
    return np.concatenate([follows[:, None], rows], axis=1)
