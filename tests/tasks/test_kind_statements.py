"""The declarations of kinds agree with their tasks."""

from __future__ import annotations

import inspect

import pytest

from attnlab.commands import command, verbs
from attnlab.config.options import option_class, options
from attnlab.config.settings import settings
from attnlab.tasks.kinds import kind_of, kinds, load


@pytest.mark.parametrize("task", options("task"))
def test_a_kind_agrees_with_its_tasks(task):
    task_class, scoring = option_class("task", task), kind_of(task).scoring
    setting = inspect.signature(task_class).parameters.get("monitor")
    assert scoring.monitored == (setting.default if setting else task_class.monitor[0])
    assert {*scoring.evaluation.values()} <= {*inspect.signature(task_class.evaluate).parameters}
    keys = {option for parameter in command("evaluate").params for option in parameter.opts}
    assert {*scoring.evaluation} <= keys | {setting.key for setting in settings()}


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_metrics_and_settings_that_a_kind_names_exist(kind):
    assert kind.predictions.command in verbs()
    assert kind.scoring.metric(kind.scoring.reported) in kind.scoring.metrics
    assert kind.scoring.metric(kind.scoring.monitored) in kind.scoring.metrics
    assert {metric.direction for metric in kind.scoring.metrics} <= {"min", "max"}
    tests = {metric.item_test for metric in kind.scoring.metrics} - {None}
    assert all(callable(load(path)) for path in tests)
    predictor = load(kind.predictions.predictor)
    arguments = {*inspect.signature(predictor).parameters} - {"request"}
    assert {setting.name for setting in predictor.settings} == arguments
