"""task=answer from the command line: a run, its files, and the commands that use it."""

from __future__ import annotations

import json

import numpy as np
import pandas
import pytest
from question_runs import some_questions, squad_json
from run_folders import write_run

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.runner.loading import TrainedRun
from attnlab.runner.train import make_learner, make_task, start_afresh
from attnlab.tasks.attention import read_attention

TINY = (
    *("task=answer", "data=questions", "data.path=asked.json", "model.units=8"),
    *(
        "model.cell=simple",
        "model.embedding=8",
        "model.dropout=0.0",
        "optimizer.learning_rate=0.02",
    ),
    *("trainer.epochs=10", "trainer.batch_size=16", "trainer.jit=false"),
)
UNTRACKED = "tracking.enabled=false"
TRAINED = (*TINY, "attention=bahdanau", UNTRACKED)
TEXT = "Clara came after lunch. Peter came\n at noon."


@pytest.fixture
def lab(here, no_figures):
    (here.folder / "asked.json").write_text(squad_json(some_questions(300)))
    (here.folder / "text.txt").write_text(TEXT)
    return here


def test_a_run_learns_and_works_with_every_command(trained_lab):
    (run,) = trained_lab.run_folders()
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["metric"] == "exact_match" and metrics["test"]["f1"] > 60
    assert {"sentence", "phrase"} == metrics["baselines"].keys()
    header = (run / "history.csv").read_text().splitlines()[0].split(",")
    assert {"val_loss", "val_exact_match", "val_f1", "train_loss"} <= {*header}

    out = trained_lab.run("answer", "latest", "--text", "text.txt", "When did Peter come?").out
    probability, place, answer = out.strip().split("\t")
    start, end = map(int, place.split("-"))
    assert " ".join(TEXT[start:end].split()) == answer and 0 < float(probability) <= 1
    words = ("answer", "latest", "--text", "text.txt", "--json")
    code, out, err = trained_lab(*words, "When did Peter come?", "Who came ever?")
    first, second = map(json.loads, out.splitlines())
    assert first["question"] == "When did Peter come?" and second["unknown"] == ["ever"]
    assert (first["start"], first["end"], first["answer"]) == (start, end, TEXT[start:end])
    assert first["probability"] == pytest.approx(float(probability), abs=1e-4)
    words = ("answer", "latest", "--text", "text.txt", "Who came ever?")
    _, early, err = trained_lab(*words, "--epoch", "1")
    assert "attnlab: warning: not in the model's vocabulary, and read as unknown: ever" in err
    assert "tokens are read" not in err
    _, _, err = trained_lab(*words[:-1], "When did Peter come, and " * 9 + "who?")
    assert "warning: only the first " in err and "the end of 'When did Peter" in err
    figure = trained_lab.folder / "map.png"
    code, late, err = trained_lab(*words, "--attention", str(figure))
    assert code == 0 and figure.stat().st_size > 5000, err
    assert early != late

    code, out, _ = trained_lab("evaluate", "latest", "--json")
    assert json.loads(out)["metrics"] == pytest.approx(metrics["test"], abs=1e-4)


def test_predictions_and_attention_have_the_answers(trained_lab):
    (run,) = trained_lab.run_folders()
    lines = (run / "predictions.csv").read_text().splitlines()
    assert lines[0].split(",") == [
        *("index", "id", "question", "answer", "prediction", "start", "end"),
        *("probability", "exact_match", "f1", "sentence", "phrase"),
    ]
    questions = {item.id: item for item in some_questions(300)}
    for line in lines[1:]:
        cells = line.split(",")
        assert questions[cells[1]].text[int(cells[5]) : int(cells[6])] == cells[4]
        assert (cells[4] == cells[3]) <= (cells[8] == "1")
    recorded = read_attention(RunDirectory(run))
    assert recorded.epochs == [*range(1, 11)]
    arrays = recorded.final()
    assert arrays["index"].tolist() == recorded.at(1)["index"].tolist()
    for row, number in enumerate(arrays["index"]):
        cells = lines[1 + int(number)].split(",")
        first, last = arrays["prediction"][row]
        words = "".join(arrays["text"][row, first : last + 1])
        assert words == cells[4].lower().replace(" ", "")
        assert bool(arrays["right"][row]) == (cells[8] == "1")


def test_another_question_length_in_equal_rows_is_compiled_separately(compose, tmp_path):
    file, questions = tmp_path / "asked.json", some_questions(20)
    config = compose(*TINY, f"data.path={file}", "attention=none")
    made = []
    # The questions get a word of the texts instead.
    for prefix, pronoun in (("", " It "), ("It ", " ")):
        moved = [
            item._replace(
                question=f"{prefix}{item.question}", text=item.text.replace(" It ", pronoun)
            )
            for item in questions
        ]
        file.write_text(squad_json(moved))
        task = make_task(config)
        task.load()
        start_afresh(0)
        made.append(make_learner(config, task))
    first, second = made
    assert first.inputs.shape == second.inputs.shape
    assert first.compiled is not second.compiled


@pytest.mark.slow
def test_long_texts_are_read_in_windows(lab):
    words = ("task.max_length=9", "task.stride=3", "trainer.epochs=8", "attention=bahdanau")
    lab.run(*TINY, *words, UNTRACKED)
    (run,) = lab.run_folders()
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["test"]["f1"] > 0
    (lab.folder / "long.txt").write_text("It was day 1. " * 400 + TEXT + " It was day 2." * 300)
    code, out, err = lab("answer", "latest", "--text", "long.txt", "Who came at noon?")
    assert code == 0 and len(out.split("\t")) == 3, err


@pytest.mark.slow
def test_questions_may_have_no_answer(lab):
    questions = some_questions(300)
    without = [item._replace(id=f"{item.id}n", question="Where is it?", answers=())
               for item in questions[::2]]  # fmt: skip
    (lab.folder / "asked.json").write_text(squad_json([*questions, *without]))
    lab.run(*TINY, "attention=bahdanau", UNTRACKED)
    (run,) = lab.run_folders()
    metrics = json.loads((run / "metrics.json").read_text())
    table = pandas.read_csv(run / "predictions.csv")
    unanswerable = table.answer.isna()
    assert (table.exact_match[unanswerable] == 1).all()
    share = metrics["baselines"]["no_answer"]["exact_match"]
    assert share == pytest.approx(100 * unanswerable.mean())
    code, out, err = lab("answer", "latest", "--text", "text.txt", "Where is it?")
    assert code == 0 and out.strip().split("\t")[1:] == ["-", "(no answer)"], err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((" ", "--text", "text.txt"), "QUESTION 1: expected words, got none."),
        (("a", "--text", "nowhere.txt"), "--text: nowhere.txt can't be read (No such file"),
        (("a", "b", "--text", "text.txt", "--attention", "x.png"), "one question, got more."),
    ],
)
def test_wrong_questions_and_texts_are_refused_in_one_sentence(lab, words, message):
    write_run(lab.runs, "bahdanau", task="answer")
    code, _, err = lab("answer", "latest", *words)
    assert code == 2 and message in err and err.count("\n") == 1, err


def test_pairs_are_served(trained_lab):
    (run,) = trained_lab.run_folders()
    loaded = TrainedRun.load(RunDirectory(run))
    pairs = np.array([["Who came at noon?", TEXT], ["When did Clara come?", TEXT]], dtype=object)
    result = loaded.task.serve(loaded.model, pairs)
    assert result.shape == (2,) and all(answer in TEXT for answer in result)
    for wrong in (None, ["Who?"], [["a", "b", "c"]]):
        with pytest.raises(RequestError, match="inputs: expected pairs of a question and a text"):
            loaded.task.serve(loaded.model, wrong)
    with pytest.raises(RequestError, match="text: expected words, got none."):
        loaded.task.serve(loaded.model, [["Who?", " "]])
