"""Learning to translate: batches of near-equal length, scored by translating."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import keras
import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.tasks.base import Learner, Losses, Report
from attnlab.tasks.translation.attention_maps import examples, stacked
from attnlab.tasks.translation.batches import padded, padded_batches
from attnlab.tasks.translation.decoding.search import Search
from attnlab.tasks.translation.program import TranslationProgram
from attnlab.tasks.translation.report import search_rows
from attnlab.tasks.translation.scores import score
from attnlab.training.batches import token_plan
from attnlab.training.program_cache import cached_program
from attnlab.training.steps import has_gpu, trains_with_xla

if TYPE_CHECKING:
    from attnlab.tasks.translation.task import Translate
    from attnlab.views.records import Figure

# Steps between two looks at the progress and the losses.
_CHUNK = 16
# Under XLA each shape compiles, so widths are rounded up to this.
_WIDTH_STEP = 8
# Compiling the one shape of all sentences takes as long as some 250 to 450 steps gain.
_STEPS_AN_EPOCH = 100
# Test sentences whose attention is kept, and validation sentences drawn while training.
_EXAMPLES, _DRAWN = 8, 2


class Batches(list[np.ndarray]):
    """Consecutive gradient steps: the rows of each."""

    @property
    def steps(self) -> int:
        """How many gradient steps these are."""
        return len(self)


class _Compiled(NamedTuple):
    """What is compiled of a translator, with its variables; see `program_cache`."""

    model: keras.Model
    optimizer: keras.Optimizer
    program: TranslationProgram
    search: Search


class TranslationLearner(Learner):
    """A translator on its corpus; see `Learner`."""

    def __init__(self, config: RunConfig, task: Translate, model: keras.Model) -> None:
        self._task, self._trainer = task, config.trainer
        self._seed, self._names = config.seed, config.names
        self._train = task.tokenized.parts["train"]
        # The decoder reads all but the last token of a target.
        self._lengths = self._train.source.lengths, self._train.target.lengths - 1
        one_shape, asked, self._multiple = self._has_one_shape(), config.trainer.jit, None
        faster = one_shape and model.faster_with_xla and self._is_long()
        self.jit = jit = trains_with_xla(asked, faster)
        if jit:
            self._multiple = 1 if one_shape else _WIDTH_STEP
        search_jit = jit and has_gpu()  # a CPU decodes faster as a graph
        loss = task.loss

        def compile(model: keras.Model, optimizer: keras.Optimizer) -> _Compiled:
            program = TranslationProgram(model, optimizer, loss=loss, jit=jit)
            search = Search(model, extra_length=task.extra_length, jit=search_jit)
            return _Compiled(model, optimizer, program, search)

        lengths = model.fixed_length, model.max_positions, task.extra_length
        shared = cached_program(self, config, model, compile, jit, lengths)
        self.model, self.optimizer = shared.model, shared.optimizer
        self._program, self._search = shared.program, shared.search
        self._program.reseed(config.seed)
        self._validation: list | None = None

    def _has_one_shape(self) -> bool:
        """Whether all sentences to train on have equally many tokens, as have those to score."""
        parts = [self._task.tokenized.parts.get(name) for name in ("train", "validation")]
        sides = zip(*((part.source, part.target) for part in parts if part), strict=True)
        return all(np.ptp(np.concatenate([part.lengths for part in side])) == 0 for side in sides)

    def _is_long(self) -> bool:
        """Whether an epoch has enough steps to make up for compiling with XLA."""
        return sum(map(len, self.chunks(epoch=1))) >= _STEPS_AN_EPOCH

    def chunks(self, epoch: int) -> list[Batches]:
        """The epoch's batches, a few together."""
        plan = token_plan(
            *self._lengths,
            size=self._trainer.batch_size,
            by=self._trainer.batch_by,
            seed=self._seed,
            epoch=epoch,
            multiple=self._multiple,
        )
        return [Batches(plan[first : first + _CHUNK]) for first in range(0, len(plan), _CHUNK)]

    def train(self, chunk: Batches, rates: np.ndarray, first_step: int) -> Losses:
        """Take some steps; see `TranslationProgram.train`."""
        batches = [padded(self.model, self._train, rows, self._multiple) for rows in chunk]
        return Losses(*self._program.train(batches, rates, first_step))

    def validate(self, epoch: int) -> dict[str, float]:
        """Loss, perplexity and accuracy of tokens; BLEU and chrF in the epochs that translate."""
        part = self._task.tokenized.parts.get("validation")
        if part is None:
            return {}
        if self._validation is None:
            rows = np.arange(len(part.source))
            self._validation = padded_batches(self.model, part, rows, self._multiple)
        scores = self._program.evaluate(self._validation)
        bleu = chrf = float("nan")
        if epoch % self._task.score_every == 0 or epoch == self._trainer.epochs:
            bleu, chrf = self._translation_scores()
        return {
            "val_loss": scores.loss,
            "val_perplexity": scores.perplexity,
            "val_accuracy": scores.accuracy,
            "val_bleu": bleu,
            "val_chrf": chrf,
        }

    def _translation_scores(self) -> tuple[float, float]:
        """BLEU and chrF of greedy translations of some validation sentences, the same each time."""
        part = self._task.tokenized.parts["validation"]
        count = len(part.source)
        some = min(self._task.score_sentences or count, count)
        rows = np.linspace(0, count - 1, some).astype(int)
        _, references, _ = part.texts()
        hypotheses = search_rows(self._task, self._search, part, rows)
        language = self._task.corpus.target_language
        scores = score(hypotheses, [references[row] for row in rows], language)
        return scores["bleu"], scores["chrf"]

    def report(self) -> Report:
        """The test part's translations beside the baselines."""
        return self._task.evaluate(self.model, "test", progress=self.progress)

    def extra_reports(self) -> dict[str, Any]:
        """Scores on the corpus's further test parts."""
        parts = [*self._task.tokenized.parts]
        further = [part for part in parts if part not in ("train", "validation", "test")]
        evaluate = partial(self._task.evaluate, self.model, progress=self.progress)
        return {part: evaluate(part).brief() for part in further}

    def examples(self) -> dict[str, np.ndarray] | None:
        """Attention on a few test sentences, each translated greedily; see `stacked`."""
        part = self._task.tokenized.parts["test"]
        return stacked(examples(self._task.tokenizers, self.model, self._search, part, _EXAMPLES))

    def epoch_figures(self, epoch: int) -> dict[str, Figure]:
        """Attention maps of two validation sentences, in epochs 1, 2, 4, 8, ..."""
        part = self._task.tokenized.parts.get("validation")
        if epoch & (epoch - 1) or part is None:
            return {}
        from attnlab.tasks.shown.run_figures import run_title
        from attnlab.tasks.translation.shown.maps import maps_figure

        title = f"{run_title(self._names)}: attention, epoch {epoch}"
        found = examples(self._task.tokenizers, self.model, self._search, part, _DRAWN)
        return {
            f"attention_epoch_{epoch:03d}_{number}.png": maps_figure(*each, title=title)
            for number, each in enumerate(found, 1)
        }
