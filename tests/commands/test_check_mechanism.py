"""`attnlab check-mechanism` as the author of a mechanism has it."""

import sys

import pytest

MODULE = """
from keras import ops
from attnlab.attention import Attention


class Cosine(Attention):
    def __init__(self, *, sharp=False, **kwargs):
        super().__init__(**kwargs)
        self.sharp = sharp

    def score(self, query, keys):
        query, keys = (x / ops.norm(x, axis=-1, keepdims=True) for x in (query, keys))
        return ops.matmul(query, ops.swapaxes(keys, 1, 2))
"""
YAML = """
name: wry
_target_: wry_module.Cosine
dropout: 0.0
sharp: false
rules: {sharp: {type: bool}}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "mine/attention").mkdir(parents=True)
    (tmp_path / "mine/attention/wry_module.py").write_text(MODULE)
    (tmp_path / "mine/attention/wry.yaml").write_text(YAML)
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.setenv("ATTNLAB_CONFIG_DIR", "")
    yield tmp_path / "mine"
    sys.modules.pop("wry_module", None)


def test_what_is_lacking_is_said_in_words(here, folder):
    code, out, err = here("check-mechanism", "wry", "--config-dir", folder)
    lines = out.splitlines()
    lacking = [line.removeprefix("lacking ") for line in lines if line.startswith("lacking")]
    assert (code, err, lines[-1]) == (1, "", "wry keeps 8 of 12 promises")
    assert [text.split()[0] for text in lacking] == ["YAML", "All", "`from_config`", "Query"]
    assert "        - get_config has {'dropout': 0.0}, the constructor " in out
    (unfinite,) = [line for line in lines if "not finite" in line]
    assert "the gradient of query" in unfinite and "a norm or a quotient in score()?" in unfinite
    assert sum(line.startswith("ok ") for line in lines) == 8


def test_an_unknown_mechanism_is_refused(here):
    code, _, err = here("check-mechanism", "bahdnau")
    assert code == 2 and "Did you mean bahdanau" in err
