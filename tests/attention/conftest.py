"""Every mechanism of conf/attention, in the variants its YAML names, for the contract tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from attnlab.attention import contract
from attnlab.config.options import option_class, option_content, options


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
        return {**contract.settings(self.content), **self.choices}

    @property
    def cls(self) -> type:
        return option_class("attention", self.option)

    def layer(self, **changes):
        return self.cls(**{**self.settings, **changes})


MECHANISMS = [Mechanism(name) for name in options("attention")]
VARIANTS = [
    Mechanism(mechanism.option, choices)
    for mechanism in MECHANISMS
    for choices in contract.variants(mechanism.content)
]


def pytest_generate_tests(metafunc):
    for name, cases in (("mechanism", MECHANISMS), ("variant", VARIANTS)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(
                name, [pytest.param(case, id=case.name, marks=slow(case)) for case in cases]
            )


# Default tests have these in one call: `test_multi_head_options` has a layer with all of them.
TOGETHER = {"sink", "query_key_norm", "talking_heads"}


def slow(case: Mechanism) -> list:
    """Mark the variants whose choices the default tests have with another mechanism.

    `bahdanau` has each normalizer by default, the others only softmax and sigmoid.
    """
    rare = case.choices.get("normalizer", "softmax") not in ("softmax", "sigmoid")
    rare = rare and case.option != "bahdanau"
    return [pytest.mark.slow] if rare or TOGETHER & case.choices.keys() else []
