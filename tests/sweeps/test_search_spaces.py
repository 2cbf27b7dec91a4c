"""Search spaces: accepted settings, suggested values, and messages."""

from __future__ import annotations

import pytest
import yaml
from command_line import CONF
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser

from attnlab.config import composing as config
from attnlab.errors import RequestError
from attnlab.sweeps.search.settings import METRICS, SearchSettings, is_wanted
from attnlab.sweeps.search.spaces import Categorical, Range, Space

PRESETS = sorted((CONF / "search").glob("*.yaml"))


def test_a_space_is_read_from_dotted_keys_and_from_nested_ones():
    rate, units = {"interval": [1e-4, 0.1], "log": True}, {"int": [4, 64], "step": 4}
    dotted = Space.parse({"optimizer.learning_rate": rate, "model.units": units})
    nested = Space.parse({"optimizer": {"learning_rate": rate}, "model": {"units": units}})
    assert dotted == nested
    assert dotted.dimensions == (
        Range("optimizer.learning_rate", 1e-4, 0.1, log=True),
        Range("model.units", 4, 64, whole=True, step=4),
    )


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (None, "search.space: expected a range for at least one key, got none"),
        ({}, "search.space: expected a range for at least one key, got none"),
        ([1], "search.space: expected keys with their ranges, got [1]."),
        ({"model.units": 3}, "search.space.model.units: expected {interval: [LOW, HIGH]}"),
        ({"model.units": None}, "search.space.model.units: expected {interval: [LOW, HIGH]}"),
        ({"model.units": {"int": [8, 4]}}, "model.units.int: expected LOW below HIGH, got [8, 4]."),
        ({"model.units": {"int": [4, 4]}}, "model.units.int: expected LOW below HIGH"),
        ({"model.units": {"int": [4, 8.5]}}, "expected [LOW, HIGH], two whole numbers, got [4, 8"),
        ({"model.units": {"int": [4]}}, "expected [LOW, HIGH], two whole numbers, got [4]."),
        ({"model.units": {"int": 4}}, "expected [LOW, HIGH], two whole numbers, got 4."),
        ({"a.b": {"interval": ["x", 1]}}, "a.b.interval: expected [LOW, HIGH], two numbers"),
        ({"a.b": {"interval": [0, float("inf")]}}, "a.b.interval: expected [LOW, HIGH], two num"),
        ({"a.b": {"interval": [0, 1], "log": True}}, "expected numbers above 0 with log"),
        ({"a.b": {"interval": [0, 1], "log": 3}}, "a.b.log: expected true or false, got 3."),
        ({"a.b": {"interval": [1, 2], "log": True, "step": 1}}, "a.b.step: expected no step with"),
        ({"a.b": {"interval": [0, 1], "step": 2}}, "a number above 0 and at most 1, got 2."),
        ({"a.b": {"int": [0, 9], "step": 0.5}}, "a whole number above 0 and at most 9, got 0.5."),
        ({"a.b": {"int": [0, 9], "points": 3, "step": 3}}, "one of step and points, got both."),
        ({"a.b": {"int": [0, 9], "points": 1}}, "expected a whole number at least 2, got 1."),
        ({"a.b": {"intervall": [0, 1]}}, "a.b.intervall: there is no such key. Did you mean int"),
        ({"a.b": {"log": True}}, "expected one of interval, int and choice, got none of them."),
        ({"a.b": {"int": [1, 2], "choice": [1, 2]}}, "int and choice, got int and choice."),
        ({"a.b": {"choice": [1, 2], "log": True}}, "a.b.log: a choice has no such key."),
        ({"a.b": {"choice": ["gru"]}}, "expected a list of two values or more, got ['gru']."),
        ({"a.b": {"choice": "gru"}}, "expected a list of two values or more, got gru."),
        ({"a.b": {"choice": [[1], 2]}}, "a.b.choice: expected single values, got [1]."),
        ({"a.b": {"choice": [1, 2, 1]}}, "a.b.choice: expected different values, got 1 twice."),
        ({"a.b": {"choice": [1, True]}}, "expected different values, got True twice."),
        ({"a b": {"choice": [1, 2]}}, "search.space: expected a key such as model.units, got a b."),
        ({"seed": {"int": [0, 9]}}, "seed can't be searched: a search over seeds finds luck"),
        ({"task": {"choice": ["fib", "sunspots"]}}, "task can't be searched: its choices lead to"),
        ({"paths.runs": {"choice": ["a", "b"]}}, "paths.runs can't be searched: it doesn't decide"),
        ({"tracking.enabled": {"choice": [True, False]}}, "tracking.enabled can't be searched"),
    ],
)
def test_a_wrong_space_gets_one_sentence(space, message):
    with pytest.raises(RequestError) as caught:
        Space.parse(space)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("override", ["model.units=8", "+model.units=8", "++model.units=8"])
def test_keys_set_by_the_command_are_not_searched(override):
    with pytest.raises(RequestError, match="model.units is searched, and the command fixes it wi"):
        Space.parse({"model.units": {"int": [4, 8]}}, ["task=fib", override])
    Space.parse({"model.units": {"int": [4, 8]}}, ["model=rnn", "model.units_of_another=8"])


def test_values_become_overrides_that_hydra_reads_back():
    texts = ("gru", "a b", "it's", "true", "null", "inf", "1", "a\\b", "a\\'b", "a\\")
    choices = (*texts, None, True, 3, 0.25, 1e-07)
    choice = Categorical("a.b", choices)
    words = [f"a.b={choice.word(value)}" for value in choices]
    parsed = OverridesParser.create().parse_overrides(words)
    read = [override.value() for override in parsed]
    assert [str(value) for value in read] == [str(value) for value in choices]
    assert read[len(texts) :] == list(choices[len(texts) :])


def test_numbers_have_few_digits_and_stay_inside():
    rate = Range("optimizer.learning_rate", 1.2342e-4, 0.1, log=True)
    assert rate.word(0.0123456) == "0.01235"
    assert rate.word(1.2342e-4) == "0.00012342"
    assert Range("model.dropout", 0.0, 0.5).word(0.123456) == "0.1235"
    assert Range("a.b", 0.0, 0.3, step=0.1).word(0.1 + 0.2) == "0.3"
    assert Range("model.units", 4, 64, whole=True).word(16) == "16"


def test_a_grid_goes_through_steps_or_points():
    assert Range("a", 0.0, 0.3, step=0.1).grid() == [0.0, 0.1, 0.2, 0.3]
    assert Range("a", 1e-4, 1e-1, log=True, points=4).grid() == [1e-4, 1e-3, 1e-2, 1e-1]
    assert Range("a", 2, 5, whole=True).grid() == [2, 3, 4, 5]
    assert Range("a", 4, 64, whole=True, log=True, points=3).grid() == [4, 16, 64]
    with pytest.raises(RequestError, match="expected step or points in addition to interval"):
        Range("a", 0.0, 1.0).grid()
    with pytest.raises(RequestError, match="at most 10,000 points with .*, got 1,000,000"):
        Space.parse({key: {"int": [1, 1000]} for key in ("a.b", "a.c")}).grid()
    with pytest.raises(RequestError, match="at most 10,000 points with .*, got 1,000,000,000"):
        Space.parse({"a.b": {"int": [1, 10**9]}}).grid()


def test_a_range_ends_at_its_last_step():
    (dimension,) = Space.parse({"a.b": {"interval": [0.0, 0.35], "step": 0.1}}).dimensions
    assert dimension.high == 0.3


def test_probes_touch_every_end_and_every_combination_of_groups():
    space = Space.parse(
        {
            "attention": {"choice": ["bahdanau", "none"]},
            "optimizer": {"choice": ["adam", "sgd"]},
            "model.units": {"int": [4, 64]},
        }
    )
    assert space.probes() == [
        ["attention=bahdanau", "optimizer=adam", "model.units=4"],
        ["attention=bahdanau", "optimizer=sgd", "model.units=4"],
        ["attention=none", "optimizer=adam", "model.units=4"],
        ["attention=none", "optimizer=sgd", "model.units=4"],
        ["attention=bahdanau", "optimizer=adam", "model.units=64"],
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trials": "x"}, "search.trials: expected a whole number at least 1, or null, got x."),
        ({"trials": 0}, "search.trials: expected a whole number at least 1"),
        ({"trails": 3}, "search.trails: there is no such key. Did you mean search.trials?"),
        ({"sampler": "tpee"}, "got tpee. Did you mean tpe?"),
        ({"pruner": "mean"}, "search.pruner: expected one of none, median, asha, hyperband"),
        ({"seed": -1}, "search.seed: expected a whole number at least 0"),
        ({"metrics": []}, "search.metrics: expected one of best_value"),
        ({"metrics": "best_valu"}, "got best_valu. Did you mean best_value?"),
        ({"metrics": "test.mse"}, "can't be judged by it any more"),
        ({"metrics": ["seconds", "seconds"]}, "search.metrics: expected each metric once"),
        ({"directions": "max"}, "expected min for best_value, which is the best val_loss of a run"),
        ({"directions": ["min", "min"]}, "expected min or max for each of best_value, got"),
        ({"metrics": "seconds", "directions": "up"}, "expected min or max for seconds, got up."),
        ({"sampler": "cmaes"}, "cmaes expects at least two ranges of numbers in search.space, go"),
        ({"sampler": "grid"}, "expected step or points in addition to interval"),
        (
            {"metrics": ["best_value", "seconds"], "pruner": "median"},
            "search.pruner: expected none",
        ),
        ({"metrics": ["best_value", "seconds"], "sampler": "cmaes"}, "search.sampler: expected ns"),
        ({"storage": "postgresql://me:secret@host/db"}, "expected no password in it"),
        ({"storage": 3}, "search.storage: expected a text, or null, got 3."),
    ],
)
def test_wrong_settings_get_one_sentence(changes, message):
    document = {"space": {"optimizer.learning_rate": {"interval": [1e-4, 0.1]}}, **changes}
    with pytest.raises(RequestError) as caught:
        SearchSettings.parse(document)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_defaults_of_a_search_follow_from_other_settings():
    space = {"model.units": {"int": [4, 8]}, "model.cell": {"choice": ["gru", "lstm"]}}
    one = SearchSettings.parse({"space": space}, monitor=("val_bleu", "max"))
    assert (one.sampler, one.pruner, one.directions, one.trials) == ("tpe", "median", ("max",), 20)
    two = SearchSettings.parse({"space": space, "metrics": ["best_value", "parameters"]})
    assert (two.sampler, two.pruner, two.directions) == ("nsgaii", "none", ("min", "min"))
    grid = SearchSettings.parse({"space": space, "sampler": "grid"})
    assert grid.trials == 10
    fixed = ["task=fib", "hydra/launcher=joblib", "paths.runs=a", "search.trials=3", "sweep.name=b"]
    assert SearchSettings.parse({"space": space}, fixed).fixed == ("task=fib",)


def test_objectives_are_read_from_the_results():
    chosen = {"space": {"model.units": {"int": [4, 8]}}, "metrics": ["best_value", "parameters"]}
    search = SearchSettings.parse(chosen)
    assert search.objectives({"best_value": 0.5, "parameters": 17}) == (0.5, 17.0)
    with pytest.raises(RuntimeError, match="got null: without a validation part there is none"):
        search.objectives({"best_value": None, "parameters": 17})


def test_an_unchanged_section_starts_no_search():
    assert not is_wanted(None)
    assert not is_wanted({})
    assert not is_wanted({"space": None, "seed": 0})
    assert is_wanted({"trials": 4})


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_every_preset_is_a_search_whose_ends_are_all_valid(path):
    config.register_schema()
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert set(document) <= set(SearchSettings.__dataclass_fields__)
    search = SearchSettings.parse(document, ["task=fib"])
    assert set(search.metrics) <= set(METRICS)
    assert f"attnlab -m search={path.stem} " in path.read_text(encoding="utf-8")
    SearchSettings.parse({**document, "sampler": "grid"})
    with initialize_config_dir(str(CONF), version_base="1.3"):
        for overrides in search.space.probes():
            composed = compose("config", ["task=fib", *overrides])
            config.from_hydra(composed)
