"""What a page is made of. Who fills these knows nothing of HTML; `html` writes it.

All text is data: it is escaped when it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np

# A value, or None where nothing is known.
Known: TypeAlias = "float | None"


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    style: str = ""  # `note`: what to know for reading; `warning`: what is doubtful or missing


@dataclass(frozen=True)
class Code:
    """Lines as they stand in a file."""

    title: str
    text: str


@dataclass(frozen=True)
class Table:
    """A table whose columns sort by a button each."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1  # how many columns at the left hold words; the others hold numbers
    muted: frozenset[int] = frozenset()  # numbers of the rows that stand beside the others
    prose: bool = False  # whether its cells hold sentences, which want room


class Curve(NamedTuple):
    """A curve of a chart."""

    label: str
    y: Sequence[Known]  # a value for each x of the chart
    colour: int | None = 0  # by its number; None: that of text
    low: Sequence[Known] | None = None  # the lower edge of a band around it
    high: Sequence[Known] | None = None
    dots: bool = False  # points in place of a line
    shown: bool = True  # until who looks at it says otherwise


@dataclass(frozen=True)
class Chart:
    """Curves over one axis, with a readout under the pointer or the arrow keys."""

    title: str
    x_label: str
    y_label: str
    x: Sequence[float]
    curves: Sequence[Curve]
    names: Sequence[str] = ()  # what each x is called; empty: its number
    ticks: Sequence[tuple[float, str]] | None = None  # of the axis x; None: numbers that read well
    logarithmic: bool = False  # whether y may have a logarithmic axis
    wide: bool = False


class IntervalRow(NamedTuple):
    """A group of a dot-and-interval chart."""

    label: str
    colour: int
    mean: float
    low: Known  # the ends of its interval
    high: Known
    values: Sequence[float]  # of which it is the mean


@dataclass(frozen=True)
class Intervals:
    """Means with their intervals, one below the other, and lines to hold them against."""

    title: str
    label: str  # of the axis
    rows: Sequence[IntervalRow]
    lines: Sequence[tuple[str, float]] = ()
    logarithmic: bool = False


class Frames(NamedTuple):
    """The epochs between which a slider moves."""

    epochs: Sequence[int]
    notes: Sequence[str]  # what is said of each, such as its validation loss
    first: int  # the place of the one that is shown first


class Strip(NamedTuple):
    """Values in a row, newest last, on which weights lie."""

    label: str
    values: Sequence[float]


@dataclass(frozen=True)
class Strips:
    """Small curves with a weight at each value, of the epoch that the slider is at."""

    strips: Sequence[Strip]
    weights: np.ndarray  # (epochs, strips, steps), none below 0
    x_label: str


@dataclass(frozen=True)
class Course:
    """How mean weights moved: a row for each epoch, that of the slider marked."""

    title: str
    weights: np.ndarray  # (epochs, steps)
    x_label: str
    ends: tuple[str, str]  # of the axis x
    row_names: Sequence[str]


@dataclass(frozen=True)
class Maps:
    """Maps of weights beside each other, of the epoch that the slider is at."""

    names: Sequence[str]
    weights: np.ndarray  # (epochs, maps, rows, columns)
    x_label: str
    y_label: str
    x_ends: tuple[str, str]
    y_ends: tuple[str, str]


class Written(NamedTuple):
    """A translation as it was at an epoch."""

    tokens: Sequence[str]
    weights: np.ndarray  # (maps, tokens, source tokens), from 0 to 1


class Sentence(NamedTuple):
    """A sentence, its right translation, and what was written at each epoch."""

    source: Sequence[str]
    reference: Sequence[str]
    links: Sequence[tuple[int, int]]  # source and reference token that belong together
    written: Sequence[Written]  # one for each epoch
    # notes on words that the model doesn't know: of the source, and of what was written
    unknown: Mapping[str, str] = {}
    unknown_written: Mapping[str, str] = {}


@dataclass(frozen=True)
class Sentences:
    """Sentences side by side; a word lights up the words at which it looks.

    The first map is shown first. In place of translations there may be one word for a text, such as
    its class: where they are `shaded`, the source shows its weights all the time, the darkest word
    the one of the largest weight.
    """

    sentences: Sequence[Sentence]
    maps: Sequence[str]  # names of the maps, such as `mean of 4 heads`
    # what sources, references and what was written are called
    names: tuple[str, str, str] = ("source", "reference", "translation")
    shaded: bool = False


@dataclass(frozen=True)
class Slider:
    """Parts that move together from epoch to epoch."""

    frames: Frames
    parts: Sequence[Part]


@dataclass(frozen=True)
class Tabs:
    """Parts of which one choice at a time is shown."""

    label: str  # what is chosen
    choices: Mapping[str, Sequence[Part]]


_Alone: TypeAlias = Text | Code | Table | Chart | Intervals
Part: TypeAlias = _Alone | Strips | Course | Maps | Sentences | Slider | Tabs


def chosen(choices: Mapping[str, Sequence[Part]], *, named: bool = False) -> Sequence[Part]:
    """Tabs for groups; of one alone its parts, unless it is to be `named`."""
    if len(choices) == 1 and not named:
        return next(iter(choices.values()))
    return [Tabs("group", choices)] if choices else []


class Section(NamedTuple):
    """A part of the page with a heading of its own."""

    title: str
    parts: Sequence[Part]
    folded: bool = False  # whether it is opened by who wants to see it


class Page(NamedTuple):
    """A whole page."""

    title: str
    result: Sequence[str]  # what came out, a sentence each
    made: str  # when: the one thing in which two pages of the same runs differ
    about: str  # with what
    sections: Sequence[Section]
