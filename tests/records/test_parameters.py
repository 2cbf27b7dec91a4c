"""A configuration as flat text, and as parameters of MLflow."""

from __future__ import annotations

from attnlab.records.files import flatten
from attnlab.records.mlflow.snapshot import parameters


def test_leaves_under_dotted_keys_in_yaml_spelling():
    config = {
        "seed": 0,
        "task": {"name": "fib", "period": None, "split": {"test": 0.3}},
        "trainer": {"jit": True, "patience": []},
    }
    assert flatten(config) == {
        "seed": "0",
        "task.name": "fib",
        "task.period": "null",
        "task.split.test": "0.3",
        "trainer.jit": "true",
        "trainer.patience": "[]",
    }


def test_keys_that_are_not_settings_are_left_out():
    config = {
        "task": {"_target_": "a.b", "rules": {"test": {"min": 0}}, "paths": "kept"},
        "paths": {"runs": "x"},
        "hydra": {"a": 1},
        "tracking": {"uri": "http://user:secret@host"},
    }
    assert parameters(config) == {"task.paths": "kept"}


def test_only_mlflow_gets_shortened_keys_and_values():
    document = {"k" * 300: "v" * 7000}
    assert flatten(document) == document
    assert parameters(document) == {"k" * 250: "v" * 6000}
