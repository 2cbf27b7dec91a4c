"""Rules, and the messages for settings that break them."""

import math

import pytest

from attnlab.config.options import options
from attnlab.config.rules import Rule, check_rule
from attnlab.config.sections import OPTION_GROUPS, parse
from attnlab.errors import RequestError


def document(**changes):
    groups = {group: {"name": options(group)[0]} for group in OPTION_GROUPS}
    sections = {"trainer": {}, "tracking": {}, "paths": {}}
    return {**groups, **sections, "seed": 0, **changes}


def test_a_rule_in_words():
    for rule, words in (
        ({"type": "float", "min": 0, "below": 1}, "a number at least 0 and below 1"),
        ({"type": "float", "above": 0, "optional": True}, "a number above 0, or null"),
        ({"choices": ["mean", None]}, "one of mean, null"),
        ({"type": "bool"}, "true or false"),
        ({"type": "int", "max": 2**31 - 1}, "a whole number at most 2,147,483,647"),
    ):
        assert Rule(**rule).expected() == words


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ({"type": "int", "min": 2, "max": 5}, [2, 5], [1, 6, 2.0, "2", True, None]),
        ({"type": "float", "above": 0, "below": 1}, [0.5, 1e-300], [0, 1, math.nan, "0.5", False]),
        ({"type": "float"}, [3, -0.5], [math.inf, -math.inf, math.nan]),
        ({"type": "bool"}, [True, False], [0, 1, "true", None]),
        ({"type": "str"}, [" ", "7"], ["", 7, None]),
        ({"choices": ["a", "b"]}, ["a", "b"], ["A", None, 0]),
        ({"type": "int", "min": 1, "optional": True}, [None, 1], [0]),
        ({"choices": ["a", None]}, ["a", None], ["b"]),
    ],
)
def test_a_rule_accepts_and_refuses(rule, good, bad):
    rule = Rule(**rule)
    for value in good:
        check_rule("k", value, rule)
    for value in bad:
        with pytest.raises(RequestError, match=r"^k: expected "):
            check_rule("k", value, rule)


def test_parse_names_the_key():
    with pytest.raises(RequestError, match="task: expected the name of one of its options"):
        parse(document(task={}), {})


def test_a_store_is_the_same_one_in_every_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for uri, absolute in (
        ("sqlite:///a.db", f"sqlite:///{tmp_path}/a.db"),
        ("sqlite:////x/a.db", "sqlite:////x/a.db"),
        ("./a", f"{tmp_path}/a"),
        ("http://host/a", "http://host/a"),
        ("databricks", "databricks"),
    ):
        config = parse(document(tracking={"uri": uri}), {})
        assert config.document["tracking"]["uri"] == config.tracking.uri == absolute


def test_the_digest_covers_exactly_what_determines_the_result():
    config = parse(document(), {})
    elsewhere = document(paths={"runs": "/elsewhere"}, tracking={"enabled": False})
    assert parse(elsewhere, {}).digest == config.digest
    assert parse(document(seed=1), {}).digest != config.digest
    assert parse(document(model={"name": "rnn", "units": 7}), {}).digest != config.digest
