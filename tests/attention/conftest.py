"""Every mechanism of conf/attention, in the variants its YAML names, for the contract tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from attnlab.config.options import option_class, option_content, options

NOT_SETTINGS = ("name", "_target_", "rules")


@dataclass(frozen=True)
class Mechanism:
    """An option of conf/attention, with the choices of one variant filled in."""

    option: str
    choices: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return "-".join([self.option, *(f"{k}={v}" for k, v in self.choices.items())])

    @property
    def content(self) -> dict[str, Any]:
        return option_content("attention", self.option)

    @property
    def settings(self) -> dict[str, Any]:
        own = {key: value for key, value in self.content.items() if key not in NOT_SETTINGS}
        return {**own, **self.choices}

    @property
    def cls(self) -> type:
        return option_class("attention", self.option)

    def layer(self, **changes):
        return self.cls(**{**self.settings, **changes})


def variants(mechanism: Mechanism) -> list[Mechanism]:
    """Each choice and each switch at each of its values once; they work independently."""
    own = mechanism.settings
    rules = {key: rule for key, rule in mechanism.content["rules"].items() if key in own}
    values = {key: rule["choices"] for key, rule in rules.items() if "choices" in rule}
    values |= {key: [False, True] for key, rule in rules.items() if rule.get("type") == "bool"}
    most = max(map(len, values.values()), default=1)
    return [
        Mechanism(mechanism.option, {key: each[at % len(each)] for key, each in values.items()})
        for at in range(most)
    ]


MECHANISMS = [Mechanism(name) for name in options("attention")]
VARIANTS = [variant for mechanism in MECHANISMS for variant in variants(mechanism)]


def pytest_generate_tests(metafunc):
    for name, cases in (("mechanism", MECHANISMS), ("variant", VARIANTS)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, cases, ids=[case.name for case in cases])


@pytest.fixture(autouse=True)
def seeded():
    import keras

    keras.utils.set_random_seed(7)
