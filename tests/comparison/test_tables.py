"""The tables of a comparison on a terminal and in files."""

from __future__ import annotations

import csv
import io
import json

import pytest
from compared_runs import BETTER, NONE, SAME, compared, only, write_group

from attnlab.comparison.statistics import TOO_FEW
from attnlab.comparison.tables import (
    WRITERS,
    as_json,
    differences_table,
    latex,
    markdown,
    print_comparisons,
    results_table,
)
from attnlab.terminal import p_text


@pytest.fixture(scope="module")
def comparisons(tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    write_group(runs, "none", NONE)
    write_group(runs, "scaled_dot_product", BETTER, config={"trainer.epochs": 60})
    write_group(runs, "pooling", SAME)
    return compared(runs)


def printed(comparisons, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    file = io.StringIO()
    print_comparisons(comparisons, file)
    return file.getvalue()


def csv_rows(comparisons):
    return list(csv.DictReader(io.StringIO(WRITERS["csv"](comparisons))))


def test_the_tables_fit_100_columns_and_are_complete(comparisons, monkeypatch):
    text = printed(comparisons, monkeypatch)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0] == "sunspots: test rmse in sunspots, lower is better"
    rows = [line.split() for line in lines]
    assert rows[3][:6] == ["scaled_dot_product", "5", "0.958", "0.849", "to", "1.067"]
    (better,) = [row for row in rows[1:] if "better" in row]
    assert better[:5] == ["scaled_dot_product", "5", "-0.102", "[-0.118,", "-0.086]"]
    assert "difference to no attention (below 0 is better)" in lines
    notes = " ".join(text.split())
    p = p_text(next(comparisons.tasks[0].table.itertuples()).item_p_holm)
    said = f"compares these weights on these items, not the mechanisms: scaled_dot_product p {p}"
    assert said in notes and "(Diebold-Mariano over 40 test windows; Holm)" in notes
    warning = "trainer.epochs differs: 30 (no attention, pooling); 60 (scaled_dot_product)"
    assert f"warning: {warning}" in text


@pytest.mark.parametrize("sequential", [False, True])
def test_no_interval_exceeds_the_bounds_of_its_metric(tmp_path, sequential):
    """Neither an RMSE below 0 nor a BLEU above 100."""
    write_group(tmp_path, "none", [0.1, 0.2, 0.1, 0.2, 3.0])
    write_group(tmp_path, "none", [99.9, 99.8, 99.9, 99.8, 97.0], task="translate")
    rmse, bleu = json.loads(as_json(compared(tmp_path, sequential=sequential)))
    assert rmse["low"] == 0 < rmse["mean"] < rmse["high"]
    assert bleu["low"] < bleu["mean"] < bleu["high"] == 100


def test_a_clear_difference_is_never_rounded_to_nothing(tmp_path):
    write_group(tmp_path, "none", [value + 17 for value in NONE])
    write_group(tmp_path, "bahdanau", [v + 17.04 + at / 1e3 for at, v in enumerate(NONE)])
    write_group(tmp_path, "pooling", [value + 37 for value in BETTER])
    plain, ratio = (
        {row[0]: row[2] for row in differences_table(only(tmp_path, geometric=geometric)).rows}
        for geometric in (False, True)
    )
    assert plain["bahdanau"] == "0.042 [0.040, 0.044]"
    assert ratio["bahdanau"] == "1.0023 [1.0022, 1.0024]"
    assert (plain["pooling"][:3], ratio["pooling"][:3]) == ("19.", "2.1")


def test_markdown_and_latex_have_a_table_of_results_and_one_of_differences(comparisons):
    lines = markdown(comparisons).splitlines()
    assert lines[0] == "**sunspots: test rmse in sunspots, lower is better**"
    tables = [[cell.strip() for cell in line.split("|")] for line in lines if line[:1] == "|"]
    assert len(tables) == 5 + 4
    assert tables[2][1:5] == ["`scaled_dot_product`", "5", "0.958", "0.849 to 1.067"]
    assert tables[-2][-2] == "better"
    assert any(line.startswith("- warning: trainer.epochs differs") for line in lines)

    text = latex(comparisons)
    assert r"scaled\_dot\_product & 5 & 0.958" in text and r"95 \% interval" in text
    assert text.count(r"\begin{tabular}") == text.count(r"\bottomrule") == 2


def test_csv_and_json_have_all_digits(comparisons):
    rows = csv_rows(comparisons)
    assert [row["attention"] for row in rows] == ["scaled_dot_product", "pooling", "none"]
    first = next(comparisons.tasks[0].table.itertuples())
    assert float(rows[0]["mean"]) == first.mean
    assert float(rows[0]["p_holm"]) == first.p_corrected
    assert (rows[0]["item_test"], rows[0]["intervals"]) == ("Diebold-Mariano", "t")
    assert (rows[2]["verdict"], rows[2]["difference"]) == ("", "")
    row, *_ = json.loads(as_json(comparisons))
    assert (row["mean"], row["p_holm"]) == (first.mean, first.p_corrected)
    assert row["values"] == {str(seed): value for seed, value in enumerate(BETTER)}
    assert row["warnings"] == "; ".join(comparisons.tasks[0].warnings)


def test_with_too_few_seeds_there_is_no_p(tmp_path, monkeypatch):
    """The difference of four seeds has a p below 0.05 and no verdict: files have both."""
    write_group(tmp_path, "none", NONE)
    write_group(tmp_path, "bahdanau", BETTER[:4])
    comparisons = compared(tmp_path)
    text = printed(comparisons, monkeypatch)
    (row,) = [line for line in text.splitlines() if TOO_FEW in line and "bahdanau" in line]
    assert row.split()[-4:] == ["-", "too", "few", "seeds"]
    assert "too few seeds: a verdict needs 5 seeds that both groups have" in text
    assert float(csv_rows(comparisons)[0]["p_holm"]) < 0.05
    sequential = printed(compared(tmp_path, sequential=True), monkeypatch)
    assert "too few seeds: a verdict needs 5 seeds" in sequential


def test_there_is_no_column_without_values(tmp_path):
    write_group(tmp_path, "none", NONE)
    assert "beats baseline" in results_table(only(tmp_path)).header
    assert "beats baseline" not in results_table(only(tmp_path, metric="mae")).header


def test_one_group_is_shown_without_a_comparison(tmp_path, monkeypatch):
    write_group(tmp_path, "pooling", SAME)
    comparisons = compared(tmp_path)
    text = printed(comparisons, monkeypatch)
    assert "there is only one group, so there is nothing to compare it with" in text
    assert "difference" not in text
    assert latex(comparisons).count(r"\begin{tabular}") == 1


def test_every_format_marks_sequential_intervals(tmp_path, monkeypatch):
    for name, values in (("none", NONE), ("bahdanau", BETTER), ("pooling", SAME)):
        write_group(tmp_path, name, [*values, *values])
    comparisons = compared(tmp_path, sequential=True)
    for text in (printed(comparisons, monkeypatch), markdown(comparisons), latex(comparisons)):
        assert "95 % sequential" in text.replace("\\", "")
        assert "difference [sequential]" in text
        notes = " ".join(text.split())
        assert "Holm; valid for one look only)" in notes
    for row in [*json.loads(as_json(comparisons)), *csv_rows(comparisons)]:
        assert row["intervals"] == "sequential"
        assert "p_bonferroni" in row and "p_holm" not in row
