"""The YAML of a study: its rules, and the shipped studies."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser

from attnlab.errors import RequestError
from attnlab.studies import study as studies

WHOLE = {
    "question": "Is it so?",
    "runs": ["task=fib attention=none,bahdanau"],
    "by": "attention",
    "seeds": 3,
    "published": [
        {
            **{"where": {"attention": "none"}, "metric": "mse", "value": 2.6e-5},
            **{"system": "theirs", "source": "a book"},
        }
    ],
    "quick": {"seeds": 2, "words": ["trainer.epochs=2"]},
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """A study of the user, with changes; a value of None removes an entry."""
    monkeypatch.setenv("ATTNLAB_CONFIG_DIR", str(tmp_path))
    (tmp_path / "study").mkdir()

    def write(**changes):
        content = {key: value for key, value in {**WHOLE, **changes}.items() if value is not None}
        (tmp_path / "study/mine.yaml").write_text(yaml.safe_dump(content))

    return write


def test_the_users_study_is_one_yaml(write):
    write()
    assert "mine" in studies.names()
    study = studies.read("mine")
    assert (study.seeds, study.title, study.words) == (3, "mine", [])
    assert study.published[0].where == {"attention": "none"}


def test_the_quick_form_has_a_name_of_its_own(write):
    write(minutes=3)
    study = studies.read("mine", quick=True)
    assert (study.seeds, study.title, study.minutes) == (2, "mine-quick", None)
    assert list(study.words) == ["trainer.epochs=2"]


def test_runs_trained_first_may_be_in_any_folder(write):
    write(first="task=masked_words", runs=["task=classify model.path={first}"])
    study = replace(studies.read("mine"), added=("hydra/launcher=joblib", "++tracking.enabled=0"))
    assert study.title == "mine"  # nothing of it decides results
    first, words = study.sweeps(Path("/tm'p\\ü, (1)")).values()
    assert first[2:] == ["hydra/launcher=joblib", "++tracking.enabled=0"]
    (path,) = [word for word in words if word.startswith("model.path")]
    read = OverridesParser.create().parse_override(path).value()
    assert str(read) == "/tm'p\\ü, (1)/study-mine-first"


@pytest.mark.parametrize("name", studies.names())
def test_shipped_studies_can_be_read_and_typed(name):
    for quick in (False, True):
        study = studies.read(name, quick)
        assert study.seeds >= 2
        for grid in study.runs:
            assert all("=" in word or word[0] == "~" for word in shlex.split(grid))


PUBLISHED = WHOLE["published"][0]
SEVERAL = {key: value for key, value in PUBLISHED.items() if key != "value"}


def test_a_row_of_a_table_is_one_entry(write):
    where = {"attention": "none", "model.at_once": None}
    write(published=[{**SEVERAL, "where": where, "each": "task.horizon", "values": {1: 0.5, 6: 1}}])
    found = studies.read("mine").published
    assert [(each.where["task.horizon"], each.value) for each in found] == [("1", 0.5), ("6", 1)]
    assert found[0].where == {"attention": "none", "model.at_once": "null", "task.horizon": "1"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"runs": []}, "study mine: expected at least one grid in runs and two seeds."),
        ({"runs": ["task='fib"]}, "study mine: expected quotes in pairs, got task='fib."),
        ({"seeds": 1}, "expected at least one grid in runs and two seeds."),
        ({"sedes": 4}, "study mine: sedes: Key 'sedes' not in 'Study'."),
        ({"published": [{**PUBLISHED, "metric": "msee"}]}, "got 'msee'. Did you mean mse?"),
        (
            {"published": [{**SEVERAL, "values": {1: 0.5}}]},
            "values: Key 'values' not in",
        ),
        (
            {"published": [{**SEVERAL, "each": "task.horizon", "values": {1: "low"}}]},
            "value: Value 'low' of type 'str' could not",
        ),
    ],
)
def test_a_wrong_study_is_refused_in_one_sentence(write, changes, message):
    write(**changes)
    with pytest.raises(RequestError) as refused:
        studies.read("mine")
    assert message in str(refused.value)
