"""Configurations of a grid are checked quickly, and are those that Hydra composes."""

from __future__ import annotations

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from attnlab.config.composing import HYDRA_SETTINGS, from_hydra, register_schema
from attnlab.config.options import conf_folder
from attnlab.errors import RequestError
from attnlab.sweeps.composer import Composer


@pytest.fixture(scope="module")
def composer() -> Composer:
    register_schema()
    hydra = {"job": {"config_name": "config"}, "overrides": {"hydra": [*HYDRA_SETTINGS]}}
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
    return Composer(loader, OmegaConf.create({"hydra": hydra}))


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


def test_what_is_checked_is_what_hydra_composes(composer):
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
        (["seed=2", "attention.name=none"], "attention.name: expected no change of the name alone"),
    ],
)
def test_a_wrong_value_is_named_as_before_and_spoils_no_other(composer, words, message):
    for _ in range(2):
        with pytest.raises(RequestError, match=message.replace("?", r"\?")):
            composer.check(words)
        with pytest.raises(RequestError) as expected:
            from_hydra(composer.compose(words))
        assert message.split("?")[0].split(".*")[0] in str(expected.value)
    assert composer.check(["seed=2", "trainer.epochs=5"]).trainer.epochs == 5


def test_points_share_nothing_that_one_could_change(composer):
    one, two = (composer.check([f"seed={n}", "task=series", "task.path=x"]) for n in (0, 1))
    one.document["task"]["path"] = "y"
    assert two.document["task"]["path"] == "x" and two.seed == 1
