"""How fast recurrent translators train, as ratios against peers of the same run.

    python scripts/bench_recurrent.py

A step on one batch, with Bahdanau's attention before the step and Luong's after it, against PyTorch
and against `fit` of a Keras RNN over a cell that attends: compiled as `trainer.jit=auto` compiles
batches of one shape, and as TensorFlow's graph if that is another. Exit code 1: a bound is missed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial

from bench_translation import BATCH, LEAST, Size, make_batch, report_steps
from measuring import has_torch, milliseconds, missed, report, turns

RECURRENT = Size(256, 1, 0, 1, 14, 14, 8000)
LEAST_FIT = 1.5  # reached 1.8; the product with the vocabulary is most of a step in both
MECHANISMS = {"bahdanau": "before the step", "luong_global": "dot, after the step"}


def make_recurrent(mechanism: str, jit: bool | None = False):
    """Ours, ready to train; `jit=None` compiles as for batches of one shape."""
    from attnlab.attention import BahdanauAttention, LuongGlobalAttention
    from attnlab.runner.train import start_afresh
    from attnlab.tasks.translation.models.recurrent import RecurrentSettings, RecurrentTranslator
    from attnlab.tasks.translation.program import TranslationProgram, token_losses
    from attnlab.training.optimizers import make_optimizer

    start_afresh(0)
    kind = {"bahdanau": BahdanauAttention, "luong_global": LuongGlobalAttention}[mechanism]
    units = RECURRENT.units
    sizes = {"source_size": RECURRENT.vocabulary, "target_size": RECURRENT.vocabulary}
    model = RecurrentTranslator(kind, RecurrentSettings(units=units, embedding=units), **sizes)
    model.build()
    jit = model.faster_with_xla if jit is None else jit
    loss = partial(token_losses, smoothing=0.1)
    return TranslationProgram(model, make_optimizer("adam", {}), loss=loss, jit=jit)


def make_torch_recurrent(mechanism: str) -> Callable[[], object]:
    """The same by PyTorch: its GRU where all steps are known, GRU cells in a loop where not."""
    import torch
    from torch import nn
    from torch.nn.functional import cross_entropy

    torch.manual_seed(0)
    torch.set_num_threads(os.cpu_count() or 1)
    units, words, before = RECURRENT.units, RECURRENT.vocabulary, mechanism == "bahdanau"
    source, target = (torch.from_numpy(ids).long() for ids in make_batch(RECURRENT))
    parts = nn.ModuleDict(
        {
            "source": nn.Embedding(words, units),
            "target": nn.Embedding(words, units),
            "encoder": nn.GRU(units, units // 2, batch_first=True, bidirectional=True),
            "start": nn.Linear(units // 2, units, bias=False),
            "decoder": nn.GRUCell(2 * units, units)
            if before
            else nn.GRU(units, units, batch_first=True),
            "combine": nn.Linear(2 * units, units, bias=False),
            "output": nn.Linear(units, words),
        }
    ).train()
    if before:
        parts["query"], parts["key"] = (nn.Linear(units, units, bias=False) for _ in range(2))
        parts["score"] = nn.Linear(units, 1, bias=False)
    drop = nn.Dropout(0.2)
    optimizer = torch.optim.Adam(parts.parameters(), lr=1e-4, fused=True)

    def look(scores, memory):
        masked = scores.masked_fill((source == 0)[:, None], -torch.inf)
        return torch.softmax(masked, -1) @ memory

    def states_of(embedded, memory, first):
        if not before:
            tops, _ = parts["decoder"](embedded, first[None])
            return tops, look(tops @ memory.transpose(1, 2), memory)
        keys, state, tops, contexts = parts["key"](memory), first, [], []
        for step in range(embedded.shape[1]):
            energies = parts["score"](torch.tanh(keys + parts["query"](state)[:, None]))
            context = look(energies.transpose(1, 2), memory)[:, 0]
            state = parts["decoder"](torch.cat([embedded[:, step], context], -1), state)
            tops.append(state)
            contexts.append(context)
        return torch.stack(tops, 1), torch.stack(contexts, 1)

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        memory, last = parts["encoder"](drop(parts["source"](source)))
        memory, first = drop(memory), torch.tanh(parts["start"](last[1]))
        embedded = drop(parts["target"](target[:, :-1]))
        tops, context = states_of(embedded, memory, first)
        read = torch.tanh(parts["combine"](torch.cat([context, tops], -1)))
        logits = parts["output"](drop(read)).flatten(0, 1)
        loss = cross_entropy(logits, target[:, 1:].flatten(), ignore_index=0, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


def make_keras_recurrent() -> Callable[[], object]:
    """The same for `fit`, Bahdanau's: Keras's RNN over a cell that attends."""
    import keras
    from keras import ops

    keras.utils.set_random_seed(0)
    units, words = RECURRENT.units, RECURRENT.vocabulary

    class Attending(keras.layers.Layer):
        """A GRU cell whose input has the context of its last state."""

        state_size, output_size = units, 2 * units

        def __init__(self) -> None:
            super().__init__()
            self.cell = keras.layers.GRUCell(units)
            self.query, self.key = (keras.layers.Dense(units, use_bias=False) for _ in range(2))
            self.score = keras.layers.Dense(1, use_bias=False)
            self.memory = None  # of the sequence under way

        def call(self, inputs, states, training=None):
            memory, keys = self.memory
            scores = self.score(ops.tanh(keys + self.query(states[0])[:, None]))
            context = ops.sum(ops.softmax(scores, axis=1) * memory, axis=1)
            entering = ops.concatenate([inputs, context], -1)
            output, state = self.cell(entering, states, training=training)
            return ops.concatenate([context, output], -1), state

    class Translator(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.embed = [keras.layers.Embedding(words, units) for _ in range(2)]
            gru = keras.layers.GRU(units // 2, return_sequences=True, return_state=True)
            self.encoder = keras.layers.Bidirectional(gru)
            self.start = keras.layers.Dense(units, "tanh", use_bias=False)
            self.cell = Attending()
            self.decoder = keras.layers.RNN(self.cell, return_sequences=True)
            self.combine = keras.layers.Dense(units, "tanh", use_bias=False)
            self.output_layer = keras.layers.Dense(words)
            self.drops = [keras.layers.Dropout(0.2) for _ in range(4)]

        def call(self, inputs, training=None):
            source, target = (
                drop(embed(ids), training=training)
                for drop, embed, ids in zip(self.drops, self.embed, inputs, strict=False)
            )
            memory, _, last = self.encoder(source)
            memory = self.drops[2](memory, training=training)
            self.cell.memory = memory, self.cell.key(memory)
            read = self.combine(self.decoder(target, initial_state=self.start(last)))
            return self.output_layer(self.drops[3](read, training=training))

    model = Translator()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-4), loss=loss)
    sources, targets = make_batch(RECURRENT)
    inputs = sources, targets[:, :-1]
    return lambda: model.fit(inputs, targets[:, 1:], batch_size=BATCH, shuffle=False, verbose=0)


def main() -> int:
    """One step on one batch, over and over; GRU, 256 units."""
    batch, count = make_batch(RECURRENT), 30
    for mechanism, place in MECHANISMS.items():
        make = partial(make_recurrent, mechanism)
        if mechanism == "bahdanau":
            ours = partial(make(jit=None).train, [batch], [1e-4], 0)
            own, fit = turns(count, ours, make_keras_recurrent()).T
            report("rnn bahdanau: fit / ours", fit / own, LEAST_FIT, True, milliseconds(own, fit))
        if has_torch(f"steps of the RNN translator with {mechanism} against PyTorch"):
            torch_step = make_torch_recurrent(mechanism)
            report_steps(f"rnn {mechanism}, {place}", make, batch, torch_step, LEAST, count)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
