"""What each kind says about a prediction: inputs and outputs of its model, words of its layers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import yaml

from attnlab.attention.head_measures import record_attention
from attnlab.attention.interventions import Change, prepare
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.runner.train import make_model, make_task
from attnlab.tasks.kinds import kind_of, load
from attnlab.tasks.predictor import Predictor, Request

STACK = ("model=transformer", "attention=multi_head", "attention.heads=2", "model.layers=2")
PAIRS = ("task=translate", "data.pairs=100")
CLASSIFY = ("task=classify", "data.texts=100")
ANSWER = ("task=answer", "data.questions=100")
LANGUAGE = ("task=language", "data.sentences=100")
WORD, BOTH, ALL = ("class", "text"), "class token and text", "question and text"
# Settings of a run -> the sides of its layers, by name.
CASES = {
    (*PAIRS, "attention=bahdanau"): {"decoder": ("translation", "source")},
    (*PAIRS, "attention=luong_global"): {"decoder": ("translation", "source")},
    (*PAIRS, *STACK): {
        "encoder_1": ("source", "source"),
        "decoder_0 cross_attention": ("translation", "source"),
        "decoder_0 self_attention": ("translation", "read"),
    },
    (*CLASSIFY, "attention=bahdanau"): {"attention": WORD},
    (*CLASSIFY, "model=rnn", "attention=pooling"): {"attention": WORD},
    (*CLASSIFY, *STACK): {"encoder_1": (BOTH, BOTH)},
    ("task=digits", "data.limit=100"): {"encoder_0": ("", "")},
    (*ANSWER, "attention=bahdanau"): {"attention": ("text", "question")},
    (*ANSWER, *STACK): {"encoder_0": (ALL, ALL)},
    LANGUAGE: {"encoder_0": ("text", "text")},
    (*LANGUAGE, "model=rnn", "attention=luong_global"): {"attention": ("text", "text")},
    # Without changes their past is a state of constant size.
    (*LANGUAGE, "attention=delta", "model.positions=none"): {"encoder_0": ("text", "text")},
    (*LANGUAGE, "model=rnn", "attention=linear"): {"attention": ("text", "text")},
    ("task=masked_words", "data.sentences=100"): {"encoder_0": ("text", "text")},
    ("task=fib", "attention=bahdanau"): {"attention": ("forecast", "history")},
    ("task=sunspots", *STACK): {"encoder_1": ("history", "history")},
    ("task=sunspots", "task.horizon=24", "model.at_once=12", "attention=luong_global"): {
        "attention": ("forecast", "history")
    },
}


class Model(NamedTuple):
    """A predictor with random weights, and one with the same whose attention can be changed."""

    predictor: Predictor
    changed: Predictor
    interventions: dict
    messages: list[str]


@pytest.fixture
def make(compose, tmp_path):
    def make(*words: str) -> Model:
        config, messages, predictors = compose(*words, "model.units=8"), [], []
        (tmp_path / "config.yaml").write_text(yaml.safe_dump(config.document))
        declared = load(kind_of(config.task.name).predictions.predictor)
        settings = {s.name: () if s.repeated else s.default for s in declared.settings}
        task = make_task(config)
        task.load(0)
        models = [make_model(config, task) for _ in range(2)]
        models[1].set_weights(models[0].get_weights())
        interventions = prepare(models[1])
        for model in models:
            predictor = declared(Request(RunDirectory(tmp_path), messages.append), **settings)
            predictor.use(SimpleNamespace(task=task, model=model, config=config, epoch="1"))
            predictors.append(predictor)
        return Model(*predictors, interventions, messages)

    return make


@pytest.mark.parametrize("words", CASES, ids=lambda words: " ".join(words)[5:60])
def test_a_prediction_is_what_the_model_makes_of_its_inputs(make, words):
    predictor, changed, interventions, _ = make(*words)
    entries = predictor.starts()
    assert entries.keys() == predictor.fields.keys()
    explored = predictor.explore(entries)
    with record_attention(predictor.model) as looked:
        outputs = np.asarray(predictor.model(explored.inputs, training=False))
    if explored.chosen is None:
        assert len(explored.forecast) == max(12, outputs.shape[1]) and len(explored.values) > 2
    else:
        check_choice(explored, outputs, is_answer="task=answer" in words)
    for name, layer in looked.items():
        sides = predictor.sides(explored, name, layer.weights.shape[2:])
        assert sides == CASES[words].get(name, sides)
        for side, size in zip(sides, layer.weights.shape[2:], strict=True):
            assert len(explored.words[side] if side else range(size)) == size
    assert CASES[words].keys() <= looked.keys() == interventions.keys()

    def explore(change):
        for intervention in interventions.values():
            intervention.set(change)
        model = changed.model
        return changed.explore(entries), np.asarray(model(explored.inputs, training=False))

    off = max(intervention.heads for intervention in interventions.values())
    assert np.abs(explore(Change(heads=range(off)))[1] - outputs).max() > 1e-4
    same, reset = explore(Change())
    np.testing.assert_allclose(reset, outputs, atol=1e-6, rtol=1e-6)
    assert same.output == explored.output and same.words == explored.words


def check_choice(explored, outputs, *, is_answer):
    """The chosen outputs are the most probable ones, and have names."""
    assert explored.chosen.shape == outputs.shape[:-1]
    best, is_chosen = outputs.argmax(axis=-1), explored.chosen >= 0
    chosen = explored.chosen[is_chosen]
    if is_answer:  # its end can't be before its start
        assert explored.names(chosen)[0] in ("⁇", explored.output.lower().split()[0])
        return
    count = len(chosen) - (len(chosen) > 30)  # the longest translation ends in any case
    np.testing.assert_array_equal(chosen[:count], best[is_chosen][:count])
    assert all(explored.names(chosen.tolist()))


def test_wrong_input_is_refused_and_long_input_is_cut(make):
    images = make("task=digits", "data.limit=100").predictor
    with pytest.raises(RequestError, match="^image: can't be read as an image: .*file.$"):
        images.explore({"image": b"no image"})
    series = make("task=fib", "attention=bahdanau").predictor
    assert len(series.explore({"series": [1, 2, 3]}).words["history"]) == 3
    for numbers in ([], [1.0] * 21, [1.0, np.nan]):
        with pytest.raises(RequestError, match="series: the model reads 1 to 20 numbers, got"):
            series.explore({"series": numbers})
    language = make(*LANGUAGE)
    explored = language.predictor.explore({"text": "the old dog " * 20})
    assert explored.inputs.shape == (1, 64) and "reads 45 tokens" in language.messages[0]
    filled = make("task=masked_words", "data.sentences=100").predictor
    with pytest.raises(RequestError, match="expected .MASK."):
        filled.explore({"text": "the old dog"})
    for empty in (filled, make(*CLASSIFY).predictor, make(*PAIRS).predictor):
        assert empty.explore({"text": " "})._replace(output="").inputs is None
