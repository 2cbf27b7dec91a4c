"""What `--where` means, for all commands that have it."""

from __future__ import annotations

import pytest

from attnlab.compare.conditions import check_keys, fits, read_conditions, read_settings
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory


@pytest.fixture
def settings(tmp_path):
    config = {
        "attention": {"name": "luong_local", "window": None},
        "trainer": {"learning_rate": 1e-3, "jit": True},
        "data": {"languages": ["de", "en"], "name": "New York"},
        "tracking": {"enabled": False},
        "seed": 3,
    }
    return read_settings(RunDirectory.create(tmp_path, "fib", "luong_local", 3, config))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["attention=luong_local"], True),
        (["attention.name=luong_global, luong_local"], True),
        (["attention=luong"], False),
        (["attention.window=Null"], True),
        (["trainer.jit=True", "seed=3.0"], True),
        (["trainer.jit=1"], False),
        (["trainer.learning_rate=0.001"], True),
        (["trainer.learning_rate=1e-3", "seed=0,1,2"], False),
        (["data.languages=[de,en]"], True),
        (["data=New York"], True),
        (["tracking.enabled=false"], True),
        (["trainer.epochs=null"], False),
    ],
    ids=str,
)
def test_settings_that_are_meant(settings, words, expected):
    assert fits(settings, read_conditions(words)) == expected


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["seed"], "expected KEY=VALUE such as model.cell=gru, got 'seed'"),
        (["seed= "], "expected KEY=VALUE .* got 'seed= '"),
        (["seed=0", "seed=1"], "expected each key once, .* seed=0,1"),
    ],
    ids=str,
)
def test_what_is_no_condition_is_refused(words, text):
    with pytest.raises(RequestError, match=f"--where: {text}"):
        read_conditions(words)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("trainer", "expected a single setting such as trainer.learning_rate, got trainer"),
        ("atention", "a config key that a run has, got 'atention'. Did you mean attention?"),
        ("x", "got 'x'. The keys stand in a run's config.yaml."),
    ],
)
def test_a_key_that_no_run_has_is_refused(settings, key, text):
    check_keys("--by", ["attention", "attention.name", "seed"], [settings])
    with pytest.raises(RequestError) as caught:
        check_keys("--by", [key], [{}, settings])
    assert text in str(caught.value)
