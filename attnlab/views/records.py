"""What can be shown, as plain records. `png` draws them as figures, `html` writes them on pages.

Renderers show all text as it is: no text becomes a formula or markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np

# A value, or None (also NaN) if it is unknown.
Value: TypeAlias = "float | None"
Values: TypeAlias = "Sequence[Value] | np.ndarray"
# A colour of the palette of `png`, by its number.
Colour: TypeAlias = "int | None"

BLUE, ORANGE, GREEN, GREY, INK = 0, 1, 2, -1, None


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    style: str = ""  # `note`: how to read the rest; `warning`: something is doubtful or missing


@dataclass(frozen=True)
class Code:
    """Lines of a file, or commands."""

    title: str
    text: str


@dataclass(frozen=True)
class Table:
    """A table whose columns can be sorted."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1  # how many columns at the left have words; the others have numbers
    muted: frozenset[int] = frozenset()  # rows of less importance, by number
    prose: bool = False  # whether cells have sentences, which need room


class Curve(NamedTuple):
    """A curve over the x axis of its chart."""

    label: str
    y: Values
    colour: Colour = BLUE
    low: Values | None = None  # lower edge of its band
    high: Values | None = None
    form: Literal["line", "dots", "line and dots"] = "line"


class Mark(NamedTuple):
    """A line across a chart, or a point if it has both x and y."""

    x: float | None = None
    y: float | None = None
    label: str = ""
    colour: Colour = GREY
    dashes: Literal["-", "--", ":"] = "-"


@dataclass(frozen=True)
class Curves:
    """Curves over one x axis."""

    title: str
    x_label: str
    y_label: str
    x: Sequence[float] | np.ndarray
    curves: Sequence[Curve]
    names: Sequence[str] = ()  # of each x, such as its date; empty: its number
    logarithmic: bool = False  # y is logarithmic if values span more than a decade
    wide: bool = False
    marks: Sequence[Mark] = ()
    legend: Literal["inside", "above", "none"] = "inside"  # on a page always above
    band: str = ""  # what bands are, for the legend
    same_x: bool = False  # shares the x axis, and its labels, with the record below


class IntervalRow(NamedTuple):
    """A group with its mean."""

    label: str
    colour: Colour
    mean: Value  # None: nothing is drawn of the row
    low: Value = None  # ends of the interval
    high: Value = None
    values: Sequence[float] = ()  # the mean is over these
    note: str = ""  # at the right


@dataclass(frozen=True)
class Intervals:
    """Means with intervals, one row per group, and named values for comparison."""

    title: str
    label: str  # of the axis
    rows: Sequence[IntervalRow]
    lines: Sequence[tuple[str, float]] = ()  # such as baselines
    logarithmic: bool = False  # the axis is logarithmic if values span more than a decade
    zero: float | None = None  # where there is no difference
    names: bool = True  # whether rows are labelled; no if the record at its left has the same rows


class Strip(NamedTuple):
    """A series, newest value last, with a weight on each value."""

    label: str
    values: Sequence[float] | np.ndarray
    weights: Sequence[float] | np.ndarray


@dataclass(frozen=True)
class Strips:
    """Series of equal lengths next to each other."""

    strips: Sequence[Strip]


class Axis(NamedTuple):
    """An axis of a map."""

    label: str = ""
    ticks: Sequence[tuple[float, str]] | None = ()  # None: numbers
    ends: tuple[str, str] = ("", "")  # what the first and the last cell are, if a map is small


@dataclass(frozen=True)
class Maps:
    """Maps of numbers next to each other, as colours."""

    names: Sequence[str]
    weights: np.ndarray  # (maps, rows, columns)
    x: Axis = Axis()
    y: Axis = Axis()
    quantity: str = "weight"
    # of the colours; None: from 0 to the largest number, as far below 0 if there are such numbers
    limits: tuple[float, float] | None = None
    signed: bool = False  # colours for numbers around 0
    texts: Sequence[Sequence[str]] = ()  # in the cells of the first map
    square: bool = False  # whether cells are squares


def head_maps(weights: np.ndarray, rows: Sequence[str], columns: Sequence[str]) -> Maps:
    """Return a map for each layer and head: weights (L, H, T, S), and the words of both sides."""
    layers, heads, *sizes = weights.shape
    names = [
        f"layer {layer + 1}, head {head + 1}" if layers > 1 else f"head {head + 1}"
        for layer in range(layers)
        for head in range(heads)
    ]
    x, y = Axis(ticks=[*enumerate(columns)]), Axis(ticks=[*enumerate(rows)])
    return Maps(names, weights.reshape(-1, *sizes), x, y, square=True)


class AttentionMap(NamedTuple):
    """Where each of some words looks: rows look at columns."""

    rows: Sequence[str]
    columns: Sequence[str]
    weights: np.ndarray  # (maps, rows, columns)
    links: Sequence[tuple[int, int]] = ()  # rows and columns that belong together
    heading: str = ""
    right: bool | None = None  # whether the model's output is right; None: unknown
    said: tuple[int, int] | None = None  # first and last row that the model chose
    answer: tuple[int, int] | None = None  # first and last row of the right answer
    reference: Sequence[str] = ()  # words of the right output
    reference_links: Sequence[tuple[int, int]] = ()  # columns and words of the reference
    row_notes: Mapping[str, str] = {}  # on words that are unknown
    column_notes: Mapping[str, str] = {}


@dataclass(frozen=True)
class AttentionMaps:
    """Maps of several texts. A page shows the map of the word that a reader points at."""

    items: Sequence[AttentionMap]
    maps: Sequence[str] = ("weights",)  # names of each item's maps
    # what columns, the reference and rows are called
    names: tuple[str, str, str] = ("source", "reference", "translation")
    across: bool = False  # whether a figure, which has the first map, has rows from left to right


class ShadedText(NamedTuple):
    """A text whose words are the darker the more weight they have."""

    words: Sequence[str]
    weights: np.ndarray  # (maps, words)
    said: str  # the model's output
    label: str | None = None  # the right output, if it is known
    note: str = ""  # such as which test item it is
    notes: Mapping[str, str] = {}  # on words that are unknown

    @property
    def is_right(self) -> bool:
        """Whether the model's output is right; yes if that is unknown."""
        return self.label in (None, self.said)


@dataclass(frozen=True)
class ShadedWords:
    """Texts one below the other. The darkest word of a text has its largest weight."""

    items: Sequence[ShadedText]
    maps: Sequence[str] = ("weights",)  # names of each item's maps
    names: tuple[str, str, str] = ("text", "class", "predicted")  # of words, label and output


class ImageMap(NamedTuple):
    """An image and where a model looked on it."""

    pixels: np.ndarray  # (height, width, channels), from 0 to 255
    weights: np.ndarray  # (maps, rows, columns)
    said: str
    label: str | None = None  # if it is known
    note: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the model's output is right; yes if that is unknown."""
        return self.label in (None, self.said)


@dataclass(frozen=True)
class ImageMaps:
    """Images with their maps, one row per image."""

    items: Sequence[ImageMap]
    maps: Sequence[str]  # names of each item's maps


@dataclass(frozen=True)
class Scatter:
    """Points in a plane."""

    title: str
    x_label: str
    y_label: str
    points: np.ndarray  # (N, 2)
    labels: Sequence[str] = ()  # of points, the most important first; some have no room
    groups: Sequence[str] = ()  # names of groups, each with its own colour
    members: Sequence[int] | np.ndarray = ()  # the group of each point; empty: there are none
    strengths: Sequence[float] | np.ndarray = ()  # of colours: 0 grey, 1 that of the group


class Epochs(NamedTuple):
    """The epochs of a slider."""

    numbers: Sequence[int]
    notes: Sequence[str]  # on each, such as its validation loss
    first: int  # the place of the one that is shown first


@dataclass(frozen=True)
class Slider:
    """A record for each epoch; a reader chooses the epoch."""

    epochs: Epochs
    frames: Sequence[Sequence[Frame]]  # the records of each epoch, of the same kinds and sizes


@dataclass(frozen=True)
class Tabs:
    """Records of several groups; a reader chooses the group."""

    label: str  # what is chosen
    choices: Mapping[str, Sequence[Record]]


Frame: TypeAlias = Strips | Maps | AttentionMaps | ShadedWords | ImageMaps
Record: TypeAlias = Text | Code | Table | Curves | Intervals | Scatter | Slider | Tabs | Frame


def tabs(choices: Mapping[str, Sequence[Record]], *, named: bool = False) -> Sequence[Record]:
    """Return tabs for groups; a single group has no tab unless it must be `named`."""
    if len(choices) == 1 and not named:
        return next(iter(choices.values()))
    return [Tabs("group", choices)] if choices else []


class Section(NamedTuple):
    """A part of a page with a heading."""

    title: str
    parts: Sequence[Record]
    folded: bool = False  # whether a reader has to open it


class Page(NamedTuple):
    """A whole page."""

    title: str
    result: Sequence[str]  # a sentence each
    made: str  # when: pages of the same runs differ in this only
    about: str  # by which version, of how many runs
    sections: Sequence[Section]


class Grid(NamedTuple):
    """Records in rows and columns."""

    rows: Sequence[Sequence[Record]]
    height: float = 1.0  # of the grid, relative to the other grids of its figure
    legend: Mapping[str, int] = {}  # name -> colour of the groups of all records
    legend_title: str = ""
    legend_columns: int = 4
    columns: int = 1  # the fewest: a row of fewer records has empty places
    warning: str = ""  # below the records


class Figure(NamedTuple):
    """A picture in a file: one or several grids below a title."""

    title: str
    subtitle: str
    grids: Sequence[Grid]
    size: tuple[float, float] | None = None  # inches; None: as large as its only record


def figure(
    title: str,
    subtitle: str,
    rows: Sequence[Sequence[Record]],
    size: tuple[float, float] | None = None,
) -> Figure:
    """Return a figure of one grid."""
    return Figure(title, subtitle, [Grid(rows)], size)
