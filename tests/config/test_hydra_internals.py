"""Hydra's private interfaces that this project uses work in this version."""

import pytest
from hydra import initialize_config_dir
from hydra._internal.hydra import Hydra
from hydra.core.global_hydra import GlobalHydra

from attnlab.cli import train
from attnlab.config.hydra_internals import mode_by_words


@pytest.mark.parametrize(("words", "times"), [([], 1), (["hydra.mode=RUN"], 2)])
def test_a_configuration_is_composed_once(monkeypatch, words, times):
    composed, compose = [], Hydra.compose_config

    def counted(*given, **options):
        composed.append(options)
        return compose(*given, **options)

    monkeypatch.setattr(Hydra, "compose_config", counted)
    before, seen = Hydra.get_mode, []
    assert train(["task=fib", "seed=3", *words], lambda cfg: seen.append(cfg.seed) or 0) == 0
    assert (len(composed), seen) == (times, [3])
    assert Hydra.get_mode is before


def test_the_mode_is_read_as_in_hydra(tmp_path):
    (tmp_path / "empty.yaml").write_text("{}\n")
    with initialize_config_dir(str(tmp_path), version_base="1.3"), mode_by_words():
        hydra = GlobalHydra.instance().hydra
        assert hydra.get_mode("empty", []) is None
        assert hydra.get_mode("empty", ["hydra.mode=MULTIRUN"]).name == "MULTIRUN"
