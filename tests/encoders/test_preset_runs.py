"""Runs on presets of keras-hub, from the command line."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from hub_presets import BACKBONES, WORDS, write_preset

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import read_attention

QUICK = ("trainer.epochs=2", "trainer.batch_size=16", "tracking.enabled=false")
TUNING = ("model=pretrained", "model.path=preset", "trainer.jit=false")


@pytest.fixture
def lab(here, request, no_figures):
    """A folder with a preset of random weights, and texts whose class depends on one word."""
    pytest.importorskip("keras_hub")
    write_preset(here.folder / "preset", getattr(request, "param", "BertBackbone"))
    words = [word for word in WORDS if word.isalpha() and word.islower()]
    draw, rows = np.random.default_rng(0), {}
    while len(rows) < 60:
        label = len(rows) % 2
        text = " ".join([*draw.choice(words[2:], 4), words[label]])
        rows[text] = f"{text},{'ab'[label]}"
    (here.folder / "texts.csv").write_text("\n".join(["text,label", *rows.values()]))
    return here


FIRST, *OTHERS = BACKBONES
PRESETS = [FIRST, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]


@pytest.mark.parametrize("lab", PRESETS, indirect=True)
def test_a_preset_is_tuned_and_used_without_its_folder(lab):
    data = ("task=classify", "data=table", "data.path=texts.csv")
    lab.run(*data, *TUNING, *QUICK)
    (run,) = lab.run_folders()
    config = RunDirectory(run).read_config()
    assert config["attention"] == {**config["attention"], "name": "multi_head", "heads": 2}
    weights = read_attention(RunDirectory(run)).final()["weights"]
    assert weights.shape[1] == 2 and np.isfinite(weights).all()
    shutil.rmtree(lab.folder / "preset")
    text = next(iter((lab.folder / "texts.csv").read_text().splitlines()[1:])).split(",")[0]
    out = lab.run("classify", "latest", "--json", text).out
    assert sum(json.loads(out)["probabilities"].values()) == pytest.approx(1, abs=1e-5)


@pytest.mark.slow
def test_questions_are_answered_by_a_preset(lab):
    words = [word for word in WORDS if word.isalpha() and word.islower()]
    draw, paragraphs = np.random.default_rng(0), []
    for number in range(40):
        text = " ".join(draw.choice(words, 6))
        answer = text.split()[number % 6]
        answers = [{"text": answer, "answer_start": f" {text} ".index(f" {answer} ")}]
        question = {"id": str(number), "question": words[number % 9], "answers": answers}
        paragraphs.append({"context": text, "qas": [question]})
    articles = [{"title": str(n), "paragraphs": [one]} for n, one in enumerate(paragraphs)]
    (lab.folder / "asked.json").write_text(json.dumps({"version": "1.1", "data": articles}))
    settings = ("task=answer", "data=questions", "data.path=asked.json", "task.max_length=12")
    lab.run(*settings, *TUNING, *QUICK)
    (lab.folder / "text.txt").write_text(paragraphs[0]["context"])
    code, out, err = lab("answer", "latest", "--text", "text.txt", words[0])
    assert code == 0 and out.strip(), err
