"""Continue a text token by token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnlab.tasks.language.models.model import LanguageModel
from attnlab.tasks.language.sampling import Sampler
from attnlab.training.steps import compiled


def continued(model: LanguageModel, prompt: Sequence[int], count: int, seed: int) -> list[int]:
    """Draw `count` tokens after a prompt of at least one; the window rolls at the context's end."""
    call = compiled(lambda tokens, last: model(tokens, training=False)[0, last], jit=False)
    draw, sampler = np.random.default_rng(seed), Sampler()
    tokens = [*prompt]
    for _ in range(count):
        window = tokens[-model.context :]
        padded = np.zeros((1, model.context), np.int32)
        padded[0, : len(window)] = window
        logits = np.asarray(call(padded, np.int32(len(window) - 1)))[None]
        tokens.append(int(sampler.draw(logits, np.zeros(logits.shape, bool), [draw])[0]))
    return tokens[len(prompt) :]
