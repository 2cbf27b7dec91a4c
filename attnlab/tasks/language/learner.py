"""Train a language model or a model of masked words: one compiled program runs an epoch."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.attention.head_measures import measure_heads, record_attention
from attnlab.config.sections import RunConfig
from attnlab.tasks.in_memory import InMemoryLearner
from attnlab.tasks.language.data import ScoredRows, Stream
from attnlab.tasks.language.generation import Generator
from attnlab.tasks.language.models.model import Scorer
from attnlab.tasks.language.report import build_report
from attnlab.tasks.text_task import text_settings
from attnlab.training.compilation import is_faster_with_xla, step_operations
from attnlab.training.plan import BatchPlan, StepLosses, plan_in_order

if TYPE_CHECKING:
    from attnlab.tasks.base import Report
    from attnlab.tasks.language.masked_words import MaskedWords
    from attnlab.tasks.language.models.masked import MaskedWordModel
    from attnlab.tasks.language.models.model import LanguageModel
    from attnlab.tasks.language.task import LanguageTask

_MEASURED = 64  # windows on which the heads are measured
_STEPS_FOR_XLA = 500  # of a run: compiling takes about 10 CPU s, a step 6 to 50 CPU ms less
_VALIDATED = 4096  # windows that validation scores at least, if the text has as many
_SHOWN = 48  # tokens on the picture of attention
_START, _SAMPLE = 8, 120  # tokens of a sample: of the test text, and drawn


class LanguageLearner(InMemoryLearner):
    """Trains a model on windows of a stream, or on rows; see `Learner`.

    An epoch of a stream has `task.windows` windows, whose first tokens are drawn with replacement
    from (seed, epoch), as in nanoGPT. The compiled program gets the windows of a chunk one after
    the other, so a stream may be larger than memory.
    """

    def __init__(self, config: RunConfig, task: LanguageTask, model: LanguageModel) -> None:
        self._task: Any = task
        train = task.data.parts["train"]
        self._stream = train if isinstance(train, Stream) else None
        if self._stream is not None:
            inputs = targets = np.zeros(config.trainer.step_size, np.int32)
            items = task.windows_per_epoch
        else:
            scored = task.scored_rows("train")
            inputs = np.concatenate([scored.tokens, scored.places], axis=1)
            targets, items = scored.targets, len(scored.targets)
        # XLA has to gain more in the steps of a run than compiling costs.
        steps = config.trainer.epochs * -(-items // config.trainer.step_size)
        is_faster = False
        if model.xla_limit is not None and steps >= _STEPS_FOR_XLA:
            tokens = min(config.trainer.batch_size, items) * task.context
            is_faster = is_faster_with_xla(step_operations(model, tokens), model.xla_limit)
        data = {"train": inputs}, {"train": targets}
        sizes = (task.context,)
        super().__init__(config, model, task.loss, *data, faster_with_xla=is_faster, sizes=sizes)
        self._scorer, self._generator = Scorer(model), Generator(model)

    def chunks(self, epoch: int) -> list[BatchPlan]:  # noqa: D102
        if self._stream is None:
            return super().chunks(epoch)
        random = np.random.default_rng([self._seed, epoch])
        places = len(self._stream) - self._task.context
        starts = random.integers(0, places, self._task.windows_per_epoch)
        return self.in_chunks(plan_in_order(starts, min(self._batch_size, len(starts))))

    def train(self, chunk: BatchPlan, rates: np.ndarray, first_step: int) -> StepLosses:  # noqa: D102
        if self._stream is None:
            return super().train(chunk, rates, first_step)
        width = self._task.context + 1
        windows = self._stream.tokens(chunk.indices[..., None] + np.arange(width))
        self.feed(windows.reshape(-1), windows[0, 0])
        firsts = np.arange(chunk.indices.size, dtype=np.int32) * width
        plan = BatchPlan(firsts.reshape(chunk.indices.shape), chunk.weights)
        return super().train(plan, rates, first_step)

    def validate(self, epoch: int) -> dict[str, float]:
        """Return `val_loss` in nats per token, and `val_accuracy` of rows.

        Of a text, `val_bits_per_byte` is the second; an unknown token has no bytes, so it is
        missing if validation has one.
        """
        scored, size = self._validation
        self.fill_model()  # the scorer reads its variables
        scores = self._scorer(scored)
        losses = scores.losses[scored.has_target]
        values = {"val_loss": float(losses.mean(dtype=np.float64))}
        if self._stream is None:
            right = scores.tokens == scored.targets
            values["val_accuracy"] = float(right[scored.has_target].mean())
        elif size:
            bits = scores.losses.sum(dtype=np.float64) / (math.log(2) * size)
            values["val_bits_per_byte"] = float(bits)
        return values

    @cached_property
    def _validation(self) -> tuple[ScoredRows, float]:
        """The windows or rows of the validation part that are scored, and their bytes if known.

        Of a long text, these are windows at equal distances: as many as an epoch has, but at least
        4,096.
        """
        part, scored = self._task.data.parts["validation"], self._task.scored_rows("validation")
        if not isinstance(part, Stream):
            return scored, 0.0
        all_windows = len(scored.tokens)
        most = min(max(self._task.windows_per_epoch, _VALIDATED), all_windows)
        scored = scored.at(np.arange(most) * all_windows // most)
        return scored, 0.0 if part.unknown else float(part.bytes_of(scored).sum())

    def report(self) -> Report:
        """Score the test part and the baselines, and write a sample of a text."""
        self.fill_model()
        report = build_report(self._task, "test", self._scorer(self._task.scored_rows("test")))
        if self._stream is None:
            return report
        details = {**report.details, "sample": self._sample()}
        inputs, tokens = self._task.head_inputs(self.model, "test", _MEASURED)
        with record_attention(self.model) as measures:
            self.model(inputs, training=False)
        first = [measure_heads(looked, tokens)["first"].mean() for looked in measures.values()]
        if first:  # the mean of `first` in `head_measures` over all heads and layers
            details["first_token"] = round(float(np.mean(first)), 5)
        notes = [*report.notes, f"a sample: {' '.join(details['sample'].split())}"]
        return replace(report, notes=notes, details=details)

    def _sample(self) -> str:
        """Return the first tokens of the test text, from a word's start on, and continue them."""
        start, decode = self._example[0][0, :_START].tolist(), self._task.vocabulary.decode
        drawn = self._generator.continue_text(start, tokens=_SAMPLE, seed=self._seed)
        tokens = [*start, *(int(step[0]) for step in drawn)]
        # The parts of a text may be cut within a word.
        before = self._task.data.parts["validation"].tokens(slice(-1, None))
        word = re.search(r"(?<=\s)\S", decode([*before, *start]))
        return decode([*before, *tokens])[word.start() :] if word else decode(tokens)

    @cached_property
    def _example(self) -> tuple[np.ndarray, np.ndarray]:
        """The first test window or row (1, T), and the same with -1 for padding."""
        return self._task.head_inputs(self.model, "test", 1)

    def examples(self) -> dict[str, np.ndarray] | None:
        """Return attention on the start of the test part, and a sample of a text.

        `weights` (L, H, T, T) float16 of all layers and `tokens` (T,), their labels, are missing if
        the model has no attention; `sample` is the text that it writes, missing for rows.
        """
        arrays = {}
        self.fill_model()
        if self._stream is not None:
            arrays["sample"] = np.array(self._sample())
        labels = self._task.vocabulary.labels(self._example[0][0])
        return arrays | self._attention(self._example[0], labels) or None

    def _attention(self, inputs: np.ndarray, labels: Any) -> dict[str, np.ndarray]:
        with record_attention(self.model) as layers:
            self.model(inputs, training=False)
        if not layers:
            return {}
        size = min(int(np.count_nonzero(self._example[1] >= 0)), _SHOWN)
        weights = np.stack([layer.weights[0, :, :size, :size] for layer in layers.values()])
        return {"weights": weights.astype(np.float16), "tokens": np.array(labels[:size])}


class MaskedWordLearner(LanguageLearner):
    """Trains a model on rows in which each step masks other words; see `Learner`.

    The program gets the rows of a chunk, so the rows of train may be larger than memory.
    """

    def __init__(self, config: RunConfig, task: MaskedWords, model: MaskedWordModel) -> None:
        self._task, self._stream, self._rows = task, None, task.data.parts["train"]
        rows = {"train": np.zeros((config.trainer.step_size, task.width), np.int32)}
        settings = text_settings(model, rows)
        InMemoryLearner.__init__(self, config, model, task.loss, rows, rows, **settings)
        self._scorer = Scorer(model)

    def chunks(self, epoch: int) -> list[BatchPlan]:  # noqa: D102
        lengths = None if self._lengths is None else self._rows.lengths
        return self.planned(np.arange(len(self._rows)), lengths, epoch)

    def train(self, chunk: BatchPlan, rates: np.ndarray, first_step: int) -> StepLosses:  # noqa: D102
        numbers = chunk.indices.reshape(-1)
        rows = self._rows.pad(numbers, self._task.width)
        lengths = None if self._lengths is None else self._rows.lengths[numbers]
        self.feed(rows, rows, lengths)
        places = np.arange(len(numbers), dtype=np.int32).reshape(chunk.indices.shape)
        return InMemoryLearner.train(self, BatchPlan(places, chunk.weights), rates, first_step)

    def examples(self) -> dict[str, np.ndarray] | None:
        """Return attention on the first test row, with its masks; see `LanguageLearner`."""
        self.fill_model()
        masked = self._task.data.parts["test"].tokens[:1]
        return self._attention(masked, self._task.names[masked[0]].tolist()) or None
