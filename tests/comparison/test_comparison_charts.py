"""The figure of a comparison."""

from __future__ import annotations

from compared_runs import BETTER, NONE, SAME, compared, write_group
from matplotlib.text import Text

from attnlab.comparison import charts
from attnlab.views.png.figure import draw


def comparison_figure(comparisons):
    return draw(charts.comparison_figure(comparisons))


def test_the_figure_has_curves_means_and_differences(three_groups):
    figure = comparison_figure(compared(three_groups))
    curves, _, means, differences = figure.axes
    assert curves.get_title("left") == "validation loss"
    assert [list(line.get_xdata()) for line in curves.lines] == [[1, 2, 3]] * 3
    assert len(curves.collections) == 3  # bands
    assert means.get_title("left") == "test rmse: mean"
    labels = [label.get_text() for label in means.get_yticklabels()]
    assert labels == ["no attention", "pooling", "bahdanau"]
    seeds = [line for line in means.lines if len(line.get_xdata()) == 5]
    assert [tuple(line.get_xdata()) for line in seeds] == [NONE, SAME, BETTER]
    assert differences.get_title("left") == "difference to no attention, paired by seed"
    texts = [text.get_text() for text in figure.findobj(Text)]
    assert {"left of the line is better", "reference"} <= {*texts}
    assert any(text.startswith("better, p ") for text in texts)


def test_curves_end_where_half_of_the_seeds_do(runs):
    comparisons = compared(runs)
    run = next(iter(comparisons.tasks[0].groups[0].runs.values())).run
    for epoch in range(4, 9):
        run.history.append({"epoch": epoch, "seconds": 1.0, "val_loss": 0.1})
    curves, *_ = comparison_figure(comparisons).axes
    assert max(line.get_xdata()[-1] for line in curves.lines) == 3


def test_no_text_covers_another_also_on_logarithmic_axes(tmp_path, legible_texts):
    names = ("none", "bahdanau", "scaled_dot_product", "luong_global", "pooling", "multi_head")
    for number, name in enumerate(names):
        config = {"model.cell": "bidirectional_gru"}
        values = [value * (1 + 0.01 * number**2) for value in NONE[:3]]
        write_group(tmp_path, name, values, task="translate", config=config)
    for name in names[:2]:
        write_group(tmp_path, name, [1e-4, 1e-3, 1e-2, 0.1, 3.0])
    comparisons = compared(tmp_path, by=("attention", "model.cell"), geometric=True)
    figure = comparison_figure(comparisons)
    _, _, means, _ = figure.axes[:4]
    assert means.get_xscale() == "log"
    texts = legible_texts(figure)
    assert {"0.001", "0.1", "persistence"} <= {*texts} and len(texts) > 50
