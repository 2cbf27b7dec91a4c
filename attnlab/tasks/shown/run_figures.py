"""Figures of several kinds: learning curves, results by group, vocabularies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.config.options import in_prose
from attnlab.tasks.declaration import Kind
from attnlab.tasks.item_tests import wilson_interval
from attnlab.text.cleaning import shortened
from attnlab.views.records import (
    BLUE,
    INK,
    Curve,
    Curves,
    Figure,
    IntervalRow,
    Intervals,
    Mark,
    Scatter,
    figure,
)

# Label of a panel -> column of the history -> name and colour of the curve.
Panels = Mapping[str, Mapping[str, tuple[str, int]]]

_MOST_GROUPS = 40
_MOST_CHARACTERS = 30  # of a group's name
_LONG, _ROW_HEIGHTS = 24, (0.28, 0.36)  # characters of a label; inches of short and long ones


def run_title(metrics: Mapping[str, Any]) -> str:
    """Name a run by task, mechanism and seed."""
    return f"{metrics['task']} · {in_prose(metrics['attention'])} · seed {metrics['seed']}"


def result_line(
    metrics: Mapping[str, Any], kind: Kind, *others: str, with_skill: bool = True
) -> str:
    """Return the test result in a line: the reported metric, `others`, and the best baseline."""
    test, reported = metrics.get("test", {}), metrics.get("metric", kind.scoring.reported)
    shown = [metric for metric in kind.scoring.metrics if metric.name in (reported, *others)]
    scores = [f"{m.label} {test[m.name]:.4g}" for m in shown if test.get(m.name) is not None]
    if not scores:
        return ""
    baseline = str(metrics.get("best_baseline"))
    other = metrics.get("baselines", {}).get(baseline, {}).get(reported)
    if other is not None:
        scores.append(f"best baseline: {baseline} {other:.4g}")
    if with_skill and metrics.get("skill") is not None:
        scores.append(f"skill {metrics['skill']:.3g}")
    return f"test {'   '.join(scores)}"


def learning_figure(
    history: Mapping[str, list[float]],
    metrics: Mapping[str, Any],
    panels: Panels,
    result: str,
    logarithmic: str | None = None,
) -> Figure:
    """Draw curves by epoch in panels side by side, and mark the best epoch.

    Args:
        history: `epoch`, and columns such as `train_loss`; epochs without a score have NaN.
        metrics: metrics.json.
        panels: the panels; one without a known curve is left out.
        result: a line below the title.
        logarithmic: the panel with a logarithmic axis if its values differ more than tenfold.
    """
    epochs, best, monitor = history["epoch"], metrics.get("best_epoch"), str(metrics.get("monitor"))
    row = []
    for label, styles in panels.items():
        curves = [
            Curve(name, history[column], colour)
            for column, (name, colour) in styles.items()
            if column in history
        ]
        if not curves:
            continue
        marks = [Mark(x=best, dashes=":")] if best in epochs else []
        if best in epochs and monitor in styles and monitor in history:
            value = history[monitor][epochs.index(best)]
            marks.append(Mark(best, value, f"best epoch: {best} ({value:.4g})", INK))
        row.append(
            Curves(
                "", "epoch", label, epochs, curves, logarithmic=label == logarithmic, marks=marks
            )
        )
    size = max(7.0, 1 + 3.9 * len(row)), 4.0
    return figure(f"{run_title(metrics)}: learning", result, [row], size)


def groups_figure(
    groups: Mapping[str, tuple[float, int]],
    whole: float,
    metrics: Mapping[str, Any],
    *,
    measure: str,
    items: str,
    result: str,
) -> Figure:
    """Draw the share of right answers per group, with Wilson's 95 % interval, and of all items.

    With more than 40 groups only the largest are shown.

    Args:
        groups: name -> share from 0 to 1, and the number of items.
        whole: the share of all items.
        metrics: metrics.json.
        measure: the name of the share.
        items: the noun for items, in the plural.
        result: a line below the title.
    """
    largest = sorted(groups, key=lambda name: -groups[name][1])[:_MOST_GROUPS]
    shown = {name: each for name, each in groups.items() if name in largest}
    title = f"{run_title(metrics)}: test {measure} by group"
    if len(shown) < len(groups):
        title += f", the largest {len(shown)} of {len(groups)}"
    rows = [
        IntervalRow(
            f"{shortened(name, _MOST_CHARACTERS)}  ({count})",
            BLUE,
            share,
            *wilson_interval(round(share * count), count),
        )
        for name, (share, count) in shown.items()
    ]
    label = f"{measure}, 95 % interval (in brackets: {items})"
    all_items = [(f"all {items}: {whole:.3g}", whole)]
    record = Intervals("", label, rows, all_items, limits=(-0.02, 1.02))
    height = _ROW_HEIGHTS[any(len(row.label) > _LONG for row in rows)]
    return figure(title, result, [[record]], (7.5, 1.5 + height * max(len(rows), 3)))


def principal_plane(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Project vectors onto their first two principal components, by SVD.

    Vectors (N, D) become coordinates (N, 2), and the share of the variance along each, (2,). The
    sign of each axis makes its largest loading positive, so that equal vectors give equal maps.
    """
    centred = np.asarray(vectors, np.float64)
    centred = centred - centred.mean(axis=0)
    left, sizes, loadings = np.linalg.svd(centred, full_matrices=False)
    largest = np.abs(loadings).argmax(axis=1)
    signs = np.sign(loadings[np.arange(len(loadings)), largest])
    coordinates, shares = np.zeros((len(centred), 2)), np.zeros(2)
    count = min(2, len(sizes))
    coordinates[:, :count] = (left * sizes * signs)[:, :count]
    shares[:count] = (sizes**2 / max(float((sizes**2).sum()), 1e-300))[:count]
    return coordinates, shares


def vocabulary_figure(
    vectors: np.ndarray,
    words: Sequence[str],
    *,
    title: str,
    groups: Sequence[str] = (),
    members: Sequence[int] | np.ndarray = (),
    strengths: Sequence[float] | np.ndarray = (),
) -> Figure:
    """Draw words in the plane of the first two principal components of their vectors.

    Vectors are first divided by their length. Otherwise frequent words, whose vectors are the
    longest, would be far from all others. Neighbours have vectors of similar directions.

    Args:
        vectors: (N, D), one per word.
        words: the most important ones first.
        title: title of the figure.
        groups: names of groups of words; empty: there are none.
        members: the group of each word.
        strengths: the strength of each word's colour, from 0, grey, to 1.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    places, shares = principal_plane(vectors / np.maximum(lengths, 1e-12))
    axes = (
        f"first component, {shares[0]:.1%} of the variance",
        f"second component, {shares[1]:.1%}",
    )
    record = Scatter("", *axes, places, words, groups, members, strengths)
    subtitle = f"PCA of the {len(words)} most frequent words, their vectors of length 1: "
    return figure(title, f"{subtitle}{shares.sum():.1%} of the variance", [[record]])
