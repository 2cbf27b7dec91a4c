"""A page with one of each part, and a hostile one."""

from __future__ import annotations

import numpy as np

from attnlab.page.parts import (
    Chart,
    Code,
    Course,
    Curve,
    Frames,
    IntervalRow,
    Intervals,
    Maps,
    Page,
    Section,
    Sentence,
    Sentences,
    Slider,
    Strip,
    Strips,
    Table,
    Tabs,
    Text,
    Written,
)

HOSTILE = "</script><script>window.hacked = 1</script><b onmouseover='window.hacked = 1'>\u2028&"

# Of three epochs, two windows and four steps: each epoch looks one step later.
WEIGHTS = np.stack([np.tile(np.eye(4)[epoch], (2, 1)) for epoch in range(3)])
TABLE = [["b", "2.5", "-"], ["a", "1,000", "0.5 [0, 1]"], ["c", "-3e-2", "2"]]


def written(tokens: str, rows: list[list[float]]) -> Written:
    return Written(tokens.split(), np.array([rows, rows[::-1]]))


def page(text: str = "plain") -> Page:
    """Each part once; `text` is where a run's text would be."""
    frames = Frames([1, 4, 9], ["val_loss 3", "val_loss 1 · best", text], 1)
    sentence = Sentence(
        ["the", "dog", text],
        ["der", "Hund"],
        [(0, 0), (1, 1)],
        [
            written("der der <end>", [[1, 0, 0], [1, 0, 0], [0, 0, 1]]),
            written("der Hund <end>", [[0.8, 0.2, 0], [0.25, 0.75, 0], [0, 0, 1]]),
            written("der Hund <end>", [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        ],
        {text: f"not in the vocabulary: {text}"},
        {"<end>": "odd"},
    )
    moving = [
        Strips([Strip("first", [1, 2, 3, 4]), Strip(text, [4, 3, 2, 1])], WEIGHTS, "lags"),
        Course("by epoch", WEIGHTS.mean(axis=1), "", ("4", "1"), ["1", "4", "9"]),
        Maps(["head 1", text], WEIGHTS[:, :, None], "memory", "queries", ("4", "1"), ("a", "b")),
        Sentences([sentence], ["mean", "head 1"]),
    ]
    curves = [
        Curve("one", [1.0, 2.0, None], 0, [0.5, 1.5, None], [1.5, 2.5, None]),
        Curve(text, [3.0, None, 1.0], 1, shown=False),
    ]
    dots = Chart("dots", "x", "y", [1, 2, 3], [Curve(text, [1, 2, 3], 0, dots=True)])
    rows = [
        IntervalRow("one", 0, 2.0, 1.5, 2.5, [1.8, 2.2]),
        IntervalRow(text, 8, 3.0, None, None, [3.0]),
    ]
    parts = [
        Text(text, "note"),
        Code("command", text),
        Table(text, ["name", "value", text], [*TABLE, [text, text, text]], muted=frozenset({0})),
        Intervals("means", text, rows, [("near", 2.4), (text, 99.0)]),
        Chart(text, "epoch", "loss", [1, 2, 3], curves, names=["x1", "x2", text], wide=True),
        dots,
    ]
    sections = [
        Section(text, parts),
        Section("Moving", [Slider(frames, moving)]),
        Section("Tabs", [Tabs("group", {text: [Text("first")], "other": [Text("second")]})]),
        Section("Folded", [Text(text)], folded=True),
    ]
    return Page(text, [text], "2026-01-02 03:04", text, sections)


def shaded_page(text: str = "plain") -> Page:
    """Two epochs of a text of three words whose class is known, with two maps."""
    weights = [np.array([[[0.1, 0.04, 0.0]], [[0.0, 0.0, 0.5]]]), np.zeros((2, 1, 3))]
    written = [Written([said], each) for said, each in zip(["good", "bad"], weights, strict=True)]
    sentence = Sentence(["so", "lovely", text], ["good"], [], written)
    names = ("text", "class", text)
    part = Sentences([sentence], ["mean", "head 1"], names, shaded=True)
    slider = Slider(Frames([1, 2], ["", ""], 0), [part])
    return Page(text, [], "2026-01-01", "attnlab", [Section("Moving", [slider])])
