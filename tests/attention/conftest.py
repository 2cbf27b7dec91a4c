"""Every mechanism of conf/attention, in every variant its YAML names, for the contract tests."""

from __future__ import annotations

import importlib
import itertools
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

FOLDER = Path(__file__).parents[2] / "conf" / "attention"
NOT_SETTINGS = ("name", "_target_", "rules")


@dataclass(frozen=True)
class Mechanism:
    """A YAML of conf/attention, with the choices of one variant filled in."""

    path: Path
    options: dict[str, Any]
    choices: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return "-".join([self.options["name"], *(f"{k}={v}" for k, v in self.choices.items())])

    @property
    def rules(self) -> dict[str, Any]:
        return self.options["rules"]

    @property
    def settings(self) -> dict[str, Any]:
        own = {key: value for key, value in self.options.items() if key not in NOT_SETTINGS}
        return {**own, **self.choices}

    @property
    def cls(self) -> type:
        module, _, name = self.options["_target_"].rpartition(".")
        return getattr(importlib.import_module(module), name)

    def layer(self, **changes):
        return self.cls(**{**self.settings, **changes})


def load(path: Path) -> Mechanism:
    return Mechanism(path, yaml.safe_load(path.read_text(encoding="utf-8")))


def variants(mechanism: Mechanism) -> list[Mechanism]:
    """All combinations of the settings that are a choice or a switch."""
    rules = {key: rule for key, rule in mechanism.rules.items() if key in mechanism.settings}
    values = {key: rule["choices"] for key, rule in rules.items() if "choices" in rule}
    values |= {key: [False, True] for key, rule in rules.items() if rule.get("type") == "bool"}
    combinations = itertools.product(*values.values())
    return [
        Mechanism(mechanism.path, mechanism.options, dict(zip(values, combination, strict=True)))
        for combination in combinations
    ]


MECHANISMS = [load(path) for path in sorted(FOLDER.glob("*.yaml"))]
VARIANTS = [variant for mechanism in MECHANISMS for variant in variants(mechanism)]


def pytest_generate_tests(metafunc):
    for name, cases in (("mechanism", MECHANISMS), ("variant", VARIANTS)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, cases, ids=[case.name for case in cases])


@pytest.fixture(autouse=True)
def seeded():
    import keras

    keras.utils.set_random_seed(7)
