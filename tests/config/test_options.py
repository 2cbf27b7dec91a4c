"""Options are found by name: in conf, and in folders of the user."""

from __future__ import annotations

import os

import pytest

from attnlab.attention import BahdanauAttention
from attnlab.cli import main
from attnlab.config.options import (
    CONFIG_DIR,
    option_class,
    option_content,
    options,
    user_folders,
)
from attnlab.errors import RequestError

MINE = """\
name: mine
_target_: my_mechanism.Mine
dropout: 0.0
rules:
  dropout: {type: float, min: 0, below: 1}
"""
CLASS = """\
import keras
from attnlab.attention.bahdanau import BahdanauAttention


@keras.saving.register_keras_serializable(package="mine")
class Mine(BahdanauAttention):
    def __init__(self, *, dropout=0.0, **kwargs):
        super().__init__(units=2, dropout=dropout, **kwargs)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a mechanism of the user, which no process has loaded yet."""
    monkeypatch.delenv(CONFIG_DIR, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_mechanism.py").write_text(CLASS)
    (tmp_path / "attention").mkdir()
    (tmp_path / "attention/mine.yaml").write_text(MINE)
    return tmp_path


def test_a_shipped_option_is_its_class():
    assert option_class("attention", "bahdanau") is BahdanauAttention
    assert user_folders() == []


def test_an_own_option_is_found_by_the_environment(folder, monkeypatch):
    assert "mine" not in options("attention")
    monkeypatch.setenv(CONFIG_DIR, os.pathsep.join(["/nowhere", str(folder)]))
    assert "mine" in options("attention") and "bahdanau" in options("attention")
    assert option_class("attention", "mine").__name__ == "Mine"


def test_no_other_file_is_read():
    for name in ("../config", "no", "", None, "attention/bahdanau", ["x"]):
        assert option_content("attention", name) is None
        with pytest.raises(RequestError, match="no such option"):
            option_class("attention", name)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ((MINE, "name: ["), "mine.yaml"),
        ((MINE, "- name"), "attention/mine"),
        (("my_mechanism", "nowhere"), "_target_ in its file, nowhere.Mine, can't be imported"),
        (("{type: float", "{typ: float"), "its rule is wrong: Rule.__init__() got an unexpected"),
        (("float", "number"), "in its rule, type: expected one of int, float, bool, str, list,"),
        (("{type: float, min: 0, below: 1}", "3"), "expected a rule for each setting, {type: int}"),
        (("name: mine", "name: bahdanau"), "attention.name=bahdanau: the name can't be changed"),
    ],
)
def test_a_wrong_file_is_reported(folder, monkeypatch, capsys, wrong, message):
    monkeypatch.setenv(CONFIG_DIR, str(folder))
    path = folder / "attention/mine.yaml"
    path.write_text(path.read_text().replace(*wrong))
    assert main(["attention=mine", "task=fib", "tracking.enabled=false"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_with_an_own_mechanism_is_used_again(folder, monkeypatch, capsys):
    """Trained with --config-dir; commands find its mechanism by the environment or name the fix."""
    monkeypatch.setenv("ATTNLAB_RUNS", str(folder / "runs"))
    small = ("task=fib", "task.count=61", "task.history=5", "model.units=3", "trainer.epochs=1")
    words = ("trainer.jit=false", "tracking.enabled=false", "attention=mine", *small)
    assert main(["--config-dir", str(folder), *words]) == 0
    assert main(["evaluate", "latest"]) == 0
    monkeypatch.delenv(CONFIG_DIR)
    capsys.readouterr()
    assert main(["evaluate", "latest"]) == 2
    assert "by --config-dir FOLDER or $ATTNLAB_CONFIG_DIR" in capsys.readouterr().err


def test_every_command_accepts_config_dir_before_and_after_its_name(folder, monkeypatch, capsys):
    for words in ("{} explain attention", "explain attention {}", "explain {} attention"):
        monkeypatch.delenv(CONFIG_DIR, raising=False)
        assert main(words.format(f"--config-dir={folder}").split()) == 0
        assert "attention=mine" in capsys.readouterr().out
