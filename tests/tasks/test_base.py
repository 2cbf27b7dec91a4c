"""A class that lacks a method fails when it is created, not at the end of training."""

from __future__ import annotations

import pytest

from attnlab.tasks.base import Learner, Task

CASES = [(base, name) for base in (Task, Learner) for name in sorted(base.__abstractmethods__)]


@pytest.mark.parametrize(
    ("base", "name"), CASES, ids=lambda value: getattr(value, "__name__", value)
)
def test_a_missing_method_is_named(base, name):
    methods = {other: lambda self: None for other in base.__abstractmethods__ if other != name}
    with pytest.raises(TypeError, match=name):
        type("Incomplete", (base,), methods)()
