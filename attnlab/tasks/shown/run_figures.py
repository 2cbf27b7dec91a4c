"""Figures of several kinds: learning curves, vocabularies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.config.options import in_prose
from attnlab.tasks.kinds import Kind
from attnlab.views.records import INK, Curve, Curves, Figure, Mark, Scatter, figure

# Label of a panel -> column of the history -> name and colour of the curve.
Panels = Mapping[str, Mapping[str, tuple[str, int]]]


def run_title(metrics: Mapping[str, Any]) -> str:
    """Name a run by task, mechanism and seed."""
    return f"{metrics['task']} · {in_prose(metrics['attention'])} · seed {metrics['seed']}"


def result_line(metrics: Mapping[str, Any], kind: Kind, *others: str) -> str:
    """Return the test result in a line: the reported metric, `others`, and the best baseline."""
    test, reported = metrics.get("test", {}), metrics.get("metric", kind.scoring.reported)
    shown = [metric for metric in kind.scoring.metrics if metric.name in (reported, *others)]
    scores = [f"{m.label} {test[m.name]:.4g}" for m in shown if test.get(m.name) is not None]
    baseline = str(metrics.get("best_baseline"))
    other = metrics.get("baselines", {}).get(baseline, {}).get(reported)
    if scores and other is not None:
        scores.append(f"best baseline: {baseline} {other:.4g}")
    return f"test {'   '.join(scores)}" if scores else ""


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


def principal_plane(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Project vectors onto their first two principal components, by SVD.

    Vectors (N, D) become coordinates (N, 2), and the share of the variance along each, (2,). The
    sign of each axis makes its largest loading positive, so that equal vectors give equal maps.
    """
    centred = np.pad(np.asarray(vectors, np.float64), [(0, 0), (0, 1)])  # at least 2 columns
    centred -= centred.mean(axis=0)
    _, sizes, (*axes,) = np.linalg.svd(centred, full_matrices=False)
    plane = [axis * np.sign(axis[np.abs(axis).argmax()]) for axis in axes[:2]]
    return centred @ np.transpose(plane), sizes[:2] ** 2 / max(float((sizes**2).sum()), 1e-300)


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
    first, second = (
        f"{name} component, {share:.1%} of the variance"
        for name, share in zip(("first", "second"), shares, strict=True)
    )
    record = Scatter("", first, second, places, words, groups, members, strengths)
    subtitle = f"PCA of the {len(words)} most frequent words, their vectors of length 1: "
    return figure(title, f"{subtitle}{shares.sum():.1%} of the variance", [[record]])
