"""Learning to translate: every model with every mechanism, and the metrics of an epoch."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from command_line import some_pairs
from small_translators import QUERYING

from attnlab.internals import import_tensorflow

import_tensorflow()

MODELS = ("rnn", "transformer")
TINY = {
    "rnn": ("model.units=12", "model.embedding=10", "model.maxout_units=6", "model.cell=simple"),
    "transformer": ("model.units=16", "model.layers=1", "model.feed_forward=20"),
}
RATE = 0.01
EXACT = ("model.dropout=0", "task.label_smoothing=0", "task.score_every=2")


@pytest.fixture(scope="session")
def pairs(tmp_path_factory) -> Path:
    """A corpus of 80 pairs in a file."""
    folder = tmp_path_factory.mktemp("pairs")
    lines = [f"{pair.source}\t{pair.target}\n" for pair in some_pairs(80)]
    (folder / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture
def learner(learner_of, pairs):
    """A learner of the tiny corpus by overrides."""

    def make(attention: str, model: str, *overrides: str):
        return learner_of(
            *("task=translate", "data=files", f"data.path={pairs / 'pairs.tsv'}"),
            *(f"attention={attention}", f"model={model}", f"paths.data={pairs / 'cache'}"),
            *TINY[model],
            *("trainer.batch_size=300", "trainer.epochs=2", *overrides),
        )

    return make


def trained(learner, epoch: int = 1, rate: float = RATE) -> tuple[np.ndarray, np.ndarray]:
    """Losses and numbers of tokens of an epoch's steps."""
    parts, done = [], 0
    for chunk in learner.chunks(epoch):
        parts.append(learner.train(chunk, np.full(chunk.steps, rate), done))
        done += chunk.steps
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


# Either model with the mechanisms in turn. By default the first of the papers:
# `test_translator_contract` has the gradients of all of them, and `test_search_mechanisms` what
# they translate.
CELLS = [
    ("none", "rnn"),
    *((name, MODELS[place % 2]) for place, name in enumerate(QUERYING)),
]
LEARNING = [
    pytest.param(
        *cell,
        id="-".join(cell),
        marks=() if cell[0] == "bahdanau" else pytest.mark.slow,
    )
    for cell in CELLS
]


@pytest.mark.parametrize(("attention", "model"), LEARNING)
def test_models_learn_with_every_mechanism(learner, attention, model):
    some = learner(attention, model, *EXACT)
    before = some.validate(1)
    assert np.isnan(before["val_bleu"])
    first, tokens = trained(some, 1)
    second, _ = trained(some, 2)
    assert np.average(second, weights=tokens) < np.average(first, weights=tokens)
    after = some.validate(2)
    assert after["val_loss"] < before["val_loss"]
    names = {"val_loss", "val_perplexity", "val_accuracy", "val_bleu", "val_chrf"}
    assert set(after) == names and np.isfinite(list(after.values())).all()
    assert after["val_perplexity"] == pytest.approx(np.exp(after["val_loss"]))


def test_epochs_have_different_orders_and_each_pair_once(learner):
    some = learner("none", "rnn")
    first, second = (np.concatenate([*itertools.chain(*some.chunks(n))]) for n in (1, 2))
    assert not np.array_equal(first, second)
    assert np.array_equal(np.sort(first), np.sort(second))
    assert len(np.unique(first)) == len(first) == len(some._train)


RECALL = ("task=translate", "data=recall", "model=rnn", "attention=bahdanau")


@pytest.mark.parametrize(
    "overrides, jit",
    [
        ((*RECALL, "trainer.batch_size=170"), True),
        ((*RECALL, "trainer.batch_size=1700"), False),  # ten steps an epoch
        ((*RECALL, "trainer.batch_size=170", "model.units=258"), False),
        (("task=translate", "data=reverse", "data.pairs=1000", "trainer.batch_size=170"), False),
    ],
)
def test_narrow_models_train_with_xla_if_all_sentences_have_one_length(
    learner_of, overrides, jit, monkeypatch
):
    monkeypatch.setattr("attnlab.training.compilation.has_avx512", lambda: True)
    some = learner_of("data.pairs=1000", *overrides)
    assert some.jit == jit
    assert not some._search.jit
    shapes = {len(rows) for chunk in some.chunks(1) for rows in chunk}
    assert len(shapes) == 1 or not jit


def test_examples_have_weights_and_labels_of_test_sentences(learner):
    arrays = learner("multi_head", "transformer").examples()
    count, layers, heads, steps, width = arrays["cross"].shape
    assert (layers, heads) == (1, 4)
    assert arrays["source"].shape == (count, width) and arrays["target"].shape == (count, steps)
    for number, row in enumerate(arrays["source"].tolist()):
        end = row.index("<end>") + 1
        np.testing.assert_allclose(arrays["cross"][number, 0, :, 0, :end].sum(-1), 1, rtol=1e-2)
        assert not arrays["cross"][number, ..., end:].any()
    assert learner("none", "rnn").examples() is None


def test_gold_links_are_recorded_and_scored(learner_of):
    small = ("data.pairs=100", "model.units=4", "model.embedding=3")
    some = learner_of(*RECALL, *small)
    arrays = some.examples()
    assert arrays["links"].shape == (*arrays["reference"].shape, arrays["cross"].shape[-1])
    assert (arrays["links"].sum(axis=2) == (arrays["reference"] != "")).all()
    alignment = some.report().details["alignment"]
    assert 0 <= alignment["error_rate"] <= 1
