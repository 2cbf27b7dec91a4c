"""ONNX and CTranslate2: tiny models with drawn weights, whose outputs must be attnlab's."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from exported_examples import example_of

from attnlab.errors import RequestError, RunFailed
from attnlab.export.check import MOST_APART, Checked, compare
from attnlab.export.formats import Writer
from attnlab.tasks.declaration import load

ITEMS = 12
SMALL = ("model=transformer", "model.units=16", "model.layers=2", "model.feed_forward=24")
TRANSLATE = ("task=translate", "data=reverse", "data.pairs=100", "attention=multi_head", *SMALL)
CLASSIFY = ("task=classify", "data=agreement", "data.texts=100")
LANGUAGE = ("task=language", "data.sentences=200", "attention=multi_head", *SMALL)


@pytest.fixture
def drawn(compose, tmp_path):
    """A function from overrides to a task, and a model with drawn weights."""

    def drawn(*overrides: str):
        from attnlab.run.building import make_model, make_task

        config = compose(f"paths.data={tmp_path / 'cache'}", *overrides)
        task = make_task(config)
        task.load(config.seed)
        model, draw = make_model(config, task), np.random.default_rng(1)
        for variable in model.trainable_variables:
            variable.assign(variable + draw.normal(0, 0.1, variable.shape))
        return SimpleNamespace(task=task, model=model, config=config)

    return drawn


@pytest.fixture
def exported(drawn):
    """A function from overrides to what a model with drawn weights exports."""
    return lambda *overrides: exported_of(drawn(*overrides))


def exported_of(trained):
    return load(trained.task.kind.predictions.exported)(trained, ITEMS)


def printed(made, module, folder, form):
    """What the example of a written model prints."""
    from attnlab.export.card import example
    from attnlab.export.exporting import _add_texts

    module.write(made, folder, None)
    _add_texts(made, folder)
    (folder / "example.py").write_text(example(made, form, module.code(made)))
    return example_of(folder)


def by_ctranslate2(made, folder, quantize=None):
    from attnlab.export import ctranslate2_model

    ctranslate2_model.check(made, quantize)
    ctranslate2_model.write(made, folder, quantize)
    made = replace(made, own=made.transformer.own)
    return compare(made, ctranslate2_model.outputs(made, folder))


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        (*TRANSLATE, "model.norm=post", "model.activation=gelu"),
        (*TRANSLATE, "model.positions=rope", "attention.kv_heads=2", "model.tie_embeddings=none"),
        (*LANGUAGE, "model.positions=alibi", "model.norm=rms", "model.activation=swiglu"),
        (*LANGUAGE, "task.tokenizer=word", "model.tie_embeddings=false", "model.biases=false"),
    ],
    ids=lambda words: " ".join(words[len(TRANSLATE) :]),
)
def test_ctranslate2_has_the_same_tokens(exported, tmp_path, words):
    pytest.importorskip("ctranslate2")
    checked = by_ctranslate2(exported(*words), tmp_path)
    assert checked.equal == {"tokens": ITEMS}
    assert all(value <= MOST_APART for value in checked.apart.values())
    assert all(same == count for same, count in checked.texts.values())


@pytest.mark.slow
def test_the_example_of_a_translator_stops_where_attnlab_stops(exported, tmp_path):
    pytest.importorskip("ctranslate2")
    from attnlab.export import ctranslate2_model

    made = exported(*TRANSLATE)
    said = printed(made, ctranslate2_model, tmp_path, "ctranslate2")
    own = [token for token in made.transformer.own()["tokens"][0] if token]
    tokenizer = made.tokenizers["target_tokenizer.json"].made
    assert said == f"{tokenizer.decode(own, skip_special_tokens=False)}\n"
    assert len(own) > 50  # it doesn't end by itself


@pytest.mark.slow
def test_int8_weights_are_smaller_and_the_change_of_the_score_is_said(exported, tmp_path):
    pytest.importorskip("ctranslate2")
    made, sizes = exported(*LANGUAGE), {}
    for quantize in (None, "int8"):
        folder = tmp_path / str(quantize)
        folder.mkdir()
        checked = by_ctranslate2(made, folder, quantize)
        sizes[quantize] = (folder / "model/model.bin").stat().st_size
    assert sizes["int8"] < 0.6 * sizes[None]
    name, own, other = checked.scores
    assert name == "accuracy of the next token" and 0 <= min(own, other)
    assert f"{name} on {ITEMS} test items: " in " ".join(checked.lines(score=True))


@pytest.mark.slow
def test_a_card_describes_the_form_and_the_search_of_its_format(exported):
    beam = "the metrics are those of beam search with 3 beams"
    made = exported(*TRANSLATE, "task.beam=3")
    own, other = (said_of(made, form) for form in ("saved_model", "ctranslate2"))
    assert "Input `tokens`: int32 (any, any)." in own and "beam search with 3 beams, as for" in own
    assert "Input `" not in other and "ctranslate2.Translator" in other and beam in other
    assert "int8" not in other and "int8" in said_of(made, "ctranslate2", "int8")
    assert "translate greedily, as for the metrics" in said_of(exported(*TRANSLATE), "ctranslate2")
    made = exported(*LANGUAGE)
    own, other = (said_of(made, form) for form in ("saved_model", "ctranslate2"))
    assert "Input `count`" in own and "Column n of `probabilities`" in own
    assert "`" not in other.replace("`ctranslate2.Generator`", "")
    assert "at most 64 tokens together" in own and "at most 64 tokens together" in other


def said_of(made, form, quantize=None):
    return " ".join([*Writer(form).notes(made, quantize), *made.notes])


@pytest.mark.slow
def test_the_inputs_in_a_card_are_those_of_the_onnx_file(exported, tmp_path):
    pytest.importorskip("tf2onnx")
    import onnxruntime

    from attnlab.export import onnx_model

    made = exported("task=fib", "attention=bahdanau", "model.units=4")
    onnx_model.write(made, tmp_path, None)
    (own,) = onnxruntime.InferenceSession(str(tmp_path / onnx_model.FILE)).get_inputs()
    size = ", ".join(map(str, own.shape[1:]))
    assert (own.name, own.type) == ("history", "tensor(double)")
    assert onnx_model.notes(made, None)[0] == f"Input `history`: float64 (any, {size})."


@pytest.mark.parametrize("quantize", [None, "int8"])
def test_tokens_of_texts_must_be_equal_for_quantized_weights_too(quantize):
    from attnlab.export.exporting import _passed

    checked = Checked(3, {"tokens": 3}, {}, {"tokenizer.json": (3, 3)}, ("BLEU", 9, 9))
    assert _passed(checked, quantize)
    with pytest.raises(RunFailed, match="tokenizer differs .* 2 of 3 texts"):
        _passed(replace(checked, texts={"tokenizer.json": (2, 3)}), quantize)


@pytest.mark.slow
def test_what_ctranslate2_lacks_is_named(exported):
    from attnlab.export import ctranslate2_model

    for words, said in (
        ((*TRANSLATE, "attention.gate=headwise"), "attention.gate=headwise has no counterpart"),
        ((*TRANSLATE, "model.positions=t5"), "model.positions=t5 has no counterpart"),
    ):
        with pytest.raises(RequestError, match=said):
            ctranslate2_model.check(exported(*words), None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("task=fib", "attention=bahdanau", "model.units=4"),
        ("task=fib_random", "attention=multi_head", *SMALL),
        ("task=digits", "attention=multi_head", "model.units=16", "model.layers=1"),
        ("task=masked_words", "data.sentences=200", "attention=multi_head", *SMALL),
        ("task=answer", "data.questions=100", "model=transformer", "attention=multi_head", *SMALL),
        ("task=answer", "data.questions=100", "model=rnn", "attention=bahdanau", "model.units=8"),
        (*CLASSIFY, "model=transformer", "attention=multi_head", "model.units=8", "model.layers=1"),
        (*CLASSIFY, "model=rnn", "attention=luong_global", "model.units=8", "model.cell=lstm"),
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_onnx_has_the_same_outputs(exported, tmp_path, words):
    pytest.importorskip("tf2onnx")
    from attnlab.export import onnx_model, saved_model

    made = exported(*words)
    for module in (onnx_model, saved_model):
        module.check(made, None)
        module.write(made, tmp_path, None)
        assert compare(made, module.outputs(made, tmp_path)).passed


@pytest.mark.slow
def test_a_run_of_mixed_precision_is_exported_in_float32(here, tmp_path):
    pytest.importorskip("tf2onnx")
    words = ("task=digits", "data.limit=200", "model.units=8", "model.layers=1", "trainer.epochs=1")
    assert here(*words, "trainer.precision=mixed_bfloat16", "tracking.enabled=false").code == 0
    done = here("export", "latest", "--format", "onnx", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert "The run computed in mixed_bfloat16" in (tmp_path / "out/README.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("task=masked_words", "data.sentences=200", "task.tokenizer=bpe", *SMALL),
        ("task=answer", "data.questions=100", "attention=bahdanau", "model=rnn", "model.units=8"),
        ("task=classify", "data=agreement", "data.texts=100", "attention=bahdanau", "model=rnn"),
        LANGUAGE,
    ],
    ids=lambda words: words[0],
)
def test_a_saved_model_has_the_same_outputs_and_its_example_runs(exported, tmp_path, words):
    from attnlab.export import saved_model

    made = exported(*words)
    assert len(printed(made, saved_model, tmp_path, "saved_model").splitlines()) >= 1
    assert compare(made, saved_model.outputs(made, tmp_path)).passed


@pytest.mark.slow
def test_the_examples_of_a_reader_give_attnlabs_answers(drawn, tmp_path):
    from attnlab.export import saved_model

    words = ("task=answer", "data.questions=100", "attention=bahdanau", "model=rnn")
    trained = drawn(*words, "model.units=8", "task.max_answer=3")
    asked, outputs = trained.task.data.parts["test"].questions, exported_of(trained).own()
    said = trained.task.answer(trained.model, asked[0].question, asked[0].text)[0].text
    assert printed(exported_of(trained), saved_model, tmp_path, "saved_model").strip() == said
    found = []
    for row in range(ITEMS):
        known = {"np": np, "outputs": {name: each[row : row + 1] for name, each in outputs.items()}}
        exec("\n".join(exported_of(trained).example.after[:3]), known)
        found.append((known["first"], known["last"]))
    logits = trained.model.predict(trained.task.data.parts["test"].rows.tokens, verbose=0)
    expected = spans_of(trained.task, logits)[:ITEMS]
    assert found == expected and len({*found}) > 1


def spans_of(task, logits):
    part = task.data.parts["test"]
    answers = task.predicted_answers(logits, part)
    pairs = zip(part.texts, answers, strict=True)
    return [text.holding(answer.start, answer.end) for text, answer in pairs]


@pytest.mark.slow
def test_the_example_of_masked_words_fills_each_mask(exported, tmp_path):
    from attnlab.export import saved_model

    made = exported("task=masked_words", "data.sentences=200", "attention=multi_head", *SMALL)
    texts = made.texts["tokenizer.json"][0]
    row = next(row for row, text in enumerate(texts) if text.count("[MASK]") > 1)
    before = f"text = {texts[row]!r}"
    lines = [before if line.startswith("text = ") else line for line in made.example.before]
    made = replace(made, example=made.example._replace(before=lines))
    said = printed(made, saved_model, tmp_path, "saved_model")
    tokenizer = made.tokenizers["tokenizer.json"].made
    places = np.flatnonzero(made.items["tokens"][row] == tokenizer.token_to_id("[MASK]"))
    expected = texts[row]
    for word in made.own()["words"][row, places]:
        expected = expected.replace(
            "[MASK]", tokenizer.decode([word], skip_special_tokens=False), 1
        )
    assert said.startswith(f"{expected} [")
