"""Search over real models: a sentence's translation is its own, whatever is beside it."""

from __future__ import annotations

import importlib

import keras
import numpy as np
import pytest
import yaml

from attnlab.config.options import conf_folder
from attnlab.tasks.translation.decoding.search import Search
from attnlab.tasks.translation.models.build import build_translator
from attnlab.tasks.translation.models.translator import END, START

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

LENGTHS, LONGEST, EXTRA = (2, 7, 1, 4, 5, 5, 3), 7, 6
FILES = sorted((conf_folder() / "attention").glob("*.yaml"))
MECHANISMS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES}
SMALL = {
    "rnn": {"units": 8, "embedding": 6, "maxout_units": 5},
    "transformer": {"units": 8, "layers": 1, "heads": 2, "feed_forward": 11},
}
CASES = [
    (model, name)
    for name in MECHANISMS
    for model in SMALL
    if name != "pooling" and (model, name) != ("transformer", "none")
]


def mechanism(name: str):
    content = {**MECHANISMS[name]}
    module, _, cls = content.pop("_target_").rpartition(".")
    settings = {key: content[key] for key in content if key not in ("name", "rules")}
    small = {key: 2 for key in ("window", "heads") if key in settings}
    return getattr(importlib.import_module(module), cls)(**{**settings, **small})


def build(model: str, attention: str, **settings):
    """An untrained model that has opinions."""
    keras.utils.set_random_seed(3)
    made = build_translator(
        model,
        {**SMALL[model], **settings},
        lambda: mechanism(attention),
        source_size=17,
        target_size=13,
        max_source=LONGEST,
        max_target=LONGEST,
    )
    draw = np.random.default_rng(5)
    for weight in made.trainable_variables:
        weight.assign(weight + 0.7 * draw.normal(size=weight.shape))
    return made


def rows() -> list[np.ndarray]:
    draw = np.random.default_rng(1)
    return [np.array([*draw.integers(4, 17, n - 1), END], np.int32) for n in LENGTHS]


def scored(model, row: np.ndarray, tokens: np.ndarray) -> float:
    """The log-probability of a translation, by the whole model at once."""
    target = np.array([[START, *tokens, END]], np.int32)
    logits = np.array(model((row[None], target[:, :-1])), np.float64)[0]
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return float(np.take_along_axis(logs, target[0, 1:, None], 1).sum())


@pytest.mark.parametrize(
    "name, attention, beam",
    [*((*case, 3) for case in CASES), ("rnn", "luong_local", 1), ("transformer", "multi_head", 1)],
)
def test_a_translation_does_not_depend_on_its_batch(name, attention, beam):
    model = build(name, attention)
    search = Search(model, beam=beam, n_best=beam, extra_length=EXTRA)
    for row, found in zip(rows(), search(rows()), strict=True):
        (alone,) = search([row])
        assert len(found) == beam
        for one, other in zip(found, alone, strict=True):
            np.testing.assert_array_equal(one.tokens, other.tokens)
            assert one.score == pytest.approx(other.score, abs=1e-4)
            truth = scored(model, row, one.tokens)
            assert one.log_probability == pytest.approx(truth, abs=1e-3)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("name, attention", [("rnn", "bahdanau"), ("transformer", "multi_head")])
def test_xla_and_caches_of_fixed_length_find_the_same(name, attention, beam):
    model = build(name, attention)
    plain, compiled = (
        Search(model, beam=beam, extra_length=EXTRA, jit=jit)(rows()) for jit in (False, True)
    )
    for (one,), (other,) in zip(plain, compiled, strict=True):
        np.testing.assert_array_equal(one.tokens, other.tokens)
        assert one.score == pytest.approx(other.score, abs=1e-4)


def test_learned_positions_bound_a_translation():
    model = build("transformer", "multi_head", positions="learned")
    model.target_embedding.embeddings.assign(model.target_embedding.embeddings * [[0.0]])
    found = Search(model, extra_length=50)(rows())
    assert max(len(best.tokens) for (best,) in found) < LONGEST
