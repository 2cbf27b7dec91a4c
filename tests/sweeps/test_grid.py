"""The grid that overrides span, and its configurations."""

from __future__ import annotations

import re

import pytest

from attnlab.config.composing import compose, from_hydra
from attnlab.errors import RequestError
from attnlab.sweeps.grid import Composer, Plan


def test_values_as_hydra_reads_them():
    for word, values in {
        "seed=3": ("3",),
        "seed=range(1,8,3)": ("1", "4", "7"),
        "attention=glob(luong*)": ("luong_global", "luong_local"),
        "task.path='a b.csv','c=d,e.csv'": ("a b.csv", "c=d,e.csv"),
        "+task.note=x,y": ("x", "y"),
    }.items():
        (axis,) = Composer().axes([word])
        assert (axis.values, axis.swept) == (values, len(values) > 1)
        assert axis.name == word.lstrip("+").partition("=")[0]


def jobs(*words: str):
    return Plan.read(["tracking.enabled=false", *words]).jobs()


def test_the_last_key_varies_fastest_and_the_last_of_repeated_keys_counts():
    points = jobs("attention=none,pooling", "seed=7", "trainer.epochs=2", "seed=0,1")
    assert [dict(job.varying) for job in points] == [
        {"attention": name, "seed": seed} for name in ("none", "pooling") for seed in "01"
    ]
    assert [job.number for job in points] == [1, 2, 3, 4]


def test_equal_jobs_are_left_out():
    assert [job.config.seed for job in jobs("seed=0,0,1", "paths.data=x")] == [0, 1]


def test_the_default_name_ends_in_a_hash_of_the_jobs():
    def name(*words: str) -> str:
        return Plan.read(words).folder.name

    first = name("task=fib", "attention=none,pooling", "optimizer.learning_rate=1,2")
    # The hash of earlier versions, so that the same command finds its sweep.
    assert first == "fib-attention-learning_rate-1f3afaa4"
    same = ("optimizer.learning_rate=2,1", "paths.runs=x", "tracking.enabled=false", "task=fib")
    again = name(*same, "attention=choice(pooling,none)", "sweep.dry_run=true")
    assert again[-8:] == first[-8:]
    assert name("task=fib", "attention=none,pooling")[-8:] != first[-8:]


@pytest.fixture(scope="module")
def composer() -> Composer:
    return Composer()


POINTS = [
    ["seed=0", "trainer.epochs=3"],
    ["seed=1", "trainer.epochs=3"],
    ["seed=1", "trainer.epochs=20", "sweep.dry_run=true"],
    ["task=translate", "model=transformer", "attention=multi_head", "attention.heads=2"],
    ["task=translate", "model=transformer", "attention=multi_head", "attention.heads=8"],
    ["task=translate", "model=transformer", "attention=multi_head", "model.heads=2"],
    ["task=sunspots", "attention=luong_local", "attention.window=3", "seed=4"],
    ["task=classify", "model=pretrained", "model.path=one"],
    ["task=classify", "model=pretrained", "model.path=two", "seed=7"],
    ["paths.runs=here", "paths.data='${paths.runs}/data'"],
    ["paths.runs=there", "paths.data='${paths.runs}/data'"],
    ["experiment=book_fib_attention", "trainer.epochs=1", "optimizer.learning_rate=1e-3"],
    ["experiment=multi30k_tiny", "data.limit=500"],
    ["++tracking.enabled=false", "seed=3"],
    ["task=series", "task.path=' a, b.csv'", "task.inputs=[y,z]"],
]


def test_the_checked_configuration_is_the_one_that_hydra_composes(composer):
    for words in [*POINTS, *reversed(POINTS)]:
        config, expected = composer.check(words), from_hydra(compose(words))
        assert config == expected and config.document == expected.document, words


def test_a_wrong_value_is_named_and_affects_no_other_job(composer):
    for words, message in (
        (["seed=-1"], "seed: expected a whole number at least 0"),
        (["seed=2", "trainer.epoch=3"], "trainer.epoch: there is no such key. Did you mean train"),
        (["seed=2", "trainer.epochs=???"], "Missing mandatory value"),
        (["seed=2", "trainer.epochs=${no.where}"], "Interpolation key 'no.where' not found"),
        (["seed=2", "attention.name=none"], "attention.name=none: the name can't be changed with"),
        (["experiment=book_fib", "data.limit=5"], "data.limit: there is no such key"),
    ):
        with pytest.raises(RequestError, match=re.escape(message)):
            composer.check(words)
        assert composer.check(["seed=2", "trainer.epochs=5"]).trainer.epochs == 5


def test_points_share_no_mutable_objects(composer):
    one, two = (composer.check([f"seed={n}", "task=series", "task.path=x"]) for n in (0, 1))
    one.document["task"]["path"] = "y"
    assert two.document["task"]["path"] == "x" and two.seed == 1
