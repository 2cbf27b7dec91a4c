"""What a kind exports of a trained run, for use without this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from attnlab.text.portable import Portable
from attnlab.text.tokenizers import PAD

Arrays = Mapping[str, Any]  # arrays by name


class Example(NamedTuple):
    """The lines of Python that are specific to a kind in an example of an exported model.

    They know `here`, the folder, `np`, and `Tokenizer` of the library `tokenizers`.

    Attributes:
        title: what the example does, in the imperative.
        before: lines that set `inputs`, arrays by name.
        after: lines that print `outputs`, arrays by name.
    """

    title: str
    before: Sequence[str]
    after: Sequence[str]


class Stack(NamedTuple):
    """A stack of Transformer layers.

    Attributes:
        tokens: for each token of the side's tokenizer its text, and its row of the embedding; -1
            for a token that the model doesn't have.
        embedding: the layer with the tokens' vectors.
        position: the layer of positions.
        layers: the layers of `attnlab.layers.transformer`.
        norm: the norm after the last layer; None without one.
    """

    tokens: Sequence[tuple[str, int]]
    embedding: Any
    position: Any
    layers: Sequence[Any]
    norm: Any


@dataclass(frozen=True)
class Transformer:
    """The parts of a Transformer, for formats that have its layers and run them themselves.

    Attributes:
        encoder: None of a language model.
        decoder: a language model's only stack.
        output: the layer that computes the logits; None: its matrix is the decoder's embedding.
        scaled: whether vectors are multiplied by the root of their width.
        longest: most positions that users need.
        never: rows of the output that are never written.
        beam: hypotheses per sentence in the run's metrics; 1: greedy.
        refused: why there is no such form of the model; "" if there is one.
        limits: most tokens of the output of each test item.
        own: as `Exported.own`, by the most probable token of each step.
    """

    encoder: Stack | None
    decoder: Stack
    output: Any
    scaled: bool
    longest: int
    never: Sequence[int] = ()
    beam: int = 1
    refused: str = ""
    limits: Sequence[int] = ()
    own: Callable[[], Arrays] | None = None


@dataclass(frozen=True)
class Exported:
    """A function from arrays to arrays, test items on which it is checked, and an example.

    Attributes:
        function: from TensorFlow's tensors, by name, to tensors by name. It can be traced, and has
            no tensors of its own except variables: ONNX would make them inputs.
        inputs: the shape and the type of each input; None: any size.
        items: inputs of test items; the first axis of an array is that of the items.
        own: computes this package's own outputs for the items, by the usual way of its commands.
        example: an example for users.
        tokenizers: the tokenizers by file name.
        texts: texts of test items, and the tokens of each as this package cuts it, by file name.
        fixed: whether the function neither loops nor has outputs whose size depends on values.
        unit: size of a unit of the floating-point outputs, by which their differences are divided;
            broadcastable to them.
        score: name of a score of the outputs, and the function that computes it for the items.
        transformer: the parts of a Transformer that writes a sequence; None for other models.
        license: of the data; "" if unknown.
        notes: what a user of the model must know, one sentence each.
        function_notes: what a user of `function` must know of it, in addition.
    """

    function: Callable[..., Arrays]
    inputs: Mapping[str, tuple[tuple[int | None, ...], str]]
    items: Arrays
    own: Callable[[], Arrays]
    example: Example
    tokenizers: Mapping[str, Portable] = field(default_factory=dict)
    texts: Mapping[str, tuple[Sequence[str], Sequence[Sequence[int]]]] = field(default_factory=dict)
    fixed: bool = True
    unit: Any = 1.0
    score: tuple[str, Callable[[Arrays], float]] | None = None
    transformer: Transformer | None = None
    license: str = ""
    notes: Sequence[str] = ()
    function_notes: Sequence[str] = ()


def rows_of(made: Portable, numbers: Sequence[int]) -> list[tuple[str, int]]:
    """Return `Stack.tokens`: `numbers` has the model's row of each token of a tokenizer."""
    found = []
    for token, number in enumerate(numbers):
        text = made.made.id_to_token(token)
        assert text is not None
        found.append((text, int(number)))
    return found


def padded(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Return rows of tokens as (N, T) int32, padded with PAD."""
    whole = np.full((len(rows), max([1, *map(len, rows)])), PAD, np.int32)
    for own, row in zip(whole, rows, strict=True):
        own[: len(row)] = row
    return whole


def one_text(text: str, tokenizer: str = "tokenizer.json") -> tuple[str, ...]:
    """Return lines of an example that turn a text into the input `tokens` (1, S)."""
    return (
        f'tokenizer = Tokenizer.from_file(str(here / "{tokenizer}"))',
        f"text = {text!r}",
        'inputs = {"tokens": np.array([tokenizer.encode(text).ids], np.int32)}',
    )


# The line of an example whose inputs are those of the first test item.
SAMPLE = 'inputs = dict(np.load(here / "sample.npz"))'
