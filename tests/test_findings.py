"""The findings' numbers have one source: docs/findings/tables."""

import csv
import importlib.util
import re

import pytest
from command_line import ROOT

from attnlab.studies import study as studies


@pytest.fixture
def findings(monkeypatch):
    spec = importlib.util.spec_from_file_location("findings", ROOT / "scripts/findings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_and_readme_have_the_numbers_of_the_tables(findings):
    old = [
        path.name for path, text in findings.written().items() if path.read_text("utf-8") != text
    ]
    assert not old, f"run python scripts/findings.py: {old}"


def test_each_table_has_a_page_and_each_page_a_table(findings):
    names = {*findings.words_of_all()}
    assert {path.stem for path in findings.TABLES.glob("*.csv")} == names | {"made"}
    assert {path.stem for path in findings.FOLDER.glob("*.md")} == names | {"index"}
    assert names <= {*studies.names()} | {
        name
        for name, words in findings.words_of_all().items()
        if {"question", "command"} <= {*words}
    }


def test_answers_have_the_decimals_of_the_tables(findings):
    for name, words in findings.words_of_all().items():
        for key in ("answer", "readme"):
            own = re.sub(r"\{[^{}]+\}|\(p .*?\)", "", words.get(key, ""))
            assert not re.search(r"\d\.\d", own), f"{name}: {key}: {own}"


def test_a_number_is_written_with_the_studys_digits(findings):
    names = ("who", "metric", "attention", "n", "name", "mean", "low", "high")
    cells = [
        ("ours", "bleu", "none", "5", "", "98.7654", "9.8", "100.0"),
        ("baseline", "bleu", "", "", "copy", "11", "", ""),
        ("baseline", "bleu", "", "", "nearest", "7", "", ""),
    ]
    rows = [dict(zip(names, row, strict=True)) for row in cells]
    finding = findings.Finding("mine", {"digits": ".1f"}, rows, {})
    text = findings.filled("{none}, {none []}, {copy}, {baseline max}, {none n}", finding)
    assert text == "98.8, 98.8 [9.8, 100.0], 11, 11, 5"
    for wrong in ("{nobody}", "{none []} {none worst}", "{baseline}"):
        with pytest.raises((ValueError, KeyError)):
            findings.filled(wrong, finding)


def test_a_picture_has_the_best_baseline_whichever_way_the_metric_goes(findings):
    known = findings.findings()
    for name, best in (("shakespeare", "kneser_ney_7"), ("associative_recall", "guess")):
        (grid,) = findings.picture(known[name]).grids
        assert [line[0] for line in grid.rows[0][0].lines] == [best]


def test_a_new_table_is_taken_over(findings, tmp_path, monkeypatch):
    tables = tmp_path / "tables"
    tables.mkdir()
    monkeypatch.setattr(findings, "TABLES", tables)
    monkeypatch.setattr(findings, "MADE", tables / "made.csv")
    (tables / "made.csv").write_text(
        "study,date,code\nreviews,2020-01-01,old\nbook,2020-01-02,old\n"
    )
    study = tmp_path / "runs/studies/reviews"
    for path, text in {
        study / "table.csv": "study,who\n",
        tmp_path
        / "runs/sweeps/study-reviews-1/environment.json": '{"code": {"commit": "12345678ab"}}',
        tmp_path / "runs/sweeps/study-reviews-2/environment.json": '{"code": null}',
    }.items():
        path.parent.mkdir(parents=True)
        path.write_text(text)
    findings.take_over("reviews", study)
    assert (tables / "reviews.csv").read_text() == "study,who\n"
    rows = [*csv.DictReader((tables / "made.csv").read_text().splitlines())]
    assert [row["study"] for row in rows] == ["book", "reviews"]
    assert rows[1]["date"] > "2025" and rows[1]["code"].endswith(" (12345678)")
    with pytest.raises(SystemExit, match="add `nothing`"):
        findings.take_over("nothing", tmp_path)
