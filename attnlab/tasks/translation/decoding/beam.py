"""Greedy decoding and beam search."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import tensorflow as tf

from attnlab.tasks.translation.decoding.active import (
    ActiveRows,
    Decoded,
    all_active,
    largest,
    normalizers,
    run_until_done,
)
from attnlab.text.tokenizers import END, PAD, START

_NEVER, _FORBIDDEN = float("-inf"), (PAD, START)


class BeamSettings(NamedTuple):
    """The settings of a search."""

    beam: int  # K, hypotheses per sentence
    n_best: int  # translations per sentence, at most K
    length_penalty: float  # alpha of `penalized`, at least 0


class _Found(NamedTuple):
    """The state of the search for n sentences with W live hypotheses; W = K after a step."""

    alive: Any  # (n, W, L) int32, tokens of the live hypotheses, best first
    alive_log: Any  # (n, W) their log-probabilities; -inf: no hypothesis
    ended: Any  # (n, K, L) int32, tokens of hypotheses that reached END, best score first
    ended_log: Any  # (n, K) their log-probabilities; -inf: no hypothesis
    lengths: Any  # (n, K) int32, their tokens, END not counted
    scores: Any  # (n, K) log-probability / length penalty
    count: Any  # (n,) int32, how many have ended so far


class _Candidates(NamedTuple):
    """The 2K best continuations of a sentence's hypotheses, best first, each (n, 2K)."""

    log_probabilities: Any
    parents: Any
    tokens: Any


def penalized(log_probabilities, lengths, alpha: float):
    """Return the score of a hypothesis Y: `log P(Y) / ((5 + |Y|) / 6)^alpha`.

    Source: Wu et al. 2016 (arXiv 1609.08144), Eq. 14. Difference: no coverage penalty.

    Log-probabilities are of whole hypotheses, tensors or arrays; `lengths` |Y| are their numbers of
    tokens, END included, as floats. `alpha` 0 means no penalty; the Transformer's paper has 0.6.
    """
    return log_probabilities / ((5.0 + lengths) / 6.0) ** alpha


def decode_by_beam(
    model, source, limits, longest, settings: BeamSettings, *, shrink: bool = True
) -> Decoded:
    """Translate a batch by beam search.

    Each step finds the 2K best continuations of a sentence's K hypotheses. Those with END among the
    best K move to the set of ended hypotheses; the best K without END are extended. A sentence is
    done when K hypotheses have ended, when no live hypothesis can become one of the `n_best`, or at
    its longest length, at which each hypothesis gets END and its probability. With K = 1 this is
    greedy decoding.

    Source: Wu et al. 2016 (arXiv 1609.08144), section 7, and Vaswani et al. 2017 (arXiv
    1706.03762), section 6.1. Difference: no coverage penalty and no pruning by a margin.

    The model is a `Translator`. Sources (B, S) int32 are padded at the end; `limits` (B,) int32 are
    the most tokens of each translation, END included, and `longest`, int or scalar int32 tensor, is
    at least their maximum. With `shrink` finished rows leave the batch, which XLA doesn't allow.
    Returns K hypotheses per sentence, the best one first.
    """
    memory = model.encode(source, training=False)
    count, width = tf.shape(source)[0], settings.beam
    nothing = _nothing_found(count, width, longest)
    rows = all_active(model, memory, limits, nothing, None if shrink else longest)
    # A function of its own, so that both uses share one trace.
    step = tf.function(partial(model.step), autograph=False)
    # Before the first step, all hypotheses of a sentence are equal: one is enough.
    rows = _advance(step, settings, 1)(tf.constant(0), rows)
    rows = rows._replace(
        memory=tf.nest.map_structure(lambda part: tf.repeat(part, width, 0), memory)
    )
    found = run_until_done(_advance(step, settings, width), rows, 1, width=width, shrink=shrink)
    return Decoded(found.ended, found.lengths, found.ended_log)


def _nothing_found(count, width: int, longest) -> _Found:
    never = tf.fill((count, width), _NEVER)
    return _Found(
        alive=tf.zeros((count, 1, longest), tf.int32),
        alive_log=tf.zeros((count, 1)),
        ended=tf.zeros((count, width, longest), tf.int32),
        ended_log=never,
        lengths=tf.zeros((count, width), tf.int32),
        scores=never,
        count=tf.zeros((count,), tf.int32),
    )


def _advance(take_step, settings: BeamSettings, width: int):
    """Return the step from `width` hypotheses per sentence to K."""

    def advance(index, rows: ActiveRows) -> ActiveRows:
        step = take_step(rows.tokens, index, rows.memory, rows.state)
        must_end = index + 1 >= rows.limits
        best = _best(step.logits, rows.result.alive_log, must_end, width, settings.beam)
        found, tokens, parents = _extended(rows.result, best, index, settings)
        chosen = tf.range(tf.shape(parents)[0])[:, None] * width + parents
        chosen = tf.reshape(chosen, (-1,))
        return rows._replace(
            done=_done(found, index, rows.limits, settings),
            result=found,
            tokens=tf.reshape(tokens, (-1,)),
            state=tf.nest.map_structure(lambda part: tf.gather(part, chosen), step.state),
        )

    return advance


def _best(logits, log_probabilities, must_end, width: int, beam: int) -> _Candidates:
    """Find the 2K best continuations of `width` hypotheses; only END if a sentence must end.

    First the 2K + 2 best tokens of each hypothesis are selected (two more, because two tokens are
    forbidden), so that neither a softmax nor `top_k` runs over all K * V continuations.
    """
    each = min(2 * beam + 2, logits.shape[-1])
    values, tokens = largest(logits, each)
    normalizer = normalizers(logits, values[:, 0])
    last = tf.repeat(must_end, width)[:, None]
    values = tf.where(last, logits[:, END, None], values)
    tokens = tf.where(last, END, tokens)
    # In a sentence that must end, each hypothesis has END as its only continuation.
    forbidden = tf.reduce_any(tf.equal(tokens[..., None], _FORBIDDEN), -1)
    ruled_out = forbidden | (last & (tf.range(each) > 0))
    logs = tf.where(ruled_out, _NEVER, values - normalizer[:, None])
    logs = tf.reshape(logs, (-1, width, each)) + log_probabilities[:, :, None]
    logs = tf.reshape(logs, (-1, width * each))
    if width * each < 2 * beam:
        missing = 2 * beam - width * each
        logs = tf.pad(logs, ((0, 0), (0, missing)), constant_values=_NEVER)
    logs, places = tf.math.top_k(logs, 2 * beam)
    places = tf.minimum(places, width * each - 1)
    tokens = tf.gather(tf.reshape(tokens, (-1, width * each)), places, batch_dims=1)
    return _Candidates(logs, places // each, tokens)


def _extended(found: _Found, best: _Candidates, index, settings: BeamSettings):
    """Divide the candidates into those that ended and the K best others.

    Returns `_Found`, and tokens and parents (n, K) of the others.
    """
    beam = settings.beam
    ends = tf.equal(best.tokens, END)
    going_on = tf.where(ends, _NEVER, best.log_probabilities)
    alive_log, places = tf.math.top_k(going_on, beam)
    tokens, parents = (tf.gather(part, places, batch_dims=1) for part in best[:0:-1])
    here = tf.equal(tf.range(tf.shape(found.alive)[2]), index)
    alive = tf.where(here, tokens[..., None], tf.gather(found.alive, parents, batch_dims=1))
    # Merge those that ended (-inf: none) with the best K so far.
    logs = tf.where(ends[:, :beam], best.log_probabilities[:, :beam], _NEVER)
    scores = penalized(logs, tf.cast(index + 1, tf.float32), settings.length_penalty)
    written = tf.gather(found.alive, best.parents[:, :beam], batch_dims=1)
    scores, places = tf.math.top_k(tf.concat([found.scores, scores], 1), beam)
    merged = (
        tf.concat([found.ended, written], 1),
        tf.concat([found.ended_log, logs], 1),
        tf.concat([found.lengths, tf.zeros_like(found.lengths) + index], 1),
    )
    ended = (tf.gather(part, places, batch_dims=1) for part in merged)
    count = found.count + tf.reduce_sum(tf.cast(logs > _NEVER, tf.int32), 1)
    return _Found(alive, alive_log, *ended, scores, count), tokens, parents


def _done(found: _Found, index, limits, settings: BeamSettings):
    """Whether K have ended, no live one can get among the n best, or the limit is reached.

    A log-probability can only fall, and at the longest length the penalty divides it most.
    """
    most = tf.cast(limits, tf.float32)
    bound = penalized(found.alive_log[:, 0], most, settings.length_penalty)
    hopeless = found.scores[:, settings.n_best - 1] >= bound
    return (found.count >= settings.beam) | hopeless | (index + 1 >= limits)


def decode_greedily(model, source, limits, longest, *, shrink: bool = True) -> Decoded:
    """Translate a batch with the most probable token at each step.

    At its longest length a translation gets END. Arguments are those of `decode_by_beam`. Returns
    one hypothesis per sentence.
    """
    memory = model.encode(source, training=False)
    count, vocabulary = tf.shape(source)[0], range(model.target_size)
    bias = tf.constant([_NEVER if token in _FORBIDDEN else 0.0 for token in vocabulary])
    nothing = Decoded(
        tokens=tf.zeros((count, 1, longest), tf.int32),
        lengths=tf.zeros((count, 1), tf.int32),
        log_probabilities=tf.zeros((count, 1)),
    )

    def advance(index, rows: ActiveRows) -> ActiveRows:
        step, before = model.step(rows.tokens, index, rows.memory, rows.state), rows.result
        likeliest = tf.argmax(step.logits + bias, -1, output_type=tf.int32)
        tokens = tf.where(index + 1 >= rows.limits, END, likeliest)
        chosen = tf.gather(step.logits, tokens, batch_dims=1)
        logs = chosen - normalizers(step.logits, tf.reduce_max(step.logits, -1))
        ended = tf.equal(tokens, END)
        writes = tf.logical_not(ended)[:, None]
        here = writes[..., None] & tf.equal(tf.range(tf.shape(before.tokens)[2]), index)
        found = Decoded(
            tokens=tf.where(here, tokens[:, None, None], before.tokens),
            lengths=before.lengths + tf.cast(writes, tf.int32),
            log_probabilities=before.log_probabilities + logs[:, None],
        )
        return rows._replace(done=ended, result=found, tokens=tokens, state=step.state)

    rows = all_active(model, memory, limits, nothing, None if shrink else longest)
    return run_until_done(advance, rows, 0, width=1, shrink=shrink)
