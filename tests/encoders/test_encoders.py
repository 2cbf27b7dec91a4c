"""Encoders of trained runs: opening, refusing, and models on them."""

from __future__ import annotations

import shutil

import keras
import numpy as np
import pytest
from command_line import assert_refused
from same_runs import assert_resumes_to_the_same_bits

from attnlab.config.options import option_content
from attnlab.encoders.opening import (
    open_source,
    save_source,
    saved_source,
    vectors_by,
    with_encoder_settings,
)
from attnlab.encoders.tuning import fill_encoder
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.runner.loading import TrainedRun
from attnlab.tasks.answering.models import PretrainedReader
from attnlab.tasks.classification.models import PretrainedClassifier
from attnlab.training.optimizers import OptimizerFunction

TEXTS = ["The keys are old.", "The key near the doors is old."]
CLASSIFY = (
    "schedule=constant",
    *("task=classify", "data.texts=100", "model=pretrained", "trainer.epochs=1"),
    *("trainer.batch_size=50", "tracking.enabled=false", "trainer.jit=false"),
)


@pytest.fixture(scope="module")
def run(encoder_runs):
    return sorted(encoder_runs.glob("masked_words/*/*_s0"))[0]


@pytest.fixture(scope="module")
def source(run):
    return open_source(str(run))


def classifier(source, **settings):
    model = PretrainedClassifier(source=source, classes=2, **settings)
    model.build((None, 7))
    fill_encoder(model)
    return model


def values(layer):
    return [keras.ops.convert_to_numpy(weight) for weight in layer.trainable_weights]


def test_the_vectors_of_a_source_are_those_of_its_run(run, source):
    trained = TrainedRun.load(RunDirectory(run), "best")
    expected = vectors_by(source)(TEXTS)
    by_hand = trained.model.encoder(trained.task.rows(TEXTS[:1])).vectors[0]
    words = len(source.tokenizer.encode(TEXTS[:1])[0])
    np.testing.assert_allclose(expected[0], np.mean(by_hand[1 : 1 + words], axis=0), rtol=1e-5)
    weights = values(trained.model.encoder)[0]
    np.testing.assert_array_equal(values(classifier(source).encoder)[0], weights)
    assert not np.array_equal(values(classifier(source, start="drawn").encoder)[0], weights)


def test_a_saved_description_makes_the_same_layer_without_the_run(source, tmp_path):
    save_source(tmp_path, source)
    again = saved_source(tmp_path)
    layer, other = source.make(), again.make()
    for encoder in (layer, other):
        encoder.build((None, 9))
    source.fill(layer)
    other.set_weights(layer.get_weights())
    tokens = np.array([[2, 5, 6, 3, 0]], "int32")
    np.testing.assert_array_equal(layer(tokens).vectors, other(tokens).vectors)
    assert again.attention == source.attention and again.max_length == source.max_length == 24
    assert again.tokenizer.vocabulary == source.tokenizer.vocabulary
    with pytest.raises(RequestError, match="model.path: expected a run of task=masked_words"):
        again.fill(other)
    assert saved_source(tmp_path / "nowhere") is None


def test_the_run_of_a_sweep_with_the_same_seed_is_used(encoder_runs, run):
    sweep = str(encoder_runs / "sweeps/before")
    vectors = [vectors_by(open_source(sweep, seed))(TEXTS) for seed in (0, 1)]
    np.testing.assert_array_equal(vectors[0], vectors_by(open_source(str(run)))(TEXTS))
    assert np.abs(vectors[0] - vectors[1]).max() > 0
    with pytest.raises(RequestError, match="has one run with seed=2, got .*before, which has 0"):
        open_source(sweep, 2)


def test_the_attention_of_a_configuration_is_the_encoders(run):
    task = {"name": "classify", "encoder": str(run)}
    document = {"task": task, "model": {"name": "pretrained", "path": str(run)}, "seed": 0}
    content = option_content("attention", "multi_head")
    defaults = {key: content[key] for key in content if key not in ("_target_", "rules")}
    resolved = with_encoder_settings({**document, "attention": defaults})
    assert resolved["attention"] == {**defaults, "heads": 2}
    assert with_encoder_settings(resolved) == resolved
    for other, word in (
        ({"name": "bahdanau"}, "attention.name: expected multi_head"),
        ({**defaults, "heads": 8}, "attention.heads: expected 2, which the encoder at .* got 8"),
    ):
        with pytest.raises(RequestError, match=word):
            with_encoder_settings({**document, "attention": other})
    other = {"model": {"name": "rnn"}, "attention": {"name": "bahdanau"}}
    assert with_encoder_settings(other) is other


def test_the_learning_rate_depends_on_how_much_the_encoder_has_learned(run):
    cases = (False, str(run), 5e-4), (False, "bert_of_nobody", 5e-5), (True, str(run), 5e-3)
    for frozen, path, rate in cases:
        document = {
            "task": {"name": "classify", "encoder": path},
            "model": {"name": "pretrained", "path": path, "frozen": frozen},
            "attention": {"name": "multi_head", "heads": 2},
        }
        for setting, expected in (("auto", rate), (0.1, 0.1)):
            resolved = with_encoder_settings({**document, "optimizer": {"learning_rate": setting}})
            assert resolved["optimizer"] == {"learning_rate": expected}


def test_the_class_token_reads_the_text_and_no_padding(source):
    model = classifier(source)
    short, long = np.array([[5, 6, 7]], "int32"), np.array([[5, 6, 7, 0, 0, 0, 0]], "int32")
    np.testing.assert_allclose(model(short), model(long), atol=1e-6)
    weights = np.asarray(model.attention_weights(long))
    assert weights.shape == (1, 2, 1, 7) and not weights[..., 3:].any()
    assert (weights.sum(-1) < 1).all() and (weights[..., :3] > 0).all()


def test_deeper_layers_learn_slower(source):
    model = classifier(source, layer_decay=0.5)
    paths = [variable.path for variable in model.trainable_variables]
    factors = dict(zip(paths, model.rate_factors, strict=True))
    rates = {name: {factors[v.path] for v in part.trainable_variables} for name, part in (
        ("embeddings", model.encoder.embedding), ("first", model.encoder.encoder[0]),
        ("last", model.encoder.encoder[1]), ("final", model.encoder.final_norm),
        ("output", model.output_layer),
    )}  # fmt: skip
    expected = {"embeddings": 0.125, "first": 0.25, "last": 0.5, "final": 0.5, "output": 1.0}
    assert rates == {name: {value} for name, value in expected.items()}
    assert not classifier(source, frozen=True).encoder.trainable_variables


def test_a_factor_is_one_of_the_rate():
    optimizer = keras.optimizers.AdamW(weight_decay=0.1)
    variables = [keras.Variable(np.array([1.0, -2.0], "float32")) for _ in range(2)]
    optimizer.build(variables)
    states = [variable.numpy() for variable in optimizer.variables]
    start = [variable.numpy() for variable in variables]
    gradients = [keras.ops.array([0.3, 0.1]) for _ in variables]

    def steps(factors, rate):
        update, now, state = OptimizerFunction(optimizer, variables, factors), start, states
        for _ in range(3):
            now, state = update(state, rate, gradients, now)
        return [np.asarray(value) for value in now]

    whole, half = steps(None, 0.1), steps(None, 0.025)
    mixed = steps([1.0, 0.25], 0.1)
    np.testing.assert_allclose(mixed[0], whole[0], rtol=1e-6)
    np.testing.assert_allclose(mixed[1], half[1], rtol=1e-5)


def test_a_reader_reads_a_question_and_a_text_without_the_gap_between(source):
    def logits(question, places, text):
        reader = PretrainedReader(source=source, question_places=places, text_places=5)
        reader.build((None, 1 + places + 5))
        fill_encoder(reader)
        keras.utils.set_random_seed(1)
        reader.output_layer.set_weights([np.ones((8, 2)) * [1, -1], np.zeros(2)])
        row = [2, *question, 3, *[0] * (places - len(question) - 1), *text, *[0] * (5 - len(text))]
        tokens = np.array([row], "int32")
        return np.asarray(reader(tokens)), np.asarray(reader.attention_weights(tokens)), reader

    near, weights, reader = logits([7, 8], 3, [5, 6, 9])
    far = logits([7, 8], 6, [5, 6, 9])
    np.testing.assert_allclose(near[:, :, :4], far[0][:, :, :4], atol=1e-5)
    assert (near[:, :, 4:] < -1e8).all()
    np.testing.assert_allclose(weights[:, :, :3, :3], far[1][:, :, :3, :3], atol=1e-6)
    assert not far[1][..., 3:].any()
    whole = reader.encoder(np.array([[2, 7, 8, 3, 5, 6, 9, 3]], "int32"))
    np.testing.assert_allclose(weights[0, :, :3, :3], whole.weights[0, :, 4:7, 1:4], atol=1e-6)


def test_a_run_on_an_encoder_works_after_the_encoder_is_deleted(here, run, tmp_path, no_figures):
    place = tmp_path / "encoder"
    shutil.copytree(run, place)
    here.run(*CLASSIFY, f"model.path={place}", "model.frozen=true")
    (made,) = here.run_folders()
    assert made.parent.name == "multi_head"
    assert RunDirectory(made).read_config()["attention"]["heads"] == 2
    before = classifier(open_source(str(place)))
    shutil.rmtree(place)
    trained = TrainedRun.load(RunDirectory(made), "best")
    for weight, expected in zip(
        trained.model.encoder.get_weights(), before.encoder.get_weights(), strict=True
    ):
        np.testing.assert_array_equal(weight, expected)
    trained.task.load(0)
    assert trained.task.evaluate(trained.model).metrics
    code, out, err = here("classify", made, "The key is old.")
    assert code == 0 and out.strip() in ("right", "wrong"), err


@pytest.mark.slow
def test_a_run_on_an_encoder_resumes_to_the_same_bits(here, run, no_figures):
    words = (*CLASSIFY, f"model.path={run}", "model.layer_decay=0.7")
    assert_resumes_to_the_same_bits(here, *words)


def test_settings_that_dont_fit_are_refused_in_one_sentence(here, run):
    rows = [f"zebra lion tiger n{n},{'ab'[n % 2]}" for n in range(40)]
    (here.folder / "zoo.csv").write_text("\n".join(["text,label", *rows]))
    for words, said in (
        (["model.path=null"], "model.path: expected a run of task=masked_words"),
        ([f"model.path={run}", "attention=bahdanau"], "attention.name: expected multi_head"),
        ([f"model.path={run}", "task.encoder=null"], "task.encoder: expected"),
    ):
        assert_refused(here(*CLASSIFY, *words), said)
    zoo = ("data=table", "data.path=zoo.csv", f"model.path={run}")
    assert_refused(here("task=classify", "model=pretrained", *zoo), "doesn't know 100% of them")


def test_a_run_of_another_task_is_refused(tmp_path, run):
    other = tmp_path / "other"
    shutil.copytree(run, other)
    config = (other / "config.yaml").read_text().replace("name: masked_words", "name: fib")
    (other / "config.yaml").write_text(config)
    with pytest.raises(RequestError, match="expected a run of task=masked_words, got .* task=fib"):
        open_source(str(other))
    shutil.rmtree(other / "weights")
    (other / "config.yaml").write_text(config.replace("name: fib", "name: masked_words"))
    source = open_source(str(other))
    with pytest.raises(RequestError, match="h5: expected the weights of an encoder: "):
        source.fill(source.make())


def test_sentences_are_chosen_by_an_encoder(here, run, source, no_figures):
    (here.folder / "text.txt").write_text(" ".join([*TEXTS, "The letters fell.", "A boat."]))
    code, out, err = here("summarize", "text.txt", "--sentences", 2, "--encoder", run)
    assert code == 0 and len(out.splitlines()) == 2, err
    (here.folder / "text.txt").write_text(f"{'The old dog ' * 50}sleeps. A boat. Qwertz.")
    code, _, err = here("summarize", "text.txt", "--sentences", 2, "--encoder", run)
    assert code == 0 and "read as unknown: " in err and "qwertz" in err
    assert "warning: only the first 22 tokens of a sentence are read" in err


def test_learners_on_frozen_encoders_of_their_own_seeds_share_none(learner_of, encoder_runs):
    words = (*CLASSIFY, f"model.path={encoder_runs / 'sweeps/before'}", "model.frozen=true")
    learners = [learner_of(*words, f"seed={seed}") for seed in (0, 1, 0)]
    first, second, again = (learner.compiled for learner in learners)
    assert first is again and first is not second
