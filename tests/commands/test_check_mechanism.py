"""`attnlab check-mechanism`, as the author of a mechanism uses it."""

import sys

import pytest
from command_line import TINY

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


def test_it_describes_each_failed_check(here, folder):
    code, _, err = here("check-mechanism", "bahdnau")
    assert code == 2 and "Did you mean bahdanau" in err
    code, out, err = here("check-mechanism", "wry", "--config-dir", folder)
    lines = out.splitlines()
    failed = [line.removeprefix("failed ") for line in lines if line.startswith("failed")]
    assert (code, err, lines[-1]) == (1, "", "wry satisfies 11 of 14 rules of the contract")
    assert [text.split()[0] for text in failed] == ["All", "A", "Unequal"]
    (unfinite,) = [line for line in lines if "not finite" in line]
    assert "the gradient of query" in unfinite and "a norm or a quotient in score()?" in unfinite
    assert sum(line.startswith("ok ") for line in lines) == 11
    assert all(line.startswith(("ok ", "failed ", "        - ", "wry ")) for line in lines)
    assert max(len(line) for line in lines if line.startswith(("ok", "failed"))) <= 80


WRONG = """
from keras import ops
from attnlab.attention import Attention


class Product(Attention):
    def score(self, query, keys):
        return ops.matmul(query, ops.swapaxes(keys, 1, 2))


class Turned(Product):
    def score(self, query, keys):
        return ops.swapaxes(super().score(query, keys), 1, 2)


class Unbuilt(Product):
    def score(self, query, keys):
        return super().score(ops.matmul(query, self.kernel), keys)
"""


@pytest.fixture
def wrong(folder):
    """Mechanisms that violate the contract, such as `wry`."""
    (folder / "attention/wrong_module.py").write_text(WRONG)

    def choose(name: str) -> None:
        lines = f"# X.\nname: wry\n_target_: wrong_module.{name}\ndropout: 0.0\n"
        rules = "rules: {dropout: {type: float}}\n"
        (folder / "attention/wry.yaml").write_text(lines + rules)

    yield choose
    sys.modules.pop("wrong_module", None)


def test_an_error_in_the_users_code_is_reported_with_its_line(here, folder, wrong):
    wrong("Unbuilt")
    code, out, _ = here("--config-dir", folder, "check-mechanism", "wry")
    line = next(n for n, text in enumerate(WRONG.splitlines(), 1) if "self.kernel" in text)
    reasons = [text.strip() for text in out.splitlines() if text.startswith("        - ")]
    assert code == 1 and reasons[0] == (
        f"- {folder}/attention/wrong_module.py, line {line}, in score: AttributeError: 'Unbuilt' "
        "object has no attribute 'kernel'"
    )


def test_a_run_with_a_broken_mechanism_fails_with_one_sentence(here, folder, wrong, no_figures):
    wrong("Turned")
    small = ("task=fib", "task.count=61", "tracking.enabled=false", *TINY, "trainer.jit=false")
    code, _, err = here("--config-dir", folder, *small, "attention=wry")
    assert code == 2
    assert "attnlab: Turned: weights must be (B, H, T, S) = (" in err.splitlines()[-1]
