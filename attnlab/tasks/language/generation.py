"""Continue texts by a language model, with a cache of what it has read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from attnlab.tasks.language.models.model import LanguageModel
from attnlab.training.compilation import compile_function

_CHUNK = 16  # tokens drawn in one call; calling a program takes as long as a token of a small model


class Generator:
    """Continues token sequences by a model.

    A model with a longest text, of L tokens, reads the last L / 2 again when L are full, as the
    start of a new window, and continues from there. A model whose state doesn't grow reads on.
    `sampling` are keyword arguments of `draw`.
    """

    def __init__(self, model: LanguageModel, **sampling: Any) -> None:
        self._model, self._sampling = model, sampling
        any_length = [tf.TensorSpec((None, None), tf.int32)]
        self._read = compile_function(self._state_after, jit=False, signature=any_length)
        self._draw = compile_function(self._chunk, jit=False)

    def continue_text(
        self, prompt: Sequence[int], *, texts: int = 1, tokens: int, seed: int = 0
    ) -> Iterator[np.ndarray]:
        """Yield the next token of each of N = `texts` continuations, (N,) int32, `tokens` times.

        The prompt has at least one token; of more than L, the last L are read. Text n is the same
        for every N, except for the rounding of sums, which may differ with the size of a batch.
        """
        most = self._model.longest
        generators = [np.random.default_rng((seed, number)) for number in range(texts)]
        history = np.tile(np.asarray(prompt, np.int32), (texts, 1))
        index, state = self._window(history, most)
        while tokens:
            if index == most:
                index, state = self._window(history, max(most // 2, 1))
            count = min(_CHUNK, tokens, np.inf if most is None else most - index)
            uniform = np.zeros((_CHUNK, texts))  # a program of one shape draws any count
            uniform[:count] = np.stack([random.random(count) for random in generators], axis=1)
            last, numbers = tf.constant(history[:, -1]), (tf.constant(index), tf.constant(count))
            # Small operations, each waiting for the one before: other threads only cost time.
            with tf.experimental.function_executor_type("SINGLE_THREADED_EXECUTOR"):
                new, state = self._draw(last, *numbers, state, uniform)
            new = new.numpy()[:count]
            history = np.concatenate([history, new.T], axis=1)[:, -(most or 1) :]
            index, tokens = index + count, tokens - count
            yield from new

    def _window(self, history: np.ndarray, size: int | None) -> tuple[int, Any]:
        """Return the last token's place in a window of the last `size`, and the state before it."""
        past = history[:, -size:] if size else history
        if past.shape[1] > 1:
            return past.shape[1] - 1, self._read(tf.constant(past[:, :-1]))
        return 0, self._model.initial_state(len(history), self._model.longest)

    def _state_after(self, tokens) -> Any:
        state = self._model.initial_state(tf.shape(tokens)[0], self._model.longest)
        return self._model.next_vectors(tokens, 0, state)[1]

    def _chunk(self, last, index, count, state, uniform) -> tuple[Any, Any]:
        """Read the last token and draw one, `count` times, by random numbers (K, N)."""

        def body(number, last, state, tokens):
            logits, state = self._model.step(last[:, None], index + number, state)
            new = draw(logits[:, 0], uniform[number], **self._sampling)
            return number + 1, new, state, tokens.write(number, new)

        tokens = tf.TensorArray(tf.int32, _CHUNK, element_shape=(last.shape[0],))
        _, _, state, tokens = tf.while_loop(
            lambda number, *_: number < count,
            body,
            (tf.constant(0), last, state, tokens),
            parallel_iterations=1,
        )
        return tokens.stack(), state


def draw(
    logits, uniform, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
):
    """Draw a token per row, (N,) int32, by steps in the order of the library `transformers`.

    Args:
        logits: (N, V), of any precision; -inf excludes a token.
        uniform: (N,) float64, a random number per row in [0, 1). The token is the first one whose
            cumulative probability exceeds it.
        temperature: divides the logits; 0 chooses the most probable token, the first one of equals.
        top_k: see `restrict`.
        top_p: see `restrict`.
    """
    logits = tf.cast(logits, tf.float64)
    if temperature == 0:
        return tf.argmax(logits, axis=1, output_type=tf.int32)
    cumulative = tf.cumsum(tf.nn.softmax(restrict(logits / temperature, top_k, top_p)), axis=1)
    below = cumulative <= uniform[:, None] * cumulative[:, -1:]
    return tf.reduce_sum(tf.cast(below, tf.int32), axis=1)


def restrict(logits, top_k: int | None = None, top_p: float | None = None):
    """Return logits (N, V) with -inf for the tokens that `top_k` and `top_p` exclude.

    The k largest logits stay, with all that equal the k-th; then the fewest most probable tokens
    that have at least the mass p together (Holtzman et al. 2019, arXiv 1904.09751).
    """
    if top_k is not None:
        largest = tf.math.top_k(logits, min(top_k, logits.shape[1])).values
        logits = tf.where(logits >= largest[:, -1:], logits, -math.inf)
    if top_p is not None and top_p < 1:
        order = tf.argsort(logits, direction="DESCENDING", stable=True)
        ordered = tf.gather(tf.nn.softmax(logits), order, batch_dims=1)
        before = tf.cumsum(ordered, axis=1, exclusive=True)  # the mass of more probable tokens
        count = tf.reduce_sum(tf.cast(before < top_p, tf.int32), axis=1)
        logits = tf.where(tf.argsort(order) < count[:, None], logits, -math.inf)
    return logits
