"""A page with one record of each kind, and a page with hostile texts."""

from __future__ import annotations

import numpy as np

from attnlab.views.records import (
    AttentionMap,
    AttentionMaps,
    Axis,
    Code,
    Curve,
    Curves,
    Epochs,
    IntervalRow,
    Intervals,
    Maps,
    Page,
    Section,
    ShadedText,
    ShadedWords,
    Slider,
    Strip,
    Strips,
    Table,
    Tabs,
    Text,
)

HOSTILE = "</script><script>window.hacked = 1</script><b onmouseover='window.hacked = 1'>\u2028&"

# Of three epochs, two windows and four steps: each epoch looks one step later.
WEIGHTS = np.stack([np.tile(np.eye(4)[epoch], (2, 1)) for epoch in range(3)])
MAPS = ["mean", "head 1"]
TABLE = [["b", "2.5", "-"], ["a", "1,000", "0.5 [0, 1]"], ["c", "-3e-2", "2"]]


def translated(tokens: str, rows: list[list[float]], text: str) -> AttentionMap:
    return AttentionMap(
        tokens.split(),
        ["the", "dog", text],
        np.array([rows, rows[::-1]]),
        reference=["der", "Hund"],
        reference_links=[(0, 0), (1, 1)],
        row_notes={"<end>": "odd"},
        column_notes={text: f"not in the vocabulary: {text}"},
    )


def page(text: str = "plain") -> Page:
    """One record of each kind; `text` is in the place of a run's texts."""
    epochs = Epochs([1, 4, 9], ["val_loss 3", "val_loss 1 · best", text], 1)
    sentences = [
        translated("der der <end>", [[1, 0, 0], [1, 0, 0], [0, 0, 1]], text),
        translated("der Hund <end>", [[0.8, 0.2, 0], [0.25, 0.75, 0], [0, 0, 1]], text),
        translated("der Hund <end>", [[1, 0, 0], [0, 1, 0], [0, 0, 1]], text),
    ]
    frames = [
        [
            Strips([Strip("first", [1, 2, 3, 4], rows[0]), Strip(text, [4, 3, 2, 1], rows[1])]),
            Maps(
                ["head 1", text],
                rows[:, None],
                Axis("memory", (), ("4", "1")),
                Axis("queries", (), ("a", "b")),
            ),
            AttentionMaps([sentence], ["mean", "head 1"]),
        ]
        for rows, sentence in zip(WEIGHTS, sentences, strict=True)
    ]
    curves = [
        Curve("one", [1.0, 2.0, None], 0, [0.5, 1.5, None], [1.5, 2.5, None]),
        Curve(text, [3.0, None, 1.0], 1),
    ]
    dots = Curves("dots", "x", "y", [1, 2, 3], [Curve(text, [1, 2, 3], 0, form="dots")])
    rows = [
        IntervalRow("one", 0, 2.0, 1.5, 2.5, [1.8, 2.2]),
        IntervalRow(text, 8, 3.0, None, None, [3.0]),
    ]
    parts = [
        Text(text, "note"),
        Code("command", text),
        Table(text, ["name", "value", text], [*TABLE, [text, text, text]], muted=frozenset({0})),
        Intervals("means", text, rows, [("near", 2.4), (text, 99.0)]),
        Curves(text, "epoch", "loss", [1, 2, 3], curves, names=["x1", "x2", text], wide=True),
        dots,
    ]
    sections = [
        Section(text, parts),
        Section("Moving", [Slider(epochs, frames)]),
        Section("Tabs", [Tabs("group", {text: [Text("first")], "other": [Text("second")]})]),
        Section("Folded", [Text(text)], folded=True),
    ]
    return Page(text, [text], "2026-01-02 03:04", text, sections)


def shaded_page(text: str = "plain", second: float = 0.04) -> Page:
    """Two epochs of a text of three words whose class is known, with two maps.

    `second` is the second word's weight.
    """
    names = ("text", "class", text)
    weights = [np.array([[0.1, second, 0.0], [0.0, 0.0, 0.5]]), np.zeros((2, 3))]
    frames = [
        [ShadedWords([ShadedText(["so", "lovely", text], row, said, "good")], MAPS, names)]
        for said, row in zip(["good", "bad"], weights, strict=True)
    ]
    slider = Slider(Epochs([1, 2], ["", ""], 0), frames)
    return Page(text, [], "2026-01-01", "attnlab", [Section("Moving", [slider])])
