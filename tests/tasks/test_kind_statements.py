"""The declarations of kinds agree with their tasks."""

from __future__ import annotations

import inspect
import re

import pytest

from attnlab.commands import command, verbs
from attnlab.config.options import option_class, options
from attnlab.config.settings import settings
from attnlab.tasks.declaration import load
from attnlab.tasks.kinds import kind_of, kinds


@pytest.mark.parametrize("task", options("task"))
def test_the_monitored_column_is_the_tasks_own(task):
    own = option_class("task", task)
    setting = inspect.signature(own).parameters.get("monitor")
    column = setting.default if setting else own.monitor[0]
    assert kind_of(task).scoring.monitored == column


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_named_metrics_exist(kind):
    assert kind.scoring.metric(kind.scoring.reported) in kind.scoring.metrics
    assert kind.scoring.metric(kind.scoring.monitored) in kind.scoring.metrics
    assert {metric.direction for metric in kind.scoring.metrics} <= {"min", "max"}
    tests = {metric.item_test for metric in kind.scoring.metrics} - {None}
    assert all(callable(load(path)) for path in tests)


@pytest.mark.parametrize("task", options("task"))
def test_arguments_of_evaluate_are_options_or_settings(task):
    evaluation = kind_of(task).scoring.evaluation
    assert {*evaluation.values()} <= {
        *inspect.signature(option_class("task", task).evaluate).parameters
    }
    known = {option for each in command("evaluate").params for option in each.opts}
    assert {*evaluation} <= known | {setting.key for setting in settings()}


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_the_settings_of_a_predictor_are_its_arguments(kind):
    predictor = load(kind.predictions.predictor)
    arguments = {*inspect.signature(predictor).parameters} - {"request"}
    given = {setting.name for setting in predictor.settings}
    assert given == arguments


@pytest.mark.parametrize("task", options("task"))
def test_the_suggested_next_steps_are_commands(task):
    tries = kind_of(task).predictions.next_steps
    text = tries.get(task, tries[""]).format(run="latest", other="luong_global")
    words = re.findall(r"attnlab (\S+)", text.replace(",", ""))
    for word in words:
        key, equals, value = word.partition("=")
        assert value in options(key) if equals else word in verbs()
    if task != "fib":  # after it, another task shows more than another mechanism
        assert words[-1] == "compare" and "attention=luong_global" in text
        assert len(f"next: {text}") <= 110
