"""How every figure looks: size, colours, title, and how it is saved. No pyplot, no global state."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, NullFormatter

from attnlab.config.options import in_prose
from attnlab.records.files import replacing
from attnlab.tasks.declaration import Kind

# Okabe and Ito (2008): told apart by readers of every colour vision, and in grey by lightness.
BLUE, ORANGE, GREY, BLACK = "#0072B2", "#D55E00", "#9A9A9A", "#222222"
COLOUR_MAP = "cividis"
DOTS_PER_INCH = 150
_FINE = 500.0  # below so many times the smallest value a logarithmic axis has 2 and 5, too


def new_figure(
    width: float, height: float, title: str, subtitle: str = "", *, placed: bool = False
) -> Figure:
    """An empty figure with a title, in inches; if `placed`, the caller gives axes their places."""
    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH)
    inch = 1 / height
    lines = 0.56 if subtitle else 0.34
    if not placed:
        layout = ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - lines * inch))
        figure.set_layout_engine(layout)
    figure.text(0.012, 1 - 0.09 * inch, title, va="top", fontsize=11, fontweight="bold")
    figure.text(0.012, 1 - 0.32 * inch, subtitle, va="top", fontsize=9, color="#444444")
    return figure


def run_title(metrics: Mapping[str, Any]) -> str:
    """Name a run by task, mechanism and seed."""
    return f"{metrics['task']} · {in_prose(metrics['attention'])} · seed {metrics['seed']}"


def result_line(
    metrics: Mapping[str, Any], kind: Kind, *others: str, with_skill: bool = True
) -> str:
    """The test result in a line: the metric that the run reports, `others`, the best baseline."""
    test, reported = metrics.get("test", {}), metrics.get("metric", kind.scoring.reported)
    shown = [metric for metric in kind.scoring.metrics if metric.name in (reported, *others)]
    known = [f"{m.label} {test[m.name]:.4g}" for m in shown if test.get(m.name) is not None]
    if not known:
        return ""
    baseline = str(metrics.get("best_baseline"))
    other = metrics.get("baselines", {}).get(baseline, {}).get(reported)
    if other is not None:
        known.append(f"best baseline: {baseline} {other:.4g}")
    if with_skill and metrics.get("skill") is not None:
        known.append(f"skill {metrics['skill']:.3g}")
    return f"test {'   '.join(known)}"


def tidy(axes: Axes, grid: str = "y") -> None:
    """Take away the frame's upper and right side, and draw faint grid lines."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color="#E4E4E4", linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9)


def legend_above(axes: Axes) -> None:
    """A legend in one line above the axes, where no curve can be."""
    place: dict[str, Any] = dict(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.1)
    axes.legend(ncols=3, frameon=False, fontsize=9, handlelength=1.5, **place)


def use_log_scale(axes: Axes, values: Iterable[float], direction: Literal["x", "y"] = "y") -> None:
    """Make an axis of such values logarithmic, with numbers as people write them, not too close."""
    known = [value for value in values if math.isfinite(value)]
    fine = max(known) < _FINE * min(known)
    axes.set(**{f"{direction}scale": "log"})
    axis = axes.xaxis if direction == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if fine else (1,), numticks=8))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def without_formulas(figure: Figure) -> Figure:
    """The figure, each text of it shown as it is: names with `$` are no formulas."""
    for text in figure.findobj(Text):
        text.set_parse_math(False)
    return figure


def save(figure: Figure, path: Path) -> Path:
    """Write a figure `without_formulas`, whole or not at all, in the format the name ends with.

    Raises:
        OSError: The file can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if engine := without_formulas(figure).get_layout_engine():
        engine.execute(figure)
        figure.set_layout_engine(None)  # who sees one draws everything twice
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=DOTS_PER_INCH)
    return path
