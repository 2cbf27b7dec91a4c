"""Training in float16: the scale of the loss, compared with Keras's."""

from __future__ import annotations

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from command_line import CommandLine

from attnlab.training.batches import shuffled_plan
from attnlab.training.epoch_program import Program
from attnlab.training.keras_internals import OptimizerFunction
from attnlab.training.optimizers import make_optimizer
from attnlab.training.steps import InMemoryModel

SHAPES = ((3, 2), (5,))
INF = float("inf")
PLAN, RATES = shuffled_plan(np.arange(23), 4, 1, 1), np.full(6, 0.03, np.float32)


class Line(InMemoryModel):
    """A dense layer."""

    def __init__(self):
        super().__init__()
        keras.utils.set_random_seed(17)
        self.layer = keras.layers.Dense(2)
        self.layer.build((None, 5))
        self.built = True

    def call(self, inputs, training=None):
        return self.layer(inputs)


def program_with(optimizer, jit=False):
    draw = np.random.default_rng(29)
    data = [draw.normal(size=(23, width)).astype(np.float32) for width in (5, 2)]
    return Program(Line(), optimizer, squared_error, *data, jit=jit)


def squared_error(target, output):
    return tf.reduce_mean(tf.square(target - output), axis=-1)


def scaled(**settings):
    inner = make_optimizer("adamw", {"learning_rate": 0.1, "clip_norm": 1.0})
    return keras.optimizers.LossScaleOptimizer(inner, **settings)


def test_updates_and_scales_are_those_of_keras():
    draw = np.random.default_rng(3)
    variables = [keras.Variable(draw.normal(size=shape)) for shape in SHAPES]
    theirs = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.AdamW(0.1, global_clipnorm=1.0), dynamic_growth_steps=3
    )
    theirs.build(variables)
    ours = OptimizerFunction(scaled(dynamic_growth_steps=3), variables)
    settings = ours.settings(theirs)
    values, states = [[v.numpy() for v in of] for of in (variables, theirs.variables)]
    known, scales = (values, states), []
    for wrong in (0, INF, 0, 0, 0, np.nan, 0, 0, 0, 0):
        gradients = [tf.constant(draw.normal(size=shape) * 2**15, tf.float32) for shape in SHAPES]
        gradients[1] += wrong
        known = ours(known[1], 0.1, settings, gradients, known[0])
        theirs.apply(gradients, variables)
        for one, other in zip([*known[0], *known[1]], [*variables, *theirs.variables], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
        scales.append(float(ours.loss_scale(known[1])) / 2**15)
    assert scales == [1, 0.5, 0.5, 0.5, 1, 0.5, 0.5, 0.5, 1, 1]


@pytest.mark.parametrize("jit", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_scale_changes_no_update(jit):
    found = []
    for optimizer in (keras.optimizers.AdamW(0.1, global_clipnorm=1.0), scaled()):
        program = program_with(optimizer, jit)
        found.append(([program.train(PLAN, RATES, 0)], program.variable_values()))
    plain, scaled_values = ([*losses, *values] for losses, values in found)
    for one, other in zip(plain, scaled_values, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("task=translate", "data=reverse", "data.pairs=100", "model.units=4", "task.beam=1"),
        ("task=language", "data.sentences=100", "model.units=8", "attention.heads=2"),
    ],
    ids=lambda words: words[0],
)
def test_runs_in_float16_resume_to_the_same_bits(tmp_path, words):
    own = (*words, "trainer.precision=mixed_float16", "tracking.enabled=false")
    whole, parted = (CommandLine(tmp_path / name) for name in ("whole", "parted"))
    for lab, epochs in ((whole, 2), (parted, 1)):
        lab.folder.mkdir()
        assert lab(*own, f"trainer.epochs={epochs}", "schedule=constant").code == 0
    assert parted("resume", "latest", "trainer.epochs=2").code == 0
    folders = [next(lab.runs.glob("*/*/2*")) for lab in (whole, parted)]
    rows = [json.loads((folder / "metrics.json").read_text())["test"] for folder in folders]
    assert rows[0] == rows[1] and all(np.isfinite(each) for each in rows[0].values() if each)
    files = [(folder / "weights/epoch_002.weights.h5").read_bytes() for folder in folders]
    assert files[0] == files[1]
