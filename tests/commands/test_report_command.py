"""`attnlab report`: which runs a page shows, where the page is, and what is refused."""

from __future__ import annotations

import json
import re

import pytest
from compared_runs import BETTER, NONE
from run_folders import write_run

from attnlab.cli import main


@pytest.fixture
def printed(tmp_path, monkeypatch, capsys):
    """Run the command over untracked runs of two groups and a sweep of them."""
    monkeypatch.setenv("ATTNLAB_RUNS", str(tmp_path))
    off = {"tracking.enabled": False}
    for seed in range(2):
        write_run(tmp_path, "none", seed, NONE[seed], config=off, status={"sweep": "both"})
        units = {**off, "model.units": 8 + 8 * seed}
        write_run(tmp_path, "bahdanau", seed, BETTER[seed], config=units, status={"sweep": "both"})
    folder = tmp_path / "sweeps" / "both"
    folder.mkdir(parents=True)
    varying = {"attention": ["none", "bahdanau"], "seed": ["0", "1"], "nothing.known": ["1"]}
    (folder / "sweep.json").write_text(json.dumps({"varying": varying}))

    def printed(*words: object) -> tuple[int, str, str]:
        code = main(["report", *map(str, words)])
        return code, *capsys.readouterr()

    return printed


def test_the_page_of_a_run_is_in_its_folder(printed, tmp_path):
    code, out, _ = printed("latest")
    (page,) = tmp_path.glob("*/*/*/report.html")
    assert code == 0 and "bahdanau" in page.parts and page.parent.name.endswith("_s1")
    size = page.stat().st_size
    assert out == f"report: {page} ({size / 1000:,.0f} kB)\n"
    assert f"<h1>sunspots/bahdanau/{page.parent.name}</h1>" in page.read_text(encoding="utf-8")


def test_the_page_of_a_sweep_is_in_its_folder_and_groups_by_its_keys(printed, tmp_path):
    code, out, err = printed("both")
    assert code == 0, err
    text = (tmp_path / "sweeps" / "both" / "report.html").read_text(encoding="utf-8")
    assert "<h1>sunspots by attention</h1>" in text and "4 runs" in text
    assert "model.units" in text  # which make groups of their own


def test_a_sweep_over_horizons_has_a_table_for_each(printed, tmp_path):
    for attention, values in (("none", NONE), ("bahdanau", BETTER)):
        for horizon in (1, 24):
            config = {"task.horizon": horizon, "tracking.enabled": False}
            entries = {"config": config, "status": {"sweep": "horizons"}}
            write_run(tmp_path, attention, 0, horizon * values[0], **entries)
    folder = tmp_path / "sweeps" / "horizons"
    folder.mkdir()
    varying = {"task.horizon": ["1", "24"], "attention": ["none", "bahdanau"]}
    (folder / "sweep.json").write_text(json.dumps({"varying": varying}))
    code, _, err = printed("horizons")
    assert code == 0, err
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "sunspots (horizon=1)" in text and "sunspots (horizon=24)" in text
    assert "24 / bahdanau" not in text


def test_several_runs_have_one_page(printed, tmp_path):
    names = [path.parent for path in sorted(tmp_path.glob("*/*/*/status.json"))]
    assert printed(*names)[0] == 2
    assert printed(*names, "--out", tmp_path / "page.html")[0] == 0
    assert "4 runs" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_equal_runs_give_equal_pages_except_the_date(printed, tmp_path):
    texts, words = [], ("--by", "model.units", "--metric", "mae")
    for name in ("a.html", "b.html"):
        assert printed("both", *words, "--out", tmp_path / "new" / name)[0] == 0
        text = (tmp_path / "new" / name).read_text(encoding="utf-8")
        texts.append(re.sub(r"<time>[^<]*</time>", "", text))
    assert texts[0] == texts[1]
    assert "<h1>sunspots by model.units</h1>" in text and "mean of test MAE" in text


def test_a_wrong_request_is_one_sentence(printed):
    for words, said in (
        (["bth"], "Did you mean both?"),
        (["."], "with a status.json"),
        (["latest", "--out", "page.pdf"], "--out=page.pdf: must end with .html."),
        (["latest", "--out", "/dev/null/page.html"], "--out: /dev/null/page.html can't be written"),
        (["latest", "--by", ","], "--by: expected config keys"),
        (["latest", "--by", "atention"], "Did you mean attention?"),
        (["latest", "--metric", "rmes"], "--metric: expected one of"),
    ):
        code, out, err = printed(*words)
        assert code == 2 and said in err and out == ""
