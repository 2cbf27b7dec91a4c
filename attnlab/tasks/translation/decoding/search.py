"""Search for the translations of many sentences, in batches of bounded size."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from attnlab.tasks.translation.decoding.beam import BeamSettings, Decoded, beam_search
from attnlab.tasks.translation.tokenized import longest_source
from attnlab.text.tokenizers import PAD
from attnlab.training.steps import compiled

# Limits of a batch: padded source tokens times hypotheses, and cells of the encoder's attention.
_TOKENS, _CELLS = 16_384, 2_000_000
# XLA compiles each shape, so widths are rounded up to a multiple of this.
_WIDTH_STEP = 16
# Batches decoded in parallel threads. A step consists of operations too small for several cores.
_AT_ONCE = 4


class Hypothesis(NamedTuple):
    """One translation of a sentence."""

    tokens: np.ndarray  # (T,) int32, without START, END and padding
    score: float  # log-probability / length penalty, see `beam.penalized`; higher is better
    log_probability: float  # of all its tokens and END, natural logarithm


class Search:
    """Translates rows of tokens by beam search, which is greedy with a beam of 1.

    A translation has at most `extra_length` tokens more than its source, END included in both. So
    its batch changes it only through the rounding of sums in another order.

    `beam`, `n_best` and `length_penalty` are those of `BeamSettings`; the Transformer's paper has
    0.6 for the last, and 50 for `extra_length`. A batch has at most `batch_size` hypotheses, fewer
    if sentences are long; without `jit` some batches are translated in parallel. `jit` compiles
    with XLA, which pays on a GPU. The weights of the model, a `Translator`, may change between
    calls. If `progress` is set, it is called with the number of sentences that are done, and of
    all.
    """

    progress: Callable[[int, int], None] | None = None

    def __init__(
        self,
        model,
        *,
        beam: int = 1,
        n_best: int = 1,
        length_penalty: float = 0.6,
        extra_length: int = 50,
        batch_size: int = 512,
        jit: bool = False,
    ) -> None:
        self.model, self.jit = model, jit
        self.settings = BeamSettings(beam, n_best, float(length_penalty))
        self.extra_length, self.batch_size = extra_length, batch_size
        signature = (tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.int32))
        self._compiled = compiled(self._decode, jit, signature)

    def __call__(self, rows: Sequence[np.ndarray]) -> list[list[Hypothesis]]:
        """Translate source rows, tokens and END, of any lengths.

        Returns each row's `n_best` translations, the best one first; fewer if the vocabulary has
        too few tokens.
        """
        translations: list[list[Hypothesis]] = [[] for _ in rows]
        done = 0
        for places, decoded in self._decoded(rows):
            columns = zip(*(part.numpy() for part in decoded), strict=True)
            for place, (tokens, *numbers) in zip(places, columns, strict=False):  # no padding rows
                ranked = [
                    Hypothesis(row[:length], score, log)
                    for row, length, log, score in zip(
                        tokens, *(column.tolist() for column in numbers), strict=True
                    )
                ][: self.settings.n_best]
                real = [best for best in ranked if best.log_probability != -math.inf]
                translations[place] = real or ranked[:1]  # logits with NaN leave no hypothesis
            done += len(places)
            if self.progress:
                self.progress(done, len(rows))
        return translations

    def best(self, source):
        """Return the best translation of sources (B, S): tokens (B, T), PAD after the last one.

        A part of a TensorFlow graph, without the batches and threads of a call.
        """
        lengths = tf.reduce_sum(tf.cast(tf.not_equal(source, PAD), tf.int32), axis=1)
        limits = tf.maximum(lengths + self.extra_length, 1)
        if self.model.max_positions:
            limits = tf.minimum(limits, self.model.max_positions)
        decoded = self._decode(source, limits)
        tokens, lengths = decoded.tokens[:, 0], decoded.lengths[:, 0]
        return tokens * tf.sequence_mask(lengths, tf.shape(tokens)[1], tf.int32)

    def _decoded(self, rows: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray, Decoded]]:
        """Yield the places of each batch's rows with its hypotheses, as batches get done."""
        plan = plan_batches([len(row) for row in rows], self.batch_size, self.settings.beam)
        batches = ((places, self._padded([rows[place] for place in places])) for places in plan)
        if self.jit:
            yield from ((places, self._compiled(*batch)) for places, batch in batches)
            return
        decode = self._compiled.get_concrete_function()  # traced here: Keras's state is per thread
        pool = ThreadPoolExecutor(min(_AT_ONCE, os.cpu_count() or 1))
        try:
            under_way = {pool.submit(decode, *map(tf.constant, batch)): p for p, batch in batches}
            for future in as_completed(under_way):
                yield under_way[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _padded(self, rows: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return sources (B, S) and the longest translation of each, (B,)."""
        count, width = len(rows), max(map(len, rows))
        if self.jit:
            count = 1 << (count - 1).bit_length()
            width = -(-width // _WIDTH_STEP) * _WIDTH_STEP
            width = min(width, longest_source(self.model) or width)
        limits = np.ones(count, np.int32)
        limits[: len(rows)] = [max(len(row) + self.extra_length, 1) for row in rows]
        source = pad_rows(rows, count, width)
        return source, np.minimum(limits, self.model.max_positions or limits)

    def _decode(self, source, limits) -> Decoded:
        # XLA needs the size as a function of the batch's shape, so not of the values of `limits`.
        longest = tf.shape(source)[1] + self.extra_length if self.jit else tf.reduce_max(limits)
        return beam_search(self.model, source, limits, longest, self.settings, shrink=not self.jit)


def pad_rows(rows: Sequence[np.ndarray], count: int = 0, width: int = 0) -> np.ndarray:
    """Return rows of tokens as one int32 array of at least (count, width), padded with PAD."""
    shape = max(count, len(rows)), max(width, *map(len, rows))
    padded = np.full(shape, PAD, np.int32)
    for place, row in enumerate(rows):
        padded[place, : len(row)] = row
    return padded


def plan_batches(lengths: Sequence[int], batch_size: int, beam: int) -> Iterator[np.ndarray]:
    """Yield batches of bounded memory, as places of their rows in `lengths`.

    Rows of a batch have near-equal lengths; the longest come first. A row has `beam` hypotheses. A
    batch has at most `batch_size` hypotheses, but at least one row.
    """
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
    first = 0
    while first < len(order):
        width = max(int(lengths[order[first]]), 1)
        most = min(batch_size // beam, _TOKENS // (width * beam), _CELLS // width**2)
        yield order[first : first + max(most, 1)]
        first += max(most, 1)
