"""`attnlab check-mechanism`, as the author of a mechanism uses it."""

import sys

import pytest
from command_line import TINY, assert_refused

MODULE = """
from keras import ops
from attnlab.attention import Attention


class Cosine(Attention):
    def score(self, query, keys):
        query, keys = (x / ops.norm(x, axis=-1, keepdims=True) for x in (query, keys))
        return ops.matmul(query, ops.swapaxes(keys, 1, 2))


class Turned(Attention):
    def score(self, query, keys):
        return ops.matmul(keys, ops.swapaxes(query, 1, 2))


class Exponential(Attention):
    def score(self, query, keys):
        return ops.exp(ops.matmul(query, ops.swapaxes(keys, 1, 2)))


class Softplus(Attention):
    def score(self, query, keys):
        products = ops.matmul(query, ops.swapaxes(keys, 1, 2)) / 5e4
        return -ops.log(1 - ops.sigmoid(products))


class Unbuilt(Attention):
    def score(self, query, keys):
        return ops.matmul(ops.matmul(query, self.kernel), ops.swapaxes(keys, 1, 2))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the options `cosine`, `exponential`, `softplus`, `turned` and `unbuilt`."""
    folder = tmp_path / "mine/attention"
    folder.mkdir(parents=True)
    (folder / "wry_module.py").write_text(MODULE)
    for name in ("Cosine", "Exponential", "Softplus", "Turned", "Unbuilt"):
        lines = f"name: {name.lower()}\n_target_: wry_module.{name}\ndropout: 0.0\n"
        rules = "rules: {dropout: {type: float}}\n"
        (folder / f"{name.lower()}.yaml").write_text(f"# X.\n{lines}{rules}")
    monkeypatch.syspath_prepend(tmp_path)  # restores the path, which the option extends
    monkeypatch.setenv("ATTNLAB_CONFIG_DIR", "")
    yield tmp_path / "mine"
    sys.modules.pop("wry_module", None)


def test_it_describes_each_failed_check(here, folder):
    code, _, err = here("check-mechanism", "bahdnau")
    assert code == 2 and "Did you mean bahdanau" in err
    code, out, err = here("check-mechanism", "cosine", "--config-dir", folder)
    lines = out.splitlines()
    failed = [line.removeprefix("failed ") for line in lines if line.startswith("failed")]
    assert (code, err, lines[-1]) == (1, "", "cosine satisfies 11 of 14 rules of the contract")
    assert [text.split()[0] for text in failed] == ["All", "A", "Unequal"]
    (unfinite,) = [line for line in lines if "not finite" in line]
    assert "the gradient of query" in unfinite and "a norm or a quotient in score()?" in unfinite
    assert lines[lines.index("failed  A saved Keras model gives the same after loading.") + 1] == (
        "        - Cosine needs @keras.saving.register_keras_serializable()"
    )
    assert sum(line.startswith("ok ") for line in lines) == 11
    assert max(len(line) for line in lines if line.startswith(("ok", "failed"))) <= 80


def test_the_cause_of_an_overflow_is_named(here, folder):
    """By the first rule that fails, not by masks, which have the same cause."""
    _, out, _ = here("check-mechanism", "exponential", "--config-dir", folder)
    failed = out.partition("failed  ")[2]
    assert failed.splitlines()[:2] == [
        "Large values don't overflow, and mixed precision stays close to float32.",
        "        - not finite: context of large values, weights of large values; scale powers and "
        "exponentials down before they overflow",
    ]
    assert "differs by nan" not in out


def test_what_is_not_finite_in_half_precision_alone_has_advice(here, folder):
    _, out, _ = here("check-mechanism", "softplus", "--config-dir", folder)
    assert out.partition("        - ")[2].splitlines()[0] == (
        "not finite: context in bfloat16, weights in bfloat16; compute it in float32, by "
        "attnlab.attention.functional.widen"
    )


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("name: cosine\n", "", "attention.name=None: the name can't be changed without "),
        ("dropout: 0.0\n", "dropout: 0.0\nscale: 1.0\n", "attention.scale: its file has no rule "),
        ("dropout: 0.0\n", "dropout: high\n", "attention.dropout: expected a number, got high."),
    ],
)
def test_a_file_is_refused_as_by_a_run(here, folder, old, new, sentence):
    file = folder / "attention/cosine.yaml"
    file.write_text(file.read_text().replace(old, new))
    for words in (("check-mechanism", "cosine"), ("task=fib", "attention=cosine")):
        assert_refused(here("--config-dir", folder, *words), sentence)


def test_an_error_in_the_users_code_is_reported_with_its_line(here, folder):
    code, out, _ = here("--config-dir", folder, "check-mechanism", "unbuilt")
    line = next(n for n, text in enumerate(MODULE.splitlines(), 1) if "self.kernel" in text)
    reasons = [text.strip() for text in out.splitlines() if text.startswith("        - ")]
    assert code == 1 and reasons[0] == (
        f"- {folder}/attention/wry_module.py, line {line}, in score: AttributeError: 'Unbuilt' "
        "object has no attribute 'kernel'"
    )


def test_a_run_with_a_broken_mechanism_fails_with_one_sentence(here, folder, no_figures):
    small = ("task=fib", "task.count=61", "tracking.enabled=false", *TINY, "trainer.jit=false")
    code, _, err = here("--config-dir", folder, *small, "attention=turned")
    assert code == 2
    assert "attnlab: Turned: weights must be (B, H, T, S) = (" in err.splitlines()[-1]
