"""A class that lacks a method fails when it is first used, before training."""

from __future__ import annotations

from dataclasses import MISSING, fields

import pytest

from attnlab.tasks.base import Learner, Report, Task, TaskData
from attnlab.tasks.predictor import Predictor, Setting

INTERFACES = (Task, Learner, Predictor)
METHODS = [(base, name) for base in INTERFACES for name in sorted(base.__abstractmethods__)]


@pytest.mark.parametrize(("base", "missing"), METHODS)
def test_a_subclass_that_lacks_a_method_is_not_created(base, missing):
    methods = {name: lambda self: None for name in base.__abstractmethods__ if name != missing}
    with pytest.raises(TypeError, match=rf"abstract.*\b{missing}\b"):
        type("Incomplete", (base,), methods)()


@pytest.mark.parametrize("result", [TaskData, Report])
def test_data_and_reports_need_all_their_fields(result):
    required = [
        item.name for item in fields(result) if item.default is item.default_factory is MISSING
    ]
    with pytest.raises(TypeError, match=required[-1]):
        result(**dict.fromkeys(required[:-1]))


@pytest.mark.parametrize(
    ("option", "method"), [({"figure": Setting("figure", "")}, "draw"), ({"table": "help"}, "rows")]
)
def test_a_predictor_with_an_option_defines_what_it_does(option, method):
    with pytest.raises(TypeError, match=method):
        type("Incomplete", (Predictor,), option)
