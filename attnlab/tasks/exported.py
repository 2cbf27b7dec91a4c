"""What a kind exports of a trained run, for use without this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from attnlab.text.portable import Portable

Arrays = Mapping[str, Any]  # arrays by name


class Stack(NamedTuple):
    """A stack of Transformer layers."""

    # Per token of the tokenizer its text, and its row of the embedding; -1: the model lacks it.
    tokens: Sequence[tuple[str, int]]
    embedding: Any  # the layer with the tokens' vectors
    position: Any  # the layer of positions
    layers: Sequence[Any]  # of `attnlab.layers.transformer`
    norm: Any  # the norm after the last layer; None without one


@dataclass(frozen=True)
class Transformer:
    """The parts of a Transformer that writes a sequence, for CTranslate2."""

    encoder: Stack
    decoder: Stack
    output: Any  # the layer that computes the logits; None: its matrix is the decoder's embedding
    longest: int  # most positions that users need
    refused: str = ""  # why there is no such form of the model
    limits: Sequence[int] = ()  # most tokens that are written for each test item
    # Computes the tokens that this package writes greedily for each test item.
    greedy: Callable[[], Sequence[Sequence[int]]] = tuple


@dataclass(frozen=True)
class Exported:
    """A function from arrays to arrays, and test items on which it is checked."""

    # From TensorFlow's tensors, by name, to tensors by name. It can be traced, and has no tensors
    # of its own except variables: ONNX would make them inputs.
    function: Callable[..., Arrays]
    inputs: Mapping[str, tuple[int | None, ...]]  # the shape of each; its type is that of `items`
    items: Arrays  # inputs of test items; the first axis of an array is that of the items
    outputs: Callable[[], Arrays]  # computes this package's own outputs for the items
    tokenizers: Mapping[str, Portable] = field(default_factory=dict)  # by file name
    # Texts of test items, and the tokens of each as this package cuts it, by file name.
    texts: Mapping[str, tuple[Sequence[str], Sequence[Sequence[int]]]] = field(default_factory=dict)
    loops: bool = False  # whether the function writes a sequence in a loop, which ONNX can't have
    unit: Any = 1.0  # of the floating-point outputs, by which their differences are divided
    unit_name: str = ""  # what follows a number of such units
    transformer: Transformer | None = None  # the parts of one that writes a sequence
    license: str = ""  # of the data
    notes: Sequence[str] = ()  # what a user of the model must know, one sentence each

    @property
    def reads_texts(self) -> bool:
        """Whether `tokenizer.json` makes a whole input of one text."""
        tokenizer = self.tokenizers.get("tokenizer.json")
        return bool(tokenizer) and self.inputs["tokens"][1] in (None, len(tokenizer.rows([""])[0]))
