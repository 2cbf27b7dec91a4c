"""Beam search for translations; with a beam of 1 it is greedy decoding.

The sentences of a batch end at different steps. Whenever half of the rows are done, the others
continue as a smaller batch, so that one long sentence doesn't slow down all others. The whole loop
is one graph: only the result returns to Python.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from attnlab.tasks.translation.tokenized import longest_source
from attnlab.text.tokenizers import END, PAD, START, pad_rows
from attnlab.training.compilation import compile_function

# Limits of a batch: hypotheses, padded source tokens times hypotheses, and cells of the encoder's
# attention.
_HYPOTHESES, _TOKENS, _CELLS = 512, 16_384, 2_000_000
# XLA compiles each shape, so widths are rounded up to a multiple of this.
_WIDTH_STEP = 16
# Batches decoded in parallel threads. A step consists of operations too small for several cores.
_AT_ONCE = 4
_NEVER, _FORBIDDEN = float("-inf"), (PAD, START)
# Logits in a block of `largest`.
_BLOCK = 32


class Hypothesis(NamedTuple):
    """One translation of a sentence."""

    tokens: np.ndarray  # (T,) int32, without START, END and padding
    score: float  # log-probability / length penalty, see `penalize`; higher is better
    log_probability: float  # of all its tokens and END, natural logarithm


class Search:
    """Translates rows of tokens by beam search, which is greedy with a beam of 1.

    Each step finds the 2K best continuations of a sentence's K hypotheses. Those with END among the
    best K move to the set of ended hypotheses; the best K without END are extended. A sentence is
    done when K hypotheses have ended, when no live hypothesis can become one of the `n_best`, or at
    its longest length, at which each hypothesis gets END and its probability.

    Source: Wu et al. 2016 (arXiv 1609.08144), section 7, and Vaswani et al. 2017 (arXiv
    1706.03762), section 6.1. Difference: no coverage penalty and no pruning by a margin.

    `model` is a `Translator`, whose weights may change between calls. `length_penalty` is alpha of
    `penalized`. A translation has at most `extra_length` tokens more than its source, END included
    in both; so its batch changes it only through the rounding of sums in another order. `jit`
    compiles with XLA, which pays on a GPU; otherwise some batches are translated in parallel. If
    `progress` is set, it is called with the number of sentences that are done, and of all.
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
        jit: bool = False,
    ) -> None:
        self.model, self.beam, self.n_best, self.jit = model, beam, n_best, jit
        self.length_penalty, self.extra_length = float(length_penalty), extra_length
        signature = (tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.int32))
        self._compiled = compile_function(self._decode, jit, signature)

    def __call__(self, rows: Sequence[np.ndarray]) -> list[list[Hypothesis]]:
        """Return the `n_best` translations of source rows with END, the best one first.

        There are fewer if the vocabulary has too few tokens.
        """
        translations: list[list[Hypothesis]] = [[] for _ in rows]
        done = 0
        for places, decoded in self._decode_rows(rows):
            hypotheses = zip(*(part.numpy() for part in decoded), strict=True)
            for place, (tokens, *numbers) in zip(
                places, hypotheses, strict=False
            ):  # no padding rows
                columns = (column.tolist() for column in numbers)
                ranked = [
                    Hypothesis(row[:length], score, log)
                    for row, length, log, score in zip(tokens, *columns, strict=True)
                ][: self.n_best]
                real = [best for best in ranked if best.log_probability != -math.inf]
                translations[place] = real or ranked[:1]  # logits with NaN leave no hypothesis
            done += len(places)
            if self.progress:
                self.progress(done, len(rows))
        return translations

    def best(self, source):
        """Return tokens (B, T) of the best translations of sources (B, S), in a graph."""
        lengths = tf.reduce_sum(tf.cast(tf.not_equal(source, PAD), tf.int32), axis=1)
        limits = tf.maximum(lengths + self.extra_length, 1)
        if self.model.max_positions:
            limits = tf.minimum(limits, self.model.max_positions)
        decoded = self._decode(source, limits)
        tokens, lengths = decoded.tokens[:, 0], decoded.lengths[:, 0]
        return tokens * tf.sequence_mask(lengths, tf.shape(tokens)[1], tf.int32)

    def _decode_rows(self, rows: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray, Decoded]]:
        """Yield the places of each batch's rows with its hypotheses, as batches get done."""
        plan = plan_batches([len(row) for row in rows], _HYPOTHESES, self.beam)
        batches = ((places, self._pad([rows[place] for place in places])) for places in plan)
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

    def _pad(self, rows: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
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
        """Translate a batch.

        Sources (B, S) int32 are padded at the end; `limits` (B,) int32 are the most tokens of each
        translation, END included.
        """
        model, beam = self.model, self.beam
        # XLA needs the size as a function of the batch's shape, so not of the values of `limits`.
        longest = tf.shape(source)[1] + self.extra_length if self.jit else tf.reduce_max(limits)
        count = tf.shape(source)[0]
        memory = model.encode(source, training=False)
        # A function of its own, so that both uses share one trace.
        step = tf.function(partial(model.step), autograph=False)
        state = model.initial_state(memory, longest if self.jit else None)
        nothing = Decoded(
            tf.zeros((count, beam, longest), tf.int32),
            tf.zeros((count, beam), tf.int32),
            *[tf.fill((count, beam), _NEVER)] * 2,
        )
        # Before the first step all hypotheses of a sentence are equal: the model computes one.
        logits, state = step(tf.fill((count,), START), tf.constant(0), memory, state)
        logits, state, memory = tf.nest.map_structure(
            lambda part: tf.repeat(part, beam, 0), (logits, state, memory)
        )
        rows = _Rows(
            numbers=tf.range(count),
            limits=limits,
            memory=memory,
            state=state,
            tokens=tf.fill((count * beam,), START),
            live=tf.zeros((count, beam, longest), tf.int32),
            live_logs=tf.where(tf.range(beam) > 0, _NEVER, tf.zeros((count, beam))),
            ended=nothing,
            count=tf.zeros((count,), tf.int32),
        )
        rows = self._extend(logits, state, 0, rows)
        if self.jit:
            return self._run(step, tf.constant(1), rows, 0)[1].ended

        # Finished rows leave the batch, which XLA doesn't allow.
        def body(index, rows, result):
            index, rows = self._run(step, index, rows, tf.shape(rows.numbers)[0] // 2)
            result = tf.nest.map_structure(
                lambda whole, part: tf.tensor_scatter_nd_update(whole, rows.numbers[:, None], part),
                result,
                rows.ended,
            )
            places = tf.cast(tf.where(rows.live_logs[:, 0] > _NEVER)[:, 0], tf.int32)
            hypotheses = tf.reshape(places[:, None] * beam + tf.range(beam), (-1,))
            rows = _Rows(
                *_gather(rows[:2], places),
                *_gather((rows.memory, rows.state, rows.tokens), hypotheses),
                *_gather(rows[5:], places),
            )
            return index, rows, result

        def cond(_, rows, __):
            return tf.shape(rows.numbers)[0] > 0

        start = (tf.constant(1), rows, nothing)
        return tf.while_loop(cond, body, start, parallel_iterations=1)[2]

    def _run(self, step, index, rows: _Rows, most):
        """Run steps while over `most` sentences aren't done; return the next index and rows."""
        fixed = 3  # a step changes no numbers, limits and memory

        def body(index, *changing):
            before = _Rows(*rows[:fixed], *changing)
            logits, state = step(before.tokens, index, before.memory, before.state)
            after = self._extend(logits, state, index, before)[fixed:]
            # The loop requires constant shapes, which the inference for a step doesn't always find.
            for old, new in zip(tf.nest.flatten(changing), tf.nest.flatten(after), strict=True):
                new.set_shape(old.shape)
            return index + 1, *after

        def cond(_, *changing):
            logs = _Rows(*rows[:fixed], *changing).live_logs
            return tf.reduce_sum(tf.cast(logs[:, 0] > _NEVER, tf.int32)) > most

        start = (index, *rows[fixed:])
        index, *changing = tf.while_loop(cond, body, start, parallel_iterations=1)
        return index, _Rows(*rows[:fixed], *changing)

    def _extend(self, logits, state, index, rows: _Rows) -> _Rows:
        """Extend all live hypotheses by a token, by the logits and the state of a step."""
        beam, alpha = self.beam, self.length_penalty
        must_end = index + 1 >= rows.limits
        logs, tokens, parents = _candidates(logits, rows.live_logs, must_end, beam)
        ends = tf.equal(tokens, END)

        # Those that ended (-inf: none), merged with the best K so far.
        ended_logs = tf.where(ends[:, :beam], logs[:, :beam], _NEVER)
        here = Decoded(
            tf.gather(rows.live, parents[:, :beam], batch_dims=1),
            tf.zeros_like(rows.ended.lengths) + index,
            ended_logs,
            penalize(ended_logs, tf.cast(index + 1, tf.float32), alpha),
        )
        both = [tf.concat(parts, 1) for parts in zip(rows.ended, here, strict=True)]
        _, places = tf.math.top_k(both[-1], beam)
        ended = Decoded(*(tf.gather(part, places, batch_dims=1) for part in both))
        count = rows.count + tf.reduce_sum(tf.cast(ended_logs > _NEVER, tf.int32), 1)

        # The best K of the others.
        live_logs, places = tf.math.top_k(tf.where(ends, _NEVER, logs), beam)
        tokens, parents = (tf.gather(part, places, batch_dims=1) for part in (tokens, parents))
        is_here = tf.equal(tf.range(tf.shape(rows.live)[2]), index)
        live = tf.where(is_here, tokens[..., None], tf.gather(rows.live, parents, batch_dims=1))

        # A log-probability can only fall, and at the longest length the penalty divides it most.
        bound = penalize(live_logs[:, 0], tf.cast(rows.limits, tf.float32), alpha)
        is_hopeless = ended.scores[:, self.n_best - 1] >= bound
        is_done = (count >= beam) | is_hopeless | must_end
        if beam > 1:  # else a copy of the whole state would change nothing
            chosen = tf.range(tf.shape(parents)[0])[:, None] * beam + parents
            state = _gather(state, tf.reshape(chosen, (-1,)))
        return rows._replace(
            state=state,
            tokens=tf.reshape(tokens, (-1,)),
            live=live,
            live_logs=tf.where(is_done[:, None], _NEVER, live_logs),
            ended=ended,
            count=count,
        )


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


class Decoded(NamedTuple):
    """Hypotheses of B sentences as tensors, K per sentence, the best one first."""

    tokens: Any  # (B, K, L) int32 without START and END, padded with PAD
    lengths: Any  # (B, K) int32, tokens, END not counted
    log_probabilities: Any  # (B, K) float32, END included; -inf: no hypothesis
    scores: Any  # (B, K) float32, see `penalize`


class _Rows(NamedTuple):
    """The state of the search for n sentences with K hypotheses each."""

    numbers: Any  # (n,) int32, places in the batch
    limits: Any  # (n,) int32, most tokens of a hypothesis, END included; the last one must be END
    memory: Any  # the model's memory, a structure of (n * K, ...) tensors
    state: Any  # the decoder's state, a structure of (n * K, ...) tensors
    tokens: Any  # (n * K,) int32, the last token of each live hypothesis
    live: Any  # (n, K, L) int32, tokens of the live hypotheses, the most probable one first
    live_logs: Any  # (n, K) their log-probabilities; -inf: no hypothesis; a done row has none
    ended: Decoded  # hypotheses that reached END
    count: Any  # (n,) int32, how many have ended so far


def penalize(log_probabilities, lengths, alpha: float):
    """Return the score of a hypothesis Y: `log P(Y) / ((5 + |Y|) / 6)^alpha`.

    Source: Wu et al. 2016 (arXiv 1609.08144), Eq. 14. Difference: no coverage penalty. `lengths`
    |Y| are numbers of tokens, END included, as floats.
    """
    return log_probabilities / ((5.0 + lengths) / 6.0) ** alpha


def _gather(structure, places):
    """Return the rows at some places of all tensors of a structure."""
    return tf.nest.map_structure(lambda part: tf.gather(part, places), structure)


def _candidates(logits, live_logs, must_end, beam: int):
    """Find the 2K best continuations of a sentence's hypotheses; only END if it must end.

    Returns log-probabilities, tokens and the numbers of the hypotheses, (n, 2K) each, best first.
    """
    # The 2K + 2 best tokens of each hypothesis are enough, because two tokens are forbidden. So
    # neither a softmax nor `top_k` runs over all K * V continuations.
    width = min(2 * beam + 2, logits.shape[-1])
    values, tokens = largest(logits, width)
    maxima = values[:, :1]
    normalizers = maxima + tf.math.log(tf.reduce_sum(tf.exp(logits - maxima), -1, keepdims=True))
    last = tf.repeat(must_end, beam)[:, None]
    values = tf.where(last, logits[:, END, None], values)
    tokens = tf.where(last, END, tokens)
    # In a sentence that must end, each hypothesis has END as its only continuation.
    forbidden = tf.reduce_any(tf.equal(tokens[..., None], _FORBIDDEN), -1)
    ruled_out = forbidden | (last & (tf.range(width) > 0))
    logs = tf.where(ruled_out, _NEVER, values - normalizers)
    logs = tf.reshape(logs, (-1, beam, width)) + live_logs[:, :, None]
    logs, places = tf.math.top_k(tf.reshape(logs, (-1, beam * width)), 2 * beam)
    tokens = tf.gather(tf.reshape(tokens, (-1, beam * width)), places, batch_dims=1)
    return logs, tokens, places // width


def largest(logits, count: int):
    """Return the `count` largest of each row and their places, (N, V) to twice (N, count).

    `top_k` takes as long on a CPU as the matrix product that computes the logits. This is faster:
    only the `count` blocks of a row with the largest maxima are searched.
    """
    size = logits.shape[-1]
    if size < 4 * _BLOCK * count:
        return tf.math.top_k(logits, count)
    blocks = -(-size // _BLOCK)
    if size < blocks * _BLOCK:
        missing = blocks * _BLOCK - size
        logits = tf.pad(logits, ((0, 0), (0, missing)), constant_values=float("-inf"))
    parts = tf.reshape(logits, (-1, blocks, _BLOCK))
    numbers = tf.math.top_k(tf.reduce_max(parts, -1), count).indices
    candidates = tf.reshape(tf.gather(parts, numbers, batch_dims=1), (-1, count * _BLOCK))
    values, places = tf.math.top_k(candidates, count)
    tokens = tf.gather(numbers, places // _BLOCK, batch_dims=1) * _BLOCK + places % _BLOCK
    return values, tf.minimum(tokens, size - 1)  # the padding is found if a row has NaN
