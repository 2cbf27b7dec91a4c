"""How fast attnlab trains Transformers that translate, as ratios against peers of the same run.

    python scripts/bench_translation.py [--part train] [--quick]

    train    target tokens a second on the built-in corpus, against a plain keras.Model.fit
    torch    a training step against PyTorch's nn.Transformer: for batches of one shape as
             `trainer.jit=auto` trains them, and as TensorFlow's graph if that is another
    jit      an epoch with XLA against one as graph: for sentences of many lengths, and of one
    matmul   share that a training step reaches of the rate of its matrix products alone

Each line has the median ratio, the range over the turns, and the bound. The exit code is 1 if a
bound is missed. Ours and the peer take turns, so a ratio holds on a busy machine too.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measuring import (
    has_torch,
    learner_of,
    milliseconds,
    missed,
    report,
    report_compiler,
    turns,
)

BATCH = 64


class Size(NamedTuple):
    """A Transformer and the lengths of a batch's sentences."""

    units: int
    layers: int
    inner: int
    heads: int
    source: int
    target: int
    vocabulary: int


SIZES = {
    512: Size(512, 6, 2048, 8, 7, 11, 3858),
    256: Size(256, 3, 1024, 8, 14, 14, 8000),
    128: Size(128, 2, 512, 4, 7, 11, 3858),
}

LEAST = 1.1  # PyTorch's time / ours, for a step of every model that both can train


def make_model(size: Size, **settings):
    """Ours, with the mechanism of the paper."""
    from attnlab.attention import MultiHeadAttention
    from attnlab.runner.train import start_afresh
    from attnlab.tasks.translation.models.transformer import (
        TransformerSettings,
        TransformerTranslator,
    )

    start_afresh(0)
    own = {"norm": "post", "tie_embeddings": "none", "dropout": 0.1, **settings}
    model = TransformerTranslator(
        lambda: MultiHeadAttention(heads=size.heads),
        TransformerSettings(
            units=size.units,
            layers=size.layers,
            feed_forward=size.inner,
            heads=size.heads,
            **own,
        ),
        source_size=size.vocabulary,
        target_size=size.vocabulary,
    )
    model.build()
    return model


def make_program(size: Size, jit: bool | None = False, **settings):
    """Ours, ready to train; `jit=None` compiles as for batches of one shape."""
    from attnlab.tasks.translation.program import TranslationProgram, token_losses
    from attnlab.training.optimizers import make_optimizer

    model = make_model(size, **settings)
    jit = model.faster_with_xla if jit is None else jit
    loss = partial(token_losses, smoothing=0.1)
    return TranslationProgram(model, make_optimizer("adam", {}), loss=loss, jit=jit)


def make_batch(size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Sources and targets without padding, which is the harder comparison for ours."""
    draw = np.random.default_rng(0)
    widths = size.source, size.target + 1  # a target is START and what is predicted
    source, target = (draw.integers(4, size.vocabulary, (BATCH, w), np.int32) for w in widths)
    return source, target


# --- training against fit ----------------------------------------------------------------------


def built_in_pairs() -> list[list[np.ndarray]]:
    """Return sources and targets of 10,000 pairs of the built-in corpus, in words."""
    from attnlab.tasks.translation.corpora import Builtin
    from attnlab.tasks.translation.tokenized import TextSettings, tokenize_corpus

    with tempfile.TemporaryDirectory() as cache:
        settings = TextSettings(tokenizer="word")
        corpus = Builtin(pairs=10_000)
        corpus.open(Path(cache))
        train = tokenize_corpus(corpus, settings, seed=0, cache=Path(cache)).parts["train"]
        return [[np.array(row) for row in side] for side in (train.source, train.target)]


def padded(rows) -> np.ndarray:
    """Rows of their greatest length."""
    table = np.zeros((len(rows), max(map(len, rows))), np.int32)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table


def bench_train(options: argparse.Namespace) -> None:
    """Ours in batches of near-equal lengths, `fit` on one array padded to the longest.

    Batches are of one size in what costs time, positions of the decoder with the padding.
    """
    import keras

    from attnlab.training.batches import token_plan

    sources, targets = built_in_pairs()
    size = SIZES[128]
    steps = 20 if options.quick else 60
    lengths = [np.array([len(row) for row in rows]) for rows in (sources, targets)]
    positions = BATCH * (max(lengths[1]) - 1)
    plan = token_plan(lengths[0], lengths[1] - 1, size=positions, seed=0, epoch=1)[:steps]
    batches = [
        (padded([sources[i] for i in rows]), padded([targets[i] for i in rows])) for rows in plan
    ]
    program, rates = make_program(size), np.full(len(batches), 1e-4)

    peer = make_model(size)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
    peer.compile(keras.optimizers.Adam(1e-4), loss=loss)
    rows = np.random.default_rng(0).permutation(len(sources))[: steps * BATCH]
    source, target = padded(sources)[rows], padded(targets)[rows]

    def fit() -> None:
        inputs = source, target[:, :-1]
        peer.fit(inputs, target[:, 1:], batch_size=BATCH, shuffle=False, verbose=0)

    ours, fits = turns(3, lambda: program.train(batches, rates, 0), fit).T
    tokens = sum(int(np.count_nonzero(target[:, 1:])) for _, target in batches)
    fit_tokens = int(np.count_nonzero(target[:, 1:]))
    detail = (
        f"{tokens / np.median(ours):.0f} against {fit_tokens / np.median(fits):.0f} tokens/s, "
        f"padded to {source.shape[1]} and {target.shape[1]}"
    )
    ratios = (tokens / ours) / (fit_tokens / fits)
    report("train d 128: tokens/s, ours / fit", ratios, 1.8, True, detail)


# --- training against PyTorch ------------------------------------------------------------------


def make_torch_step(size: Size) -> Callable[[], object]:
    """The same step by PyTorch's own Transformer, loss and fused Adam, eager."""
    import torch

    from attnlab.layers.positional_encoding import sinusoidal

    torch.manual_seed(0)
    torch.set_num_threads(os.cpu_count() or 1)
    source, target = (torch.from_numpy(ids).long() for ids in make_batch(size))
    embeddings = [torch.nn.Embedding(size.vocabulary, size.units) for _ in range(2)]
    body = torch.nn.Transformer(
        *(size.units, size.heads, size.layers, size.layers, size.inner), 0.1, batch_first=True
    )
    output, drop = torch.nn.Linear(size.units, size.vocabulary), torch.nn.Dropout(0.1)
    model = torch.nn.ModuleList([*embeddings, body, output, drop]).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    loss_of = torch.nn.CrossEntropyLoss(label_smoothing=0.1, ignore_index=0)
    codes = torch.from_numpy(sinusoidal(size.source + size.target, size.units)).float()
    causal = torch.nn.Transformer.generate_square_subsequent_mask(size.target)

    def embed(side: int, ids):
        return drop(embeddings[side](ids) * size.units**0.5 + codes[: ids.shape[1]])

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        padding = source == 0
        states = body(
            *(embed(0, source), embed(1, target[:, :-1])),
            tgt_mask=causal,
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        loss = loss_of(output(states).flatten(0, 1), target[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


def bench_torch(options: argparse.Namespace) -> None:
    """One step on one batch, over and over."""
    if not has_torch("steps of Transformers against PyTorch"):
        return
    for units, size in SIZES.items():
        count = {512: 6, 256: 12, 128: 40}[units] // (2 if options.quick else 1)
        make, batch = partial(make_program, size), make_batch(size)
        report_steps(f"step d {units}", make, batch, make_torch_step(size), LEAST, count)


def report_steps(
    name: str,
    make: Callable,
    batch: tuple[np.ndarray, np.ndarray],
    theirs: Callable[[], object],
    bound: float,
    count: int,
) -> None:
    """Report PyTorch's time over ours for a step, and for ours as a graph if XLA is the choice."""
    program = make(jit=None)
    programs = [program, make(jit=False)] if program.jit else [program]
    steps = [partial(each.train, [batch], [1e-4], 0) for each in programs]
    *ours, torch = turns(count, *steps, theirs).T
    for own, least, where in zip(ours, (bound, 1), ("", ", as graph"), strict=False):
        what = f"{name}{where}: torch / ours"
        report(what, torch / own, least, True, milliseconds(own, torch))


# --- XLA against the graph ---------------------------------------------------------------------


def bench_jit(options: argparse.Namespace) -> None:
    """Time an epoch by the compiler that `trainer.jit=auto` chooses against the other one.

    XLA compiles for every shape, and pads sentences of many lengths so that these are few.
    """
    plans = {
        "translate, bahdanau": ["attention=bahdanau"],
        "recall, bahdanau, one shape": [
            *("attention=bahdanau", "model=rnn", "model.units=64", "model.embedding=64"),
            *("data=recall", "data.keys=16", "data.length=64", "data.symbols=64"),
        ],
    }
    for name, words in plans.items():
        words = ["task=translate", "data.pairs=4000", *words]
        learners = [learner_of(words)]
        learners.append(learner_of([*words, f"trainer.jit={not learners[0].jit}"]))
        chosen, other = turns(4, *(partial(train_epoch, each) for each in learners)).T
        report_compiler(name, learners[0].jit, chosen, other)


def train_epoch(learner) -> None:
    """All steps of an epoch."""
    for chunk in learner.chunks(1):
        learner.train(chunk, np.full(chunk.steps, 1e-4), 0)


# --- training against matrix products ----------------------------------------------------------


def products(size: Size) -> dict[tuple[int, int, int], int]:
    """Forward products (rows, inner, columns) of a step, but those of scores; how many of each."""
    units, inner, layers = size.units, size.inner, size.layers
    sources, targets = BATCH * size.source, BATCH * size.target
    return {
        (sources, units, units): 6 * layers,  # self-attention; the cross-attention's keys, values
        (targets, units, units): 6 * layers,  # self-attention; the cross-attention's query, output
        (sources, units, inner): layers,
        (sources, inner, units): layers,
        (targets, units, inner): layers,
        (targets, inner, units): layers,
        (targets, units, size.vocabulary): 1,
    }


def bench_matmul(options: argparse.Namespace) -> None:
    """A step's multiply-adds a second over those of its products one by one, with gradients."""
    import tensorflow as tf

    size = SIZES[512]
    program, batch = make_program(size), make_batch(size)

    @tf.function(reduce_retracing=True)
    def product(x, w, slope):
        forward = tf.matmul(x, w)
        return forward, tf.matmul(slope, w, transpose_b=True), tf.matmul(x, slope, transpose_a=True)

    def operands(m: int, k: int, n: int):
        return [tf.random.stateless_normal(s, (m, n)) for s in ((m, k), (k, n), (m, n))]

    actions = [partial(product, *operands(*shape)) for shape in products(size)]
    seconds = turns(3 if options.quick else 7, lambda: program.train([batch], [1e-4], 0), *actions)
    alone = seconds[:, 1:] @ np.array(list(products(size).values()))
    work = 3 * sum(np.prod(shape) * count for shape, count in products(size).items())
    rates = work / np.median(alone) / 1e9, work / np.median(seconds[:, 0]) / 1e9
    detail = f"{rates[1]:.0f} of {rates[0]:.0f} billion multiply-adds a second"
    report("step d 512: share of the matmul rate", alone / seconds[:, 0], 0.75, True, detail)


PARTS = {
    "train": bench_train,
    "torch": bench_torch,
    "jit": bench_jit,
    "matmul": bench_matmul,
}


def main(words: list[str]) -> int:
    """Run the wanted parts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", action="append", choices=list(PARTS), help="default: all")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter turns")
    options = parser.parse_args(words)
    for part in options.part or PARTS:
        PARTS[part](options)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
