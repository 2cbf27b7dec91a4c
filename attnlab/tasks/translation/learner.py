"""The learner of translation: batches of near-equal length, validated by translating."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import keras
import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.tasks.base import Learner, Report
from attnlab.tasks.translation.attention_maps import recorded_examples
from attnlab.tasks.translation.program import TranslationProgram
from attnlab.tasks.translation.report import search_rows
from attnlab.tasks.translation.scores import score
from attnlab.tasks.translation.search import Search
from attnlab.tasks.translation.tokenized import pad_batches, pad_pairs
from attnlab.training.compilation import has_gpu, stateful_program, trains_with_xla
from attnlab.training.plan import StepLosses, token_plan
from attnlab.training.step import Parts, strategy_for

if TYPE_CHECKING:
    from attnlab.tasks.translation.task import Translate

# Steps between two reports of progress and losses.
_CHUNK = 16
_WIDTH_STEP = 8  # XLA compiles a program for each shape, so widths are multiples of this
# With fewer steps per epoch, compiling the single shape costs more than it saves.
_STEPS_AN_EPOCH = 100


class Batches(list[np.ndarray]):
    """The row numbers of consecutive gradient steps, an array per step."""

    @property
    def steps(self) -> int:
        """Number of gradient steps."""
        return len(self)

    def first(self, steps: int) -> Batches:
        """Return the first steps."""
        return Batches(self[:steps])


class _Compiled(NamedTuple):
    """What `stateful_program` stores."""

    model: keras.Model
    optimizer: keras.Optimizer
    program: TranslationProgram
    search: Search


class TranslationLearner(Learner):
    """Trains a translator on its corpus; see `Learner`."""

    def __init__(self, config: RunConfig, task: Translate, model: keras.Model) -> None:
        self._task, self._trainer = task, config.trainer
        self._seed = config.seed
        self._train = task.tokenized.parts["train"]
        # The decoder reads all but the last token of a target.
        self._lengths = self._train.source.lengths, self._train.target.lengths - 1
        self._multiple = None
        one_shape = self._has_one_shape()
        faster = one_shape and model.faster_with_xla
        faster = faster and sum(map(len, self.chunks(epoch=1))) >= _STEPS_AN_EPOCH
        self.jit = jit = trains_with_xla(config.trainer.jit, faster)
        if jit:
            self._multiple = 1 if one_shape else _WIDTH_STEP
        search_jit = jit and has_gpu()  # a CPU decodes faster as a graph
        loss, strategy = task.loss, strategy_for(config.trainer)
        self._parts = Parts.of(config.trainer.accumulate, strategy)
        split = {"parts": self._parts, "strategy": strategy}

        def compile(model: keras.Model, optimizer: keras.Optimizer) -> _Compiled:
            program = TranslationProgram(model, optimizer, loss=loss, jit=jit, **split)
            search = Search(model, extra_length=task.extra_length, jit=search_jit)
            return _Compiled(model, optimizer, program, search)

        lengths = model.fixed_length, model.max_positions, task.extra_length
        shared = stateful_program(self, config, model, compile, jit, lengths, self._parts.devices)
        self.model, self.optimizer = shared.model, shared.optimizer
        self._program, self._search = shared.program, shared.search
        self._program.reseed(config.seed)
        self._validation: list | None = None

    def _has_one_shape(self) -> bool:
        """Whether all sentences of a side, in train and validation, have equally many tokens."""
        parts = [self._task.tokenized.parts.get(name) for name in ("train", "validation")]
        sides = zip(*((part.source, part.target) for part in parts if part), strict=True)
        return all(np.ptp(np.concatenate([part.lengths for part in side])) == 0 for side in sides)

    def chunks(self, epoch: int) -> list[Batches]:
        """Return the epoch's batches in chunks of 16 steps."""
        plan = token_plan(
            *self._lengths,
            size=self._trainer.step_size,
            by=self._trainer.batch_by,
            seed=self._seed,
            epoch=epoch,
            multiple=self._multiple,
        )
        return [Batches(plan[first : first + _CHUNK]) for first in range(0, len(plan), _CHUNK)]

    def train(self, chunk: Batches, rates: np.ndarray, first_step: int) -> StepLosses:
        """Run the steps of a chunk; see `TranslationProgram.train`."""
        rows_of_steps = (self._parts.pad(rows, padding=-1) for rows in chunk)
        batches = [
            pad_pairs(self.model, self._train, rows, self._multiple) for rows in rows_of_steps
        ]
        return StepLosses(*self._program.train(batches, rates, first_step))

    def validate(self, epoch: int) -> dict[str, float]:
        """Return loss, perplexity and accuracy of tokens; BLEU and chrF, NaN if not due."""
        part = self._task.tokenized.parts.get("validation")
        if part is None:
            return {}
        if self._validation is None:
            rows = np.arange(len(part.source))
            self._validation = pad_batches(self.model, part, rows, self._multiple)
        scores = self._program.evaluate(self._validation)
        bleu = chrf = float("nan")
        if epoch % self._task.score_every == 0 or epoch == self._trainer.epochs:
            # Greedy translations of the same sentences each time.
            count = len(part)
            most = min(self._task.score_sentences or count, count)
            rows = np.linspace(0, count - 1, most).astype(int)
            references = part.texts()[1]
            hypotheses = search_rows(self._task, self._search, part, rows)
            language = self._task.corpus.target_language
            scored = score(hypotheses, [references[row] for row in rows], language)
            bleu, chrf = scored["bleu"], scored["chrf"]
        return {
            "val_loss": scores.loss,
            "val_perplexity": scores.perplexity,
            "val_accuracy": scores.accuracy,
            "val_bleu": bleu,
            "val_chrf": chrf,
        }

    def report(self) -> Report:
        """Score the translations of the test part, and the baselines."""
        return self._task.evaluate(self.model, "test", progress=self.progress)

    def extra_reports(self) -> dict[str, Any]:
        """Score the corpus's further test parts."""
        parts = [*self._task.tokenized.parts]
        further = [part for part in parts if part not in ("train", "validation", "test")]
        evaluate = partial(self._task.evaluate, self.model, progress=self.progress)
        return {part: evaluate(part).brief() for part in further}

    def examples(self) -> dict[str, np.ndarray] | None:
        """Return the attention on a few test sentences; see `recorded_examples`."""
        part = self._task.tokenized.parts["test"]
        return recorded_examples(self._task.tokenizers, self.model, self._search, part)
