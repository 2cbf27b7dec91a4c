"""`attnlab study` from the command line."""

from __future__ import annotations

import pytest
from sweep_examples import SMALL

from attnlab.studies.study import names

MINE = f"""
question: Is it so?
runs:
  - {" ".join(word for word in SMALL if not word.startswith("attention"))} attention=none,pooling
by: attention
reference: none
seeds: 3
published:
  - where: {{attention: none}}
    metric: mse
    value: 9.9e+9
    system: theirs
    source: a book
quick:
  seeds: 2
"""
UNTRACKED = "tracking.enabled=false"


@pytest.fixture
def mine(here, monkeypatch, no_figures):
    """A study of the user."""
    (here.folder / "conf/study").mkdir(parents=True)
    (here.folder / "conf/study/mine.yaml").write_text(MINE)
    monkeypatch.setenv("ATTNLAB_CONFIG_DIR", str(here.folder / "conf"))
    return here


def table(mine):
    return (mine.runs / "studies/mine/table.csv").read_text()


def replace_in_study(mine, text, other):
    path = mine.folder / "conf/study/mine.yaml"
    path.write_text(path.read_text().replace(text, other))


def test_a_study_trains_missing_runs_and_reports(mine):
    out = mine.run("study", "mine", "--quick", UNTRACKED).out
    assert "fib: " in out and "theirs (attention=none): too few seeds" in out
    folder = mine.runs / "studies/mine-quick"
    assert {path.name for path in folder.iterdir()} == {
        *("comparison.png", "report.html", "table.csv")
    }
    assert "quick form" in (folder / "report.html").read_text()
    before = {path: (path / "metrics.json").stat().st_mtime_ns for path in mine.run_folders()}
    assert len(before) == 4
    mine.run("study", "mine", UNTRACKED)
    assert len(mine.run_folders()) == 6  # the runs of two seeds were there
    assert all((path / "metrics.json").stat().st_mtime_ns == t for path, t in before.items())
    assert "9900000000.0" in table(mine) and "pooling" in table(mine)
    # Runs of an earlier version of the study, and of a third seed, don't count.
    replace_in_study(mine, "none,pooling", "none,bahdanau")
    mine.run("study", "mine", "--seeds", "2", UNTRACKED)
    assert len(mine.run_folders()) == 8
    assert "2 seeds" in (mine.runs / "studies/mine/report.html").read_text()
    assert "pooling" not in table(mine)


def test_a_study_with_failed_jobs_reports_the_rest(mine):
    words = ["study", "mine", "--quick", UNTRACKED]
    code, _, err = mine(*words, "optimizer.learning_rate=1e38")
    assert code == 1 and "4 of 4 jobs failed" in err, err
    grid = (mine.folder / "conf/study/mine.yaml").read_text().split("  - ")[1].split("\n")[0]
    pooling, none = (grid.replace("none,pooling", name) for name in ("pooling", "none"))
    broken = f"{none} optimizer.learning_rate=1e38"  # the reference
    replace_in_study(mine, grid, f"{pooling}\n  - {broken}")
    code, out, err = mine(*words)
    assert code == 1 and "2 of 2 jobs failed" in err, err
    assert (
        "report: " in out and "pooling" in (mine.runs / "studies/mine-quick/table.csv").read_text()
    )


@pytest.mark.slow
def test_a_published_number_without_runs_is_reported(mine):
    replace_in_study(mine, "{attention: none}", "{attention: bahdanau}")
    out = mine.run("study", "mine", "--seeds", "2", UNTRACKED).out
    assert "theirs (attention=bahdanau): no run" in out
    assert (mine.runs / "studies/mine/table.csv").is_file()
    code, out, _ = mine("study", "mine", "--seeds", "2", UNTRACKED, "trainer.epochs=1")
    assert code == 0 and "theirs (" not in out  # settings may leave groups out
    (part,) = (mine.runs / "studies").glob("mine-*/report.html")
    assert "1 of 1 published numbers have no runs here." in part.read_text()
    assert "published by" not in part.read_text()  # no table without rows
    assert "trainer.epochs=2" not in out
    assert len([*(mine.runs / "studies").glob("mine-*")]) == 1  # in addition to the unchanged study


def test_a_dry_run_of_a_study_in_any_folder_writes_nothing(mine):
    folder = mine.folder / "a, (ü)"
    words = ("study", "mine", "--runs", str(folder), UNTRACKED, "sweep.dry_run=true")
    out = mine.run(*words).out
    assert "6 jobs" in out and not (folder / "studies").exists()


def test_studies_are_listed(here):
    code, out, _ = here("study")
    assert code == 0
    first = [line.split()[0] for line in out.splitlines()[2:-1] if line[0] != " "]
    assert first == names()
