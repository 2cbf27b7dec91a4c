"""The peers of `bench.py` in PyTorch and CTranslate2: the same layers, loss and optimizer."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy, gelu, scaled_dot_product_attention

torch.set_num_threads(os.cpu_count() or 1)


def step_of(optimizer: torch.optim.Optimizer, loss_of: Callable[[], torch.Tensor]) -> Callable:
    """Return a training step: loss, gradients, update."""

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


def translation_loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Cross-entropy with label smoothing 0.1, without padding."""
    words = target[:, 1:].flatten()
    return cross_entropy(logits.flatten(0, 1), words, ignore_index=0, label_smoothing=0.1)


def transformer_step(size, source, target) -> Callable:
    """Return a step of `nn.Transformer` with fused Adam; `size` is a `bench_measures.Size`."""
    from attnlab.layers.positional_encoding import sinusoidal

    torch.manual_seed(0)
    source, target = torch.from_numpy(source).long(), torch.from_numpy(target).long()
    embeddings = [nn.Embedding(size.vocabulary, size.units) for _ in range(2)]
    widths = size.units, size.heads, size.layers, size.layers, size.inner
    body = nn.Transformer(*widths, 0.1, batch_first=True)
    output, drop = nn.Linear(size.units, size.vocabulary), nn.Dropout(0.1)
    model = nn.ModuleList([*embeddings, body, output, drop]).train()
    codes = torch.from_numpy(sinusoidal(size.source + size.target, size.units)).float()
    causal = nn.Transformer.generate_square_subsequent_mask(size.target)

    def embed(side: int, ids):
        return drop(embeddings[side](ids) * size.units**0.5 + codes[: ids.shape[1]])

    def loss_of() -> torch.Tensor:
        padding = source == 0
        masks = {"src_key_padding_mask": padding, "memory_key_padding_mask": padding}
        vectors = embed(0, source), embed(1, target[:, :-1])
        states = body(*vectors, tgt_mask=causal, tgt_is_causal=True, **masks)
        return translation_loss(output(states), target)

    return step_of(torch.optim.Adam(model.parameters(), lr=1e-4, fused=True), loss_of)


class Recurrent(nn.Module):
    """A GRU translator, with Bahdanau's attention before each step or Luong's dot after all."""

    def __init__(self, size, before: bool) -> None:
        super().__init__()
        units, words = size.units, size.vocabulary
        linear = partial(nn.Linear, bias=False)
        self.source, self.target = (nn.Embedding(words, units) for _ in range(2))
        self.encoder = nn.GRU(units, units // 2, batch_first=True, bidirectional=True)
        self.start, self.before = linear(units // 2, units), before
        self.cell = nn.GRUCell(2 * units, units)
        self.gru = nn.GRU(units, units, batch_first=True)
        self.query, self.key, self.score = (
            linear(units, units),
            linear(units, units),
            linear(units, 1),
        )
        self.combine, self.output, self.drop = (
            linear(2 * units, units),
            nn.Linear(units, words),
            nn.Dropout(0.2),
        )

    def forward(self, source, target):
        """Return logits (B, T, vocabulary)."""
        memory, last = self.encoder(self.drop(self.source(source)))
        memory, state = self.drop(memory), torch.tanh(self.start(last[1]))
        embedded, padding = self.drop(self.target(target)), (source == 0)[:, None]

        def look(scores):
            return torch.softmax(scores.masked_fill(padding, -torch.inf), -1) @ memory

        if self.before:
            keys, tops, contexts = self.key(memory), [], []
            for step in range(embedded.shape[1]):
                energies = self.score(torch.tanh(keys + self.query(state)[:, None]))
                contexts.append(look(energies.transpose(1, 2))[:, 0])
                state = self.cell(torch.cat([embedded[:, step], contexts[-1]], -1), state)
                tops.append(state)
            top, context = torch.stack(tops, 1), torch.stack(contexts, 1)
        else:
            top, _ = self.gru(embedded, state[None])
            context = look(top @ memory.transpose(1, 2))
        return self.output(self.drop(torch.tanh(self.combine(torch.cat([context, top], -1)))))


def recurrent_step(size, mechanism: str, source, target) -> Callable:
    """Return a step of `Recurrent` with fused Adam."""
    torch.manual_seed(0)
    source, target = torch.from_numpy(source).long(), torch.from_numpy(target).long()
    model = Recurrent(size, before=mechanism == "bahdanau").train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    return step_of(optimizer, lambda: translation_loss(model(source, target[:, :-1]), target))


class Gpt(nn.Module):
    """GPT-2's layers, as nanoGPT trains them on a CPU."""

    def __init__(self, vocabulary: int, context: int, units: int, layers: int, heads: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.heads, self.context = heads, context
        self.tokens, self.places = nn.Embedding(vocabulary, units), nn.Embedding(context, units)
        norm, linear = partial(nn.LayerNorm, units, bias=False), partial(nn.Linear, bias=False)
        block = lambda: nn.ModuleDict(  # noqa: E731
            {
                **{"first": norm(), "attention": linear(units, 3 * units)},
                **{"output": linear(units, units), "second": norm()},
                **{"expand": linear(units, 4 * units), "contract": linear(4 * units, units)},
            }
        )
        self.blocks, self.last = nn.ModuleList(block() for _ in range(layers)), norm()
        decayed, others = (
            [p for p in self.parameters() if (p.dim() > 1) is d] for d in (True, False)
        )
        groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))

    def forward(self, tokens, caches: list | None = None, start: int = 0):
        """Return logits (B, T, vocabulary); `caches` has keys and values per block."""
        x = self.tokens(tokens) + self.places(torch.arange(start, start + tokens.shape[1]))
        for number, block in enumerate(self.blocks):
            parts = block["attention"](block["first"](x)).chunk(3, dim=-1)
            q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
            if caches is not None:
                if caches[number] is not None:
                    k, v = (torch.cat(pair, 2) for pair in zip(caches[number], (k, v), strict=True))
                caches[number] = k, v
            mixed = scaled_dot_product_attention(q, k, v, is_causal=tokens.shape[1] > 1)
            x = x + block["output"](mixed.transpose(1, 2).flatten(2))
            x = x + block["contract"](gelu(block["expand"](block["second"](x))))
        return self.last(x) @ self.tokens.weight.T

    def steps(self, stream, batch: int, count: int) -> None:
        """Train some steps on random windows, with clipped gradients."""
        for _ in range(count):
            starts = torch.randint(len(stream) - self.context, (batch,)).tolist()
            rows = torch.stack([stream[at : at + self.context + 1] for at in starts])
            loss = cross_entropy(self(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.parameters(), 1.0)
            self.optimizer.step()

    @torch.inference_mode()
    def generate(self, count: int) -> None:
        """Draw tokens one at a time, with the cache."""
        caches: list = [None] * len(self.blocks)
        token = torch.zeros((1, 1), dtype=torch.long)
        for at in range(count):
            token = torch.multinomial(self(token, caches, at)[:, -1].softmax(-1), 1)


def vit_step(settings: Mapping[str, Any], heads: int, pixels, labels) -> Callable:
    """Return a step of a Vision Transformer by `nn.TransformerEncoder` with fused AdamW."""
    torch.manual_seed(0)
    units, patch, (count, side, _, colors) = settings["units"], settings["patch"], pixels.shape
    images, classes = torch.from_numpy(pixels).permute(0, 3, 1, 2), torch.from_numpy(labels).long()
    form = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
    layer = nn.TransformerEncoderLayer(units, heads, settings["feed_forward"], **form)
    norm, layers = nn.LayerNorm(units), settings["layers"]
    body = nn.TransformerEncoder(layer, layers, norm, enable_nested_tensor=False)
    embed, output = nn.Conv2d(colors, units, patch, patch), nn.Linear(units, int(labels.max()) + 1)
    token = nn.Parameter(torch.zeros(1, 1, units))
    positions = nn.Parameter(torch.zeros(1, (side // patch) ** 2 + 1, units))
    weights = [*nn.ModuleList([body, embed, output]).train().parameters(), token, positions]

    def loss_of() -> torch.Tensor:
        patches = embed(images.float() / 127.5 - 1).flatten(2).transpose(1, 2)
        vectors = torch.cat([token.expand(count, -1, -1), patches], 1) + positions
        return cross_entropy(output(body(vectors)[:, 0]), classes)

    return step_of(torch.optim.AdamW(weights, lr=1e-4, weight_decay=0.05, fused=True), loss_of)
