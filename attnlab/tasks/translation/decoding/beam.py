"""Greedy decoding, the likeliest token at each step, and beam search, several side by side."""

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
    """How to search."""

    beam: int  # hypotheses a sentence that are extended side by side, K
    n_best: int  # translations wanted of each sentence, at most K
    length_penalty: float  # alpha of `penalized`, at least 0


class _Found(NamedTuple):
    """The state of the search for n sentences with W hypotheses that go on, W = K after a step."""

    alive: Any  # (n, W, L) int32, tokens of the hypotheses that go on, best first
    alive_log: Any  # (n, W) their log-probabilities; -inf where there is no such hypothesis
    ended: Any  # (n, K, L) int32, tokens of hypotheses that reached END, best score first
    ended_log: Any  # (n, K) their log-probabilities; -inf where there is none
    lengths: Any  # (n, K) int32, their tokens, END not counted
    scores: Any  # (n, K) log-probability by length penalty
    count: Any  # (n,) int32, how many have ever ended


class _Candidates(NamedTuple):
    """The 2K best continuations of a sentence's hypotheses, best first, each (n, 2K)."""

    log_probabilities: Any
    parents: Any
    tokens: Any


def penalized(log_probabilities, lengths, alpha: float):
    """The score of a hypothesis Y: `log P(Y) / ((5 + |Y|) / 6)^alpha`.

    Source: Wu et al. 2016 (arXiv 1609.08144), Eq. 14. Difference: no coverage penalty.

    Log-probabilities are of whole hypotheses, tensors or arrays; `lengths` |Y| the tokens that they
    sum over, END among them, floats. An `alpha` of 0 is none; the Transformer's paper has 0.6.
    """
    return log_probabilities / ((5.0 + lengths) / 6.0) ** alpha


def decode_by_beam(
    model, source, limits, longest, settings: BeamSettings, *, shrink: bool = True
) -> Decoded:
    """Translate a batch by beam search.

    At each step the 2K best continuations of a sentence's K hypotheses are found. One that is
    END and among the best K has ended: it leaves for a set of its own, and the best K others are
    extended. A sentence is done when K hypotheses have ended, when no hypothesis could become one
    of the `n_best` any more, whatever follows, or at its longest length, where hypotheses are
    closed as they are, with END and its probability. With K = 1 this is greedy decoding.

    Source: Wu et al. 2016 (arXiv 1609.08144), section 7, and Vaswani et al. 2017 (arXiv
    1706.03762), section 6.1. Difference: no coverage penalty and no pruning by a margin.

    The model is a `Translator`. Sources (B, S) int32 are padded at the end; `limits` (B,) int32 are
    the most tokens of each translation, END counted, and `longest`, int or scalar int32 tensor, at
    least all of these. With `shrink` finished rows leave the batch, which XLA doesn't allow. Gives
    K hypotheses a sentence, the best one first.
    """
    memory = model.encode(source, training=False)
    count, width = tf.shape(source)[0], settings.beam
    nothing = _nothing_found(count, width, longest)
    rows = all_active(model, memory, limits, nothing, None if shrink else longest)
    # Traced once for both places where it is taken.
    step = tf.function(partial(model.step), autograph=False)
    # At first all hypotheses of a sentence are the same one: the step is taken once.
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
    """Make the step from `width` hypotheses a sentence to K."""

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
    """Find the 2K best continuations of `width` hypotheses a sentence; END alone at last.

    The best of each hypothesis come first, two more than wanted, since two tokens are forbidden;
    so neither a softmax nor a selection runs over all K * V of them at once.
    """
    each = min(2 * beam + 2, logits.shape[-1])
    values, tokens = largest(logits, each)
    normalizer = normalizers(logits, values[:, 0])
    last = tf.repeat(must_end, width)[:, None]
    values = tf.where(last, logits[:, END, None], values)
    tokens = tf.where(last, END, tokens)
    # Of a sentence that must end, each hypothesis has one continuation, not many that are END.
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
    """Sort the candidates into those that ended and the K that go on.

    Gives `_Found`, and tokens and parents (n, K) of those that go on.
    """
    beam = settings.beam
    ends = tf.equal(best.tokens, END)
    going_on = tf.where(ends, _NEVER, best.log_probabilities)
    alive_log, places = tf.math.top_k(going_on, beam)
    tokens, parents = (tf.gather(part, places, batch_dims=1) for part in best[:0:-1])
    here = tf.equal(tf.range(tf.shape(found.alive)[2]), index)
    alive = tf.where(here, tokens[..., None], tf.gather(found.alive, parents, batch_dims=1))
    # Those that ended, -inf where there is none, are put among the best K so far.
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
    """Whether K have ended, none that goes on could still get among the n best, or time is up.

    A log-probability only falls, and the penalty helps most at the longest length.
    """
    most = tf.cast(limits, tf.float32)
    bound = penalized(found.alive_log[:, 0], most, settings.length_penalty)
    hopeless = found.scores[:, settings.n_best - 1] >= bound
    return (found.count >= settings.beam) | hopeless | (index + 1 >= limits)


def decode_greedily(model, source, limits, longest, *, shrink: bool = True) -> Decoded:
    """Translate a batch, always going on with the likeliest token; one hypothesis a sentence.

    At its longest length a translation is closed as it is, with END. Arguments are those of
    `decode_by_beam`.
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
