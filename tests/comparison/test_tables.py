"""The tables of a comparison on a terminal and in files."""

from __future__ import annotations

import csv
import io
import json

import pytest
from compared_runs import BETTER, NONE, SAME, compared, only, write_group

from attnlab.comparison.formats import (
    as_json,
    comma_separated,
    latex,
    markdown,
    print_comparisons,
)
from attnlab.comparison.tables import differences_table


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    write_group(runs, "none", NONE)
    write_group(runs, "scaled_dot_product", BETTER, config={"trainer.epochs": 60})
    write_group(runs, "pooling", SAME)
    return compared(runs)


def printed(found, monkeypatch, columns=100):
    monkeypatch.setenv("COLUMNS", str(columns))
    file = io.StringIO()
    file.isatty = lambda: columns < 100
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    print_comparisons(found, file)
    return file.getvalue()


def test_the_tables_fit_100_columns_and_are_complete(found, monkeypatch):
    text = printed(found, monkeypatch)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0] == "sunspots: test rmse in sunspots, lower is better"
    rows = [line.split() for line in lines]
    assert rows[3][:6] == ["scaled_dot_product", "5", "0.958", "0.849", "to", "1.067"]
    (better,) = [row for row in rows[1:] if "better" in row]
    assert better[:5] == ["scaled_dot_product", "5", "-0.102", "[-0.118,", "-0.086]"]
    assert "difference to no attention (below 0 is better)" in lines
    assert "corrected for 2 tests (Holm); intervals are not corrected" in " ".join(text.split())
    assert "Diebold-Mariano over 40 test windows" in text
    assert "skill: share of the error of persistence that the model removes" in " ".join(
        text.split()
    )
    assert (
        "warning: trainer.epochs differs: 30 (no attention, pooling); 60 (scaled_dot_product)"
        in text
    )


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize(
    ("task", "values", "end"),
    [
        ("sunspots", [0.1, 0.2, 0.1, 0.2, 3.0], 0),
        ("translate", [99.9, 99.8, 99.9, 99.8, 97.0], 100),
    ],
)
def test_no_interval_exceeds_the_bounds_of_its_metric(tmp_path, task, values, end, sequential):
    """Neither an RMSE below 0 nor a BLEU above 100."""
    write_group(tmp_path, "none", values, task=task)
    found = compared(tmp_path, sequential=sequential)
    assert end in found.tasks[0].results[0].interval[2:4]
    assert json.loads(as_json(found))[0]["low" if end == 0 else "high"] == end


def test_a_clear_difference_is_never_rounded_to_nothing(tmp_path):
    write_group(tmp_path, "none", [value + 17 for value in NONE])
    write_group(tmp_path, "bahdanau", [v + 17.04 + at / 1e3 for at, v in enumerate(NONE)])
    write_group(tmp_path, "pooling", [value + 37 for value in BETTER])
    plain, ratio = (only(tmp_path, geometric=geometric) for geometric in (False, True))
    written = [{row[0]: row[2] for row in differences_table(each).rows} for each in (plain, ratio)]
    assert written[0]["bahdanau"] == "0.042 [0.040, 0.044]"
    assert written[1]["bahdanau"] == "1.0023 [1.0022, 1.0024]"
    assert [row["pooling"][:3] for row in written] == ["19.", "2.1"]


def test_markdown_has_a_table_for_results_and_one_for_differences(found):
    lines = markdown(found).splitlines()
    assert lines[0] == "**sunspots: test rmse in sunspots, lower is better**"
    tables = [line for line in lines if line.startswith("|")]
    assert len(tables) == 5 + 4
    assert len({line.count("|") for line in tables[:5]}) == 1
    assert tables[2].startswith("| `scaled_dot_product` | 5 | 0.958 | 0.849 to 1.067 |")
    assert tables[-2].endswith("| better |")
    assert any(line.startswith("- warning: trainer.epochs differs") for line in lines)


def test_csv_reads_back_with_full_digits(found):
    rows = list(csv.DictReader(io.StringIO(comma_separated(found))))
    assert [row["attention"] for row in rows] == ["scaled_dot_product", "pooling", "none"]
    assert float(rows[0]["mean"]) == found.tasks[0].results[0].interval.mean
    assert float(rows[0]["p_holm"]) == found.tasks[0].results[0].p_corrected
    assert (rows[0]["item_test"], rows[0]["intervals"]) == ("Diebold-Mariano", "t")
    assert (rows[2]["verdict"], rows[2]["difference"]) == ("", "")


def test_json_has_every_seed(found):
    row, *_ = json.loads(as_json(found))
    assert row["values"] == {str(seed): value for seed, value in enumerate(BETTER)}
    assert row["warnings"] == "; ".join(found.tasks[0].warnings)


def test_latex_escapes_names(found):
    text = latex(found)
    assert r"scaled\_dot\_product & 5 & 0.958" in text
    assert r"95 \% interval" in text
    tables = [line for line in text.splitlines() if line and not line.startswith("%")]
    assert [line for line in tables if "_" in line.replace(r"\_", "")] == []
    assert text.count(r"\begin{tabular}") == text.count(r"\bottomrule") == 2


def test_one_group_is_shown_without_a_comparison(tmp_path, monkeypatch):
    write_group(tmp_path, "pooling", SAME)
    found = compared(tmp_path)
    text = printed(found, monkeypatch)
    assert "there is only one group, so there is nothing to compare it with" in text
    assert "difference" not in text
    assert latex(found).count(r"\begin{tabular}") == 1


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory):
    """A sequential comparison of ten seeds."""
    runs = tmp_path_factory.mktemp("runs")
    for name, values in (("none", NONE), ("bahdanau", BETTER), ("pooling", SAME)):
        write_group(runs, name, [*values, *values])
    return compared(runs, sequential=True)


def test_every_format_marks_sequential_intervals(looked_at, monkeypatch):
    for text in (printed(looked_at, monkeypatch), markdown(looked_at), latex(looked_at)):
        assert "95 % sequential" in text.replace("\\", "")
        assert "difference [sequential]" in text
        told = " ".join(text.split())
        assert "at alpha 0.05 / 2; they need 6 shared seeds" in told
        assert "Holm); valid for one look only" in told
        assert "paired t test" not in told
    for row in (
        *json.loads(as_json(looked_at)),
        *csv.DictReader(io.StringIO(comma_separated(looked_at))),
    ):
        assert row["intervals"] == "sequential"
        assert "p_bonferroni" in row and "p_holm" not in row
