"""Hydra's private interfaces that this project uses work in this version."""

from hydra._internal.hydra import Hydra

from attnlab.cli import train


def test_a_configuration_is_composed_once(monkeypatch):
    composed, compose = [], Hydra.compose_config

    def counted(*given, **options):
        composed.append(options)
        return compose(*given, **options)

    monkeypatch.setattr(Hydra, "compose_config", counted)
    before, seen = Hydra.get_mode, []
    assert train(["task=fib", "seed=3"], lambda cfg: seen.append(cfg.seed) or 0) == 0
    assert (len(composed), seen) == (1, [3])
    assert Hydra.get_mode is before
