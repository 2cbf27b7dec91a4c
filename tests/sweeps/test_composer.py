"""Quickly composed configurations equal those of Hydra."""

from __future__ import annotations

import pytest
from command_line import CONF
from omegaconf import open_dict

from attnlab.cli import train
from attnlab.config import composing as config
from attnlab.config.composing import from_hydra
from attnlab.errors import RequestError
from attnlab.sweeps.composer import Composer, configuration
from attnlab.sweeps.grid import Grid
from attnlab.sweeps.plan import SweepPlan


@pytest.fixture(scope="module")
def hydra():
    """Hydra's loader, and the configuration of a sweep itself."""
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.types import RunMode

    config.register_schema()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        return loader, loader.load_configuration("config", [], RunMode.MULTIRUN)


@pytest.fixture(scope="module")
def composer(hydra) -> Composer:
    return Composer(*hydra)


POINTS = [
    ["seed=0", "trainer.epochs=3"],
    ["seed=1", "trainer.epochs=3"],
    ["seed=1", "trainer.epochs=20", "sweep.dry_run=true"],
    ["task=translate", "model=transformer", "attention=multi_head", "attention.heads=2"],
    ["task=translate", "model=transformer", "attention=multi_head", "attention.heads=8"],
    ["task=translate", "model=transformer", "attention=multi_head", "model.heads=2"],
    ["task=classify", "model=pretrained", "model.path=one"],
    ["task=classify", "model=pretrained", "model.path=two", "seed=7"],
    ["paths.runs=here", "paths.data='${paths.runs}/data'"],
    ["paths.runs=there", "paths.data='${paths.runs}/data'"],
    ["optimizer.learning_rate=0.01"],
    ["optimizer.learning_rate=1e-3"],
    ["++tracking.enabled=false", "seed=3"],
    ["++tracking.enabled=true", "seed=3"],
    ["task=series", "task.path=' a, b.csv'", "task.inputs=[y,z]"],
]


def test_the_checked_configuration_is_the_one_hydra_composes(composer):
    for words in [*POINTS, *reversed(POINTS)]:
        found, expected = composer.check(words), from_hydra(composer.compose(words))
        assert found == expected and found.document == expected.document, words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["seed=-1"], "seed: expected a whole number .*got -1"),
        (["seed=one"], "seed: expected a whole number at least 0, got one"),
        (["seed=2", "trainer.epoch=3"], "trainer.epoch: there is no such key. Did you mean train"),
        (["seed=2", "trainer.epochs=???"], "Missing mandatory value"),
        (["seed=2", "trainer.epochs=${no.where}"], "Interpolation key 'no.where' not found"),
        (
            ["seed=2", "attention.name=none"],
            "attention.name=none: the name can't be changed without",
        ),
    ],
)
def test_a_wrong_value_is_named_and_affects_no_other_job(composer, words, message):
    for _ in range(2):
        with pytest.raises(RequestError, match=message.replace("?", r"\?")):
            composer.check(words)
        with pytest.raises(RequestError) as expected:
            from_hydra(composer.compose(words))
        assert message.split("?")[0].split(".*")[0] in str(expected.value)
    assert composer.check(["seed=2", "trainer.epochs=5"]).trainer.epochs == 5


def test_points_share_no_mutable_objects(composer):
    one, two = (composer.check([f"seed={n}", "task=series", "task.path=x"]) for n in (0, 1))
    one.document["task"]["path"] = "y"
    assert two.document["task"]["path"] == "x" and two.seed == 1


COMPOSED = [
    ["task=sunspots", "attention=luong_local", "attention.window=3", "seed=4"],
    ["task=translate", "attention=multi_head", "data=builtin", "data.pairs=200"],
    ["experiment=book_fib_attention", "trainer.epochs=1", "optimizer.learning_rate=0.5"],
    ["model=transformer", "attention=multi_head", "schedule=noam", "schedule.warmup_steps=7"],
    ["model/settings=forecasting_rnn", "++trainer.patience=3", "model.units=5", "seed=1"],
]


@pytest.mark.parametrize("overrides", COMPOSED, ids=" ".join)
def test_a_quick_composition_is_hydras(hydra, overrides):
    loader, master = hydra
    composer = Composer(loader, master)
    composer.check([*overrides[:-1]])  # cached parts must not change the next one
    whole = loader.load_sweep_config(master, list(overrides))
    with open_dict(whole):
        del whole["hydra"]
    assert composer.compose(overrides) == whole
    assert composer.check(overrides).document == config.from_hydra(whole).document


def test_a_choice_of_groups_is_composed_once(hydra, monkeypatch):
    loader, master = hydra
    composed = []
    load = type(loader).load_configuration

    def counting(self, name, overrides, mode):
        composed.append(overrides)
        return load(self, name, overrides, mode)

    monkeypatch.setattr(type(loader), "load_configuration", counting)
    composer = Composer(loader, master)
    words = ["attention=none,pooling", "seed=range(5)", "trainer.epochs=1,2"]
    digests = {composer.check(point).digest for point in Grid.parse(words, loader).points()}
    assert (len(digests), len(composed)) == (20, 2)


def test_a_named_sweep_is_resolved_once(hydra, monkeypatch, tmp_path):
    loader, master = hydra
    words = [f"paths.runs={tmp_path}", "sweep.name=seeds", "seed=range(5)", "trainer.epochs=1,2"]
    plan, resolved = SweepPlan.read(words, loader, master), []
    monkeypatch.setattr(config, "resolved", counted(config.resolved, resolved))
    points, repeated = plan.points()
    assert (len(points), repeated, len(resolved)) == (10, 0, 1)
    assert not any(word.startswith("sweep.") for point in points for word in point.overrides)


def counted(function, calls):
    """Return a function that adds its arguments to `calls` first."""

    def counting(*arguments):
        calls.append(arguments)
        return function(*arguments)

    return counting


def test_a_key_may_exist_in_some_jobs_only(hydra):
    composer = Composer(*hydra)
    checked = composer.check(["experiment=multi30k_tiny", "data.limit=500"])
    assert checked.document["data"]["limit"] == 500
    with pytest.raises(RequestError, match=r"data\.limit: there is no such key"):
        composer.check(["experiment=book_fib", "data.limit=500"])


def by_hydra(*words):
    found = []
    train(list(words), lambda cfg: found.append(from_hydra(cfg)) or 0)
    return found[0]


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("task=fib", "attention=bahdanau", "seed=4", "trainer.patience=null"),
        ("task=sunspots", "model=transformer", "attention=multi_head", "model.units=64"),
        ("task=translate", "data=files", "data.path=x.tsv", "optimizer=sgd"),
    ],
)
def test_a_quick_composition_equals_hydras(words):
    expected = by_hydra(*words)
    for _ in range(2):
        found = configuration(words)
        assert (found.document, found.digest) == (expected.document, expected.digest)


@pytest.mark.parametrize(
    "word",
    [
        *("-q", "+seed=1", "~data", "hydra.verbose=true", "experiment=book_fib", "search=fast"),
        *("sweep.name=x", "attention._target_=os.system", "attention=no", "model.units=-1", "seed"),
    ],
)
def test_special_and_wrong_words_are_composed_by_hydra(word):
    assert configuration(["task=fib", word]) is None


def test_a_changed_file_is_read_again(tmp_path, monkeypatch):
    (tmp_path / "optimizer").mkdir()
    file = tmp_path / "optimizer" / "mine.yaml"
    monkeypatch.setenv("ATTNLAB_CONFIG_DIR", str(tmp_path))
    shipped = by_hydra("optimizer=sgd")
    assert configuration(["optimizer=mine"]) is None
    with pytest.raises(RequestError):
        by_hydra("optimizer=mine")
    for rate in (0.25, 0.5):
        file.write_text(f"defaults: [sgd]\nlearning_rate: {rate}\n")
        found = configuration(["optimizer=mine"])
        assert found.optimizer.settings == {**shipped.optimizer.settings, "learning_rate": rate}
