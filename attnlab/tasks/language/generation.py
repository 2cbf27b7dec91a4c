"""Continue texts by a language model, with a cache of what it has read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from attnlab.tasks.language.models.model import LanguageModel
from attnlab.tasks.language.sampler import Sampler
from attnlab.tasks.language.sampling import drawn
from attnlab.training.steps import compiled

_START, _SAMPLE = 8, 120  # tokens of a sample: of the test text, and drawn
_CHUNK = 16  # tokens drawn in one call; calling a program takes as long as a token of a small model


class Drawn(NamedTuple):
    """One more token of each of N texts."""

    tokens: np.ndarray  # (N,) int32
    probabilities: np.ndarray  # (N,) float64, by the model: before the sampler's changes


class Generator:
    """Continues token sequences by a model.

    A model with a longest text, of L tokens, reads the last L / 2 again when L are full, as the
    start of a new window, and continues from there. A model whose state doesn't grow reads on.

    Args:
        model: a built model.
        sampler: how tokens are drawn.
    """

    def __init__(self, model: LanguageModel, sampler: Sampler) -> None:
        self._model, self._sampler = model, sampler
        any_length = [tf.TensorSpec((None, None), tf.int32)]
        self._read = compiled(self._state_after, jit=False, signature=any_length)
        self._draw = compiled(self._chunk, jit=False)

    def continued(
        self, prompt: Sequence[int], *, texts: int = 1, tokens: int, seed: int = 0
    ) -> Iterator[Drawn]:
        """Yield the next token of each text, `tokens` times.

        Args:
            prompt: at least one token; of more than L, the last L are read.
            texts: the number N of continuations. Text n is the same for every N, except for the
                rounding of sums, which may differ with the size of a batch.
            tokens: the number of tokens to draw per text.
            seed: decides what is drawn.
        """
        most = self._model.longest
        draws = [np.random.default_rng((seed, number)) for number in range(texts)]
        known = np.tile(np.asarray(prompt, np.int32), (texts, 1))
        seen = np.zeros((texts, self._model.vocabulary), bool)
        np.put_along_axis(seen, known, True, axis=1)
        index, state, seen = *self._window(known, most), tf.constant(seen)
        while tokens:
            if index == most:
                index, state = self._window(known, max(most // 2, 1))
            count = min(_CHUNK, tokens, np.inf if most is None else most - index)
            uniform = np.zeros((_CHUNK, texts))  # a program of one shape draws any count
            uniform[:count] = np.stack([draw.random(count) for draw in draws], axis=1)
            last = tf.constant(known[:, -1])
            numbers = tf.constant(index), tf.constant(count)
            # Small operations, each waiting for the one before: other threads only cost time.
            with tf.experimental.function_executor_type("SINGLE_THREADED_EXECUTOR"):
                found, shares, state, seen = self._draw(last, *numbers, state, seen, uniform)
            found, shares = found.numpy()[:count], shares.numpy()[:count]
            known = np.concatenate([known, found.T], axis=1)[:, -(most or 1) :]
            index, tokens = index + count, tokens - count
            yield from map(Drawn, found, shares)

    def _window(self, known: np.ndarray, size: int | None) -> tuple[int, Any]:
        """Return the place of the last known token in a new window, and the state before it.

        The window starts with the last `size` tokens; None: with all.
        """
        read = known[:, -size:] if size else known
        if read.shape[1] > 1:
            return read.shape[1] - 1, self._read(tf.constant(read[:, :-1]))
        return 0, self._model.initial_state(len(known), self._model.longest)

    def _state_after(self, tokens) -> Any:
        state = self._model.initial_state(tf.shape(tokens)[0], self._model.longest)
        return self._model.next_vectors(tokens, 0, state)[1]

    def _chunk(self, last, index, count, state, seen, uniform) -> tuple[Any, Any, Any, Any]:
        """Read the last token and draw one, `count` times, by random numbers (K, N)."""

        def body(number, last, state, seen, tokens, shares):
            logits, state = self._model.step(last[:, None], index + number, state)
            logits = tf.cast(logits[:, 0], tf.float64)
            new = drawn(self._sampler, logits, seen, uniform[number])
            chosen = tf.one_hot(new, logits.shape[1], True, False)
            share = tf.gather(tf.nn.softmax(logits), new, batch_dims=1)
            tokens, shares = tokens.write(number, new), shares.write(number, share)
            return number + 1, new, state, seen | chosen, tokens, shares

        shape = (last.shape[0],)
        tokens = tf.TensorArray(tf.int32, _CHUNK, element_shape=shape)
        shares = tf.TensorArray(tf.float64, _CHUNK, element_shape=shape)
        start = (tf.constant(0), last, state, seen, tokens, shares)
        _, _, state, seen, tokens, shares = tf.while_loop(
            lambda number, *_: number < count, body, start, parallel_iterations=1
        )
        return tokens.stack(), shares.stack(), state, seen


def sample(generator: Generator, task: Any, seed: int) -> np.ndarray:
    """Return the first tokens of the test text, and the model's continuation."""
    start = task.asked("test").tokens[0, :_START].tolist()
    steps = generator.continued(start, tokens=_SAMPLE, seed=seed)
    return np.array([*start, *(int(step.tokens[0]) for step in steps)], np.int32)
