"""What a comparison looks like: on a terminal, in files, as a figure."""

from __future__ import annotations

import csv
import io
import json

import pytest
from compared_runs import BETTER, NONE, SAME, write_group
from matplotlib.figure import Figure

from attnlab.compare import formats
from attnlab.compare.comparison import compare
from attnlab.compare.plots import comparison_figure, draw_comparisons
from attnlab.compare.results import Request
from attnlab.compare.sheets import number_format, p_text, results_sheet
from attnlab.compare.table import print_comparisons


@pytest.fixture
def found(tmp_path):
    write_group(tmp_path, "none", NONE)
    write_group(tmp_path, "scaled_dot_product", BETTER, config={"trainer.epochs": 60})
    write_group(tmp_path, "pooling", SAME)
    return compare(tmp_path, Request())


def printed(found, monkeypatch, columns=100):
    monkeypatch.setenv("COLUMNS", str(columns))
    file = io.StringIO()
    file.isatty = lambda: columns < 100
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    print_comparisons(found, file)
    return file.getvalue()


def test_the_tables_fit_100_columns_and_say_everything(found, monkeypatch):
    text = printed(found, monkeypatch)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0] == "sunspots: test rmse in sunspots, lower is better"
    rows = [line.split() for line in lines]
    assert rows[3][:6] == ["scaled_dot_product", "5", "0.958", "0.849", "to", "1.067"]
    (better,) = [row for row in rows[1:] if "better" in row]
    assert better[:5] == ["scaled_dot_product", "5", "-0.102", "[-0.118,", "-0.086]"]
    assert "difference to none (below 0 is better)" in lines
    assert "Holm-corrected for 2 comparisons" in text
    assert "Diebold-Mariano over 40 test windows" in text
    assert "skill: part of persistence's error that is gone" in " ".join(text.split())
    assert "warning: trainer.epochs differs: 30 in none, pooling; 60 in scaled_dot_product" in text


def test_intervals_are_drawn_on_one_scale(found, monkeypatch):
    pictures = [line for line in printed(found, monkeypatch).splitlines() if "●" in line]
    assert len(pictures) == 2
    # Better: its interval ends below 0, where the other one's is crossed.
    zero = pictures[0].index("┊")
    assert pictures[0].index("─") < pictures[0].index("●") < zero
    assert pictures[1].index("─") < zero < pictures[1].rindex("─")


def test_intervals_are_drawn_where_there_is_no_unicode(found, monkeypatch):
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print_comparisons(found, file)
    file.seek(0)
    text = file.read()
    assert "-o-" in text


def test_80_columns_are_enough(found, monkeypatch):
    lines = printed(found, monkeypatch, 80).splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80
    assert not [line for line in lines if "…" in line]
    assert any(line.startswith("scaled_dot_product  5  -0.102 [") for line in lines)
    assert "a wider terminal also shows s/epoch" in [line.strip() for line in lines]


def test_markdown_has_a_table_for_results_and_one_for_differences(found):
    lines = formats.markdown(found).splitlines()
    assert lines[0] == "**sunspots: test rmse in sunspots, lower is better**"
    tables = [line for line in lines if line.startswith("|")]
    assert len(tables) == 5 + 4
    assert len({line.count("|") for line in tables[:5]}) == 1
    assert tables[2].startswith("| `scaled_dot_product` | 5 | 0.958 | 0.849 to 1.067 |")
    assert tables[-2].endswith("| better |")
    assert any(line.startswith("- warning: trainer.epochs differs") for line in lines)


def test_csv_reads_back_with_full_digits(found):
    rows = list(csv.DictReader(io.StringIO(formats.comma_separated(found))))
    assert [row["attention"] for row in rows] == ["scaled_dot_product", "pooling", "none"]
    assert float(rows[0]["mean"]) == found.tasks[0].rows[0].interval.mean
    assert float(rows[0]["p_holm"]) == found.tasks[0].rows[0].p_holm
    assert rows[0]["item_test"] == "Diebold-Mariano"
    assert (rows[2]["verdict"], rows[2]["difference"]) == ("", "")


def test_json_has_every_seed(found):
    (task,) = json.loads(formats.as_json(found))["tasks"]
    assert (task["reference"], task["direction"]) == ("none", "lower")
    assert task["groups"][0]["values"] == {str(seed): value for seed, value in enumerate(BETTER)}
    assert len(task["groups"][0]["runs"]) == 5
    assert task["warnings"] == found.tasks[0].warnings


def test_latex_escapes_names(found):
    text = formats.latex(found)
    assert r"scaled\_dot\_product & 5 & 0.958" in text
    assert r"95 \% interval" in text
    assert "[$-$0.118, $-$0.086]" in text
    tables = [line for line in text.splitlines() if line and not line.startswith("%")]
    assert [line for line in tables if "_" in line.replace(r"\_", "")] == []
    assert text.count(r"\begin{tabular}") == text.count(r"\bottomrule") == 2


def test_one_group_is_shown_without_a_comparison(tmp_path, monkeypatch):
    write_group(tmp_path, "pooling", SAME)
    found = compare(tmp_path, Request())
    text = printed(found, monkeypatch)
    assert "there is one group only, so nothing to hold it against" in text
    assert "difference" not in text
    assert formats.latex(found).count(r"\begin{tabular}") == 1
    assert comparison_figure(found).subfigs


def test_metrics_without_a_direction_have_a_lowest_and_a_highest(tmp_path):
    for name, value in (("none", 0.5), ("pooling", 0.25)):
        write_group(tmp_path, name, SAME, metrics={"attention_map": {"coverage": value}})
    (comparison,) = compare(tmp_path, Request(metric="attention_map.coverage")).tasks
    assert results_sheet(comparison).header[4:6] == ["lowest", "highest"]


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([99.13, 28.44], ["99.13", "28.44"]),
        ([0.07111, 0.1], ["0.0711", "0.1000"]),
        ([12345.678, 9], ["1.23e+04", "9"]),
        ([18.05, -0.001], ["18.1", "-0.001"]),
        ([1500.0, 1600.5], ["1,500", "1,600"]),
        ([2.6e-5, 9.1e-6], ["2.6e-05", "9.1e-06"]),
        ([0.0], ["0"]),
    ],
    ids=str,
)
def test_numbers_of_a_column_have_as_many_decimals(values, written):
    assert [number_format(values)(value) for value in values] == written


@pytest.mark.parametrize(
    ("p", "written"), [(None, "-"), (0.0004, "<0.001"), (0.0468, "0.047"), (1.0, "1.000")]
)
def test_p_values(p, written):
    assert p_text(p) == written


# The figure


def texts(figure: Figure):
    return [text.get_text() for text in figure.findobj(lambda it: hasattr(it, "get_text"))]


def panels(figure):
    (task,) = figure.subfigs
    return [axes for part in task.subfigs for axes in part.axes]


def test_the_figure_has_curves_means_and_differences(found):
    figure = comparison_figure(found)
    curves, _, means, differences = panels(figure)
    assert curves.get_title("left") == "validation loss"
    assert len(curves.lines) == 3
    assert list(curves.lines[0].get_xdata()) == [1, 2, 3]
    assert len(curves.collections) == 3  # bands
    assert [label.get_text() for label in means.get_yticklabels()] == [
        *("none", "pooling", "scaled_dot_product"),
    ]
    seeds = [line for line in means.lines if len(line.get_xdata()) == 5]
    assert sorted(map(tuple, (line.get_xdata() for line in seeds))) == sorted((NONE, BETTER, SAME))
    assert differences.get_title("left") == "difference to none, paired by seed"
    assert "left of the line is better" in texts(figure)
    assert any(text.startswith("better, p ") for text in texts(figure))
    assert "reference" in texts(figure)


def test_groups_keep_their_looks_in_all_panels(found):
    curves, _, means, differences = panels(comparison_figure(found))

    def colours(axes):
        return {line.get_color() for line in axes.lines}

    assert len(colours(curves)) == 3
    assert colours(curves) <= colours(means)
    assert len(colours(curves) & colours(differences)) == 2


def test_errors_of_several_decades_have_a_logarithmic_axis(tmp_path, drawn_texts):
    for name in ("none", "pooling"):
        write_group(tmp_path, name, [1e-4, 1e-3, 1e-2, 0.1, 3.0])
    figure = comparison_figure(compare(tmp_path, Request(geometric=True)))
    *_, means, _ = panels(figure)
    assert means.get_xscale() == "log"
    assert {"0.001", "0.1", "persistence"} <= {text for text, _ in drawn_texts(figure)}


def test_curves_end_where_half_of_the_seeds_do(found):
    run = next(iter(found.tasks[0].groups[0].runs.values())).run
    for epoch in range(4, 9):
        run.history.append({"epoch": epoch, "seconds": 1.0, "val_loss": 0.1})
    curves, *_ = panels(comparison_figure(found))
    assert max(line.get_xdata()[-1] for line in curves.lines) == 3


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_the_figure_is_written(found, tmp_path, suffix):
    path = draw_comparisons(found, tmp_path / "new" / f"figure.{suffix}")
    assert path.stat().st_size > 5000


def test_tasks_stand_below_each_other(found, tmp_path):
    write_group(tmp_path, "none", [20, 21], task="translate")
    write_group(tmp_path, "pooling", [10, 21], task="translate")
    figure = comparison_figure(compare(tmp_path, Request()))
    assert len(figure.subfigs) == 2
    figure.draw_without_rendering()


def test_no_text_covers_another(tmp_path, drawn_texts):
    names = ("none", "bahdanau", "scaled_dot_product", "luong_global", "pooling", "multi_head")
    for task in ("sunspots", "translate"):
        for number, name in enumerate(names):
            config = {"model.cell": "bidirectional_gru"}
            values = [value * (1 + 0.01 * number**2) for value in NONE]
            write_group(tmp_path, name, values, task=task, config=config)
    found = compare(tmp_path, Request(by=("attention", "model.cell")))
    drawn = drawn_texts(comparison_figure(found))
    assert len(drawn) > 60
    for place, (text, box) in enumerate(drawn):
        for other, other_box in drawn[place + 1 :]:
            assert not box.overlaps(other_box), f"{text!r} and {other!r}"
