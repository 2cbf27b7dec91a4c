"""The ETT task: the Informer's borders, its published check values, files and downloads."""

from __future__ import annotations

import gzip
from hashlib import sha256

import numpy as np
import pytest
import small_ett
from download_server import serving

from attnlab.errors import RequestError
from attnlab.runner.train import make_learner, make_task
from attnlab.tasks.forecasting import ett, measures
from attnlab.tasks.forecasting.ett import Ett, EttFiles

TRAIN, VALIDATION, TEST = (months * small_ett.MONTH for months in (12, 16, 20))


@pytest.fixture(autouse=True)
def short_months(request, monkeypatch):
    if "realdata" not in request.keywords:
        monkeypatch.setattr(ett, "_MONTH", small_ett.MONTH)


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A folder of all files, whose digests count as the published ones."""
    for seed, name in enumerate(ett.DIGESTS):
        folder = small_ett.write(tmp_path / "ett", name, seed)
        digest = sha256((folder / f"{name}.csv").read_bytes()).hexdigest()
        monkeypatch.setitem(ett.DIGESTS, name, digest)
    return folder


def loaded(path, **settings) -> Ett:
    task = Ett(path=str(path), **{"history": 24, "horizon": 5, **settings})
    task.load(0)
    return task


@pytest.mark.parametrize(("name", "steps"), [("ETTh2", 1), ("ETTm1", 4)])
def test_the_borders_are_months_of_the_train_validation_and_test_parts(tmp_path, name, steps):
    task = loaded(small_ett.write(tmp_path, name), series=name)
    ends = [border * steps for border in (TRAIN, VALIDATION, TEST)]
    for part, first, end in zip(("train", "validation", "test"), [24, *ends], ends, strict=False):
        index = task.splits.parts[part].index
        np.testing.assert_array_equal(index, np.arange(first, end - 5 + 1))
    assert task.origin().values.tolist() == task.members[0].values[-24:].tolist()
    assert len(task.members[0].values) == ends[-1]


def test_unpublished_content_is_noted(published):
    assert loaded(published).report(loaded(published).splits.parts["test"].target).notes == []
    small_ett.write(published, "ETTh1", seed=99)
    notes = loaded(published).report(loaded(published).splits.parts["test"].target).notes
    assert notes == [f"{published / 'ETTh1.csv'} is not the published ETTh1.csv (SHA-256)."]


def test_a_packed_file_is_the_same_and_may_be_named_itself(published):
    plain = loaded(published).splits
    content = (published / "ETTh1.csv").read_bytes()
    (published / "ETTh1.csv").unlink()
    (published / "ETTh1.csv.gz").write_bytes(gzip.compress(content))
    for path in (published, published / "ETTh1.csv.gz"):
        assert loaded(path).splits.digest == plain.digest
        assert ett.EttFiles().is_published(published / "ETTh1.csv.gz")


def test_files_that_are_missing_short_or_damaged_are_named(tmp_path):
    with pytest.raises(RequestError, match=r"task\.path: expected a folder with ETTh1\.csv or"):
        loaded(tmp_path)
    small_ett.write(tmp_path, rows=TEST - 1)
    with pytest.raises(
        RequestError, match=r"ETTh1\.csv: expected at least the 1,920 rows .* got 1,919"
    ):
        loaded(tmp_path)
    (tmp_path / "ETTh1.csv").write_bytes(gzip.compress(bytes(999))[:-9])
    with pytest.raises(RequestError, match=r"ETTh1\.csv can't be read: "):
        loaded(tmp_path)


def test_fetched_once_then_trained_on(published, tmp_path):
    files = {f"/{path.name}": path.read_bytes() for path in published.iterdir()}
    with serving(files) as server:
        for series in ("ETTh1", "ETTm2"):
            EttFiles(series=series, url=server.url).find(tmp_path / "cache")
        task = Ett(url=server.url, history=24, horizon=5)
        task.cache = tmp_path / "cache"
        assert task.load(0).digest == loaded(published).splits.digest
        assert len(server.requests) == 2


def test_a_download_that_is_not_the_published_file_is_refused(tmp_path):
    with serving({"/ETTh1.csv": b"date,OT\n2016-07-01 00:00:00,1\n"}) as server:
        task = Ett(url=server.url)
        task.cache = tmp_path / "cache"
        with pytest.raises(RequestError, match="expected the file with SHA-256"):
            task.load(0)


def test_a_run_starts_at_the_linear_map_of_its_baseline(compose, tmp_path):
    small_ett.write(tmp_path)
    words = ("task=ett", f"task.path={tmp_path}", "task.history=24", "task.horizon=5")
    config = compose(*words, "attention=bahdanau", "model.units=4", "tracking.enabled=false")
    task = make_task(config)
    task.load(0)
    learner = make_learner(config, task)
    report = learner.report()
    assert report.metrics["mse_z"] == pytest.approx(report.baselines["nlinear"]["mse_z"], rel=1e-3)
    assert report.baselines["nlinear"]["mse_z"] < report.baselines["persistence"]["mse_z"] * 0.95


# Of all test windows, computed by others: persistence and the day before, MSE and MAE of z-scores.
CHECKS = [
    ("ETTh1", 24, "persistence", 0.034, 0.139),
    ("ETTh1", 24, "seasonal_naive", 0.046, 0.166),
    ("ETTh1", 720, "persistence", 0.129, 0.283),
    ("ETTh1", 720, "seasonal_naive", 0.125, 0.280),
    ("ETTm1", 24, "persistence", 0.012, 0.077),
    ("ETTm1", 672, "persistence", 0.087, 0.228),
    ("ETTm1", 672, "seasonal_naive", 0.087, 0.231),
]


# Those of a quarter of an hour and a week take seconds.
LONG = pytest.param("ETTm1", 672, marks=pytest.mark.slow)
SHORT = sorted({check[:2] for check in CHECKS} - {("ETTm1", 672)})


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "horizon"), [*SHORT, LONG])
def test_baselines_have_their_known_scores(realdata, name, horizon, monkeypatch):
    monkeypatch.setattr(measures, "nlinear", lambda *arrays: np.zeros((len(arrays[2]), horizon)))
    task = Ett(path=str(realdata / "ett"), series=name, history=24, horizon=horizon)
    splits = task.load(0)
    assert len(splits.parts["test"]) == (11520 if "m" in name else 2880) - horizon + 1
    report = task.report(splits.parts["test"].target)
    assert not [note for note in report.notes if "published" in note]
    for _, _, baseline, mse, mae in (check for check in CHECKS if check[:2] == (name, horizon)):
        scores = report.baselines[baseline]
        assert (round(scores["mse_z"], 3), round(scores["mae_z"], 3)) == (mse, mae)


@pytest.mark.realdata
def test_nlinear_has_the_scores_of_its_paper(realdata):
    """Zeng et al. 2023, table of univariate results: ETTh1, input 336, horizon 96."""
    task = Ett(path=str(realdata / "ett"), history=336, horizon=96)
    report = task.report(task.load(0).parts["test"].target)
    assert round(report.baselines["nlinear"]["mse_z"], 3) == 0.053
    assert report.best_baseline == "nlinear"
