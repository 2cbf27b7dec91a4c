"""The grid that overrides span."""

from __future__ import annotations

import re

import pytest
from command_line import CONF

from attnlab.config import composing as config
from attnlab.sweeps.grid import Grid, shown, varied


@pytest.fixture
def hydra():
    """Hydra's loader, and the configuration of a sweep itself."""
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.types import RunMode

    config.register_schema()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        yield loader, loader.load_configuration("config", [], RunMode.MULTIRUN)


@pytest.fixture
def grid(hydra):
    return lambda *words: Grid.parse(words, hydra[0])


@pytest.mark.parametrize(
    ("word", "values"),
    [
        ("seed=3", ("3",)),
        ("seed=0,1,2", ("0", "1", "2")),
        ("seed=range(3)", ("0", "1", "2")),
        ("seed=range(1,8,3)", ("1", "4", "7")),
        ("model.dropout=range(0.0,0.5,0.25)", ("0.0", "0.25")),
        ("attention=choice(none,bahdanau)", ("none", "bahdanau")),
        ("attention=glob(luong*)", ("luong_global", "luong_local")),
        ("attention=glob(*,exclude=[luong*,b*,d*,f*,g*,l*,m*,s*])", ("none", "pooling")),
        ("task.path='a b.csv','c=d,e.csv'", ("a b.csv", "c=d,e.csv")),
        ("+task.note=x,y", ("x", "y")),
    ],
)
def test_values_as_hydra_reads_them(grid, word, values):
    (axis,) = grid(word).axes
    assert axis.values == values
    assert axis.swept == (len(values) > 1)
    assert axis.name == word.lstrip("+").partition("=")[0]


def test_the_last_key_varies_fastest(grid):
    points = grid("attention=none,pooling", "trainer.epochs=2", "seed=0,1").points()
    assert points == [
        ("attention=none", "trainer.epochs=2", "seed=0"),
        ("attention=none", "trainer.epochs=2", "seed=1"),
        ("attention=pooling", "trainer.epochs=2", "seed=0"),
        ("attention=pooling", "trainer.epochs=2", "seed=1"),
    ]


def test_the_last_of_repeated_keys_counts(grid):
    assert grid("seed=0,1", "trainer.epochs=2", "seed=5").points() == [
        ("seed=5", "trainer.epochs=2")
    ]


def test_the_default_name_ends_in_a_hash_of_the_jobs(grid):
    def name(*words):
        return grid(*words).default_name("fib")

    first = name("task=fib", "attention=none,pooling", "optimizer.learning_rate=1,2")
    assert first.startswith("fib-attention-learning_rate-")
    same = ("optimizer.learning_rate=2,1", "paths.runs=x", "tracking.enabled=false", "task=fib")
    again = name(*same, "attention=choice(pooling,none)", "sweep.dry_run=true")
    assert again[-8:] == first[-8:]
    assert name("task=fib", "attention=none,pooling")[-8:] != first[-8:]


@pytest.mark.parametrize(
    ("words", "start"),
    [
        (["seed=0,1"], "fib-seed-"),  # the task of all points, which is the default one
        (["attention=none,pooling", "seed=0,1"], "fib-attention-"),
        (["task=fib,sunspots", "seed=0,1"], "fib-sunspots-seed-"),
        (["seed=0,1", "task=fib,sunspots,fib_random"], "3_tasks-seed-"),
        (["experiment=book_fib,book_sunspots"], "experiment-"),
        (["search=learning_rate"], "fib-learning_rate-"),
    ],
)
def test_the_name_contains_the_task(grid, words, start):
    assert re.fullmatch(f"{start}[0-9a-f]{{8}}", grid(*words).default_name("fib"))


def test_values_are_shown_without_quotes():
    assert [shown(word) for word in ("a='b c'", 'a="b"', "a=b=c", "a=", "~a")] == [
        "b c",
        "b",
        "b=c",
        "",
        "",
    ]
    assert varied(["model.units=3", "++x='y'"]) == {"model.units": "3", "x": "y"}
