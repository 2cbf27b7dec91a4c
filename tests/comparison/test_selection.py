"""Filters of runs, for all commands that have them, and the message if no run matches."""

from __future__ import annotations

import pytest

from attnlab.comparison.selection import Filters, check_keys, none_fits, read_settings
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory, list_runs


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config = {
        "attention": {"name": "luong_local", "window": None},
        "trainer": {"learning_rate": 1e-3, "jit": True},
        "data": {"languages": ["de", "en"], "name": "New York"},
        "tracking": {"enabled": False},
        "seed": 3,
    }
    runs = tmp_path_factory.mktemp("runs")
    return RunDirectory.create(runs, "fib", "luong_local", 3, config, sweep="grid")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["attention=luong_local"], True),
        (["attention=luong"], False),
        (["attention.window=Null"], True),
        (["trainer.jit=True", "seed=3.0"], True),
        (["trainer.jit=1"], False),
        (["trainer.learning_rate=1e-3", "seed=0,1,2"], False),
        (["data.languages=[de,en]"], True),
        (["data=New York"], True),
        (["trainer.epochs=null"], False),
    ],
    ids=str,
)
def test_conditions_select_settings(run, words, expected):
    entries = list_runs(run.path.parents[2])
    try:
        found = Filters(where=tuple(words)).apply(entries)
    except RequestError as error:
        found = []
        assert "no run has the config key" in str(error)
    assert bool(found) == expected


def test_an_invalid_condition_is_refused():
    with pytest.raises(RequestError, match="--where: expected KEY=VALUE .* got 'seed'"):
        Filters(where=("seed",)).apply([])


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("trainer", "no run has the config key 'trainer'. Did you mean trainer.learning_rate?"),
        ("atention", "no run has the config key 'atention'. Did you mean attention?"),
        ("x", "no run has the config key 'x'."),
    ],
)
def test_a_key_that_no_run_has_is_refused(run, key, text):
    settings = read_settings(run)
    check_keys("--by", ["attention", "attention.name", "seed"], [settings])
    with pytest.raises(RequestError) as caught:
        check_keys("--by", [key], [{}, settings])
    assert text in str(caught.value)


def test_the_message_without_matches_names_what_there_is(run):
    entries = list_runs(run.path.parents[2])
    assert Filters(tasks=("fbi",)).apply(entries) == []
    assert none_fits(entries) == (
        "None of the 1 runs satisfies all filters. They have tasks: fib; mechanisms: luong_local; "
        "sweeps: grid."
    )
