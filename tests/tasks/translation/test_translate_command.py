"""`attnlab translate` from the command line: a line for each sentence, and refused requests."""

from __future__ import annotations

import io
import itertools
import json
import sys

import pytest
from command_line import CommandLine, Outcome, TrainedRun, without_latest

from attnlab.cli import main
from attnlab.run import loading
from attnlab.tasks.translation.task import Translate

NUMBERS = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf"}
TINY = (
    *("task=translate", "data=files", "data.path=pairs.tsv", "attention=luong_global"),
    *("model=rnn", "model.units=8", "model.embedding=8", "trainer.epochs=2", "task.beam=2"),
    *("model.cell=simple", "model.bidirectional=false"),
    *("task.max_length=20", "tracking.enabled=false", "trainer.batch_size=200"),
    *("schedule=constant", "optimizer.learning_rate=0.01"),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory, no_figures) -> TrainedRun:
    """A run that has learned almost nothing: its translations don't matter here."""
    attnlab = CommandLine(tmp_path_factory.mktemp("translated"))
    triples = list(itertools.product(NUMBERS, repeat=3))
    pairs = [words[: 1 + place % 3] for place, words in enumerate(triples)] * 2
    lines = [f"{' '.join(pair)}.\t{' '.join(map(NUMBERS.get, pair))}." for pair in pairs]
    (attnlab.folder / "pairs.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(attnlab.folder)
        patch.setenv("ATTNLAB_RUNS", str(attnlab.runs))
        assert main([*TINY]) == 0
    (folder,) = attnlab.run_folders()
    return TrainedRun(attnlab, Outcome(0, "", ""), folder)


@pytest.fixture(scope="module")
def compiled_once():
    """Let commands with the same epoch and beam share a model and its search, which is compiled."""
    load, make = loading.TrainedRun.load, Translate.translator
    loaded, made = {}, {}

    def load_once(folder, *epoch):
        if (folder.path, epoch) not in loaded:
            loaded[folder.path, epoch] = load(folder, *epoch)
        return loaded[folder.path, epoch]

    def make_once(task, model, **search):
        key = (id(model), *search.values())
        if key not in made:
            made[key] = make(task, model, **search)
        made[key]._warned.clear()
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading.TrainedRun, "load", load_once)
        patch.setattr(Translate, "translator", make_once)
        yield


@pytest.fixture
def translate(run, compiled_once, monkeypatch, capfdbinary):
    """The command in this process, which has TensorFlow, with bytes on standard input."""
    monkeypatch.chdir(run.attnlab.folder)
    monkeypatch.setenv("ATTNLAB_RUNS", str(run.attnlab.runs))

    def translate(*words: object, given: bytes = b"", stream=io.BytesIO) -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream(given)))
        code = main(["translate", "latest", *map(str, words)])
        written = capfdbinary.readouterr()
        return Outcome(code, written.out.decode(), without_latest(written.err.decode()))

    return translate


def test_each_line_gives_one_line(translate):
    given = "one two.\r\n\n  three   four.  \nGrüße 你 🙂 \x00\n\t\none two."
    code, out, err = translate(given=b"\xef\xbb\xbf" + given.encode())
    unknown = "not in the model's vocabulary, and read as unknown: Grüße, 你, 🙂, \\x00"
    assert (code, err) == (0, f"attnlab: warning: {unknown}\n")
    lines = out.split("\n")
    assert len(lines) == 7 and lines[6] == ""
    assert (lines[1], lines[4], lines[5]) == ("", "", lines[0])
    arguments = translate("one two.", "", "three four.")
    assert arguments.out.split("\n")[:3] == lines[:3]
    assert translate().out == ""


def test_ranks_and_scores(translate):
    code, out, err = translate("--n-best", 2, "--scores", "one two.", "", "three.")
    assert (code, err) == (0, "")
    lines = [line.split("\t") for line in out.splitlines()]
    assert [line[0] for line in lines] == ["1", "2", "", "1", "2"]
    scores = [float(line[1]) for line in lines if line != [""]]
    assert 0 > scores[0] >= scores[1] and 0 > scores[2] >= scores[3]
    best = [lines[0][2], "", lines[3][2]]
    assert translate("one two.", "", "three.").out.splitlines() == best
    scored = translate("--scores", "one two.", "").out.splitlines()
    assert scored == ["\t".join(lines[0][1:]), ""]


def test_json(translate):
    code, out, err = translate("--json", "--beam", 3, "--n-best", 3, "one two.", "")
    assert (code, err) == (0, "")
    found, empty = map(json.loads, out.splitlines())
    assert (found["source"], found["source_tokens"]) == ("one two.", ["one", "two", "."])
    assert len(found["translations"]) == 3 and found["unknown"] == []
    for best in found["translations"]:
        assert set(best) == {"text", "score", "log_probability", "tokens", "copied"}
        assert best["log_probability"] <= best["score"] < 0
    assert empty["translations"] == [
        {"text": "", "score": 0.0, "log_probability": 0.0, "tokens": [], "copied": []}
    ]


def test_any_epoch_and_the_mean_of_several(translate):
    words = ("--scores", "one two three.")
    each = [translate("--epoch", epoch, *words).out for epoch in (1, "last", "best")]
    assert each[0] != each[1] and each[2] in each[:2]
    mean = [translate(*chosen, *words).out for chosen in AVERAGES]
    assert mean[0] == mean[1] and mean[0] not in each


AVERAGES = (("--epoch", "average", "--average", 2), ("--average", 2))


def test_attention(run, translate):
    figure = run.attnlab.folder / "map.png"
    code, out, err = translate("--attention", "map.png", "--beam", 3, "one two.")
    assert (code, out.count("\n")) == (0, 1)
    assert err == f"attnlab: --attention: the picture is in {figure}\n"
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_long_sentence_gets_one_warning_and_is_translated(translate):
    long = "one two " * 30
    code, out, err = translate(given=f"{long}\n{long}\none.\n".encode())
    assert (code, out.count("\n")) == (0, 3)
    assert err == (
        "attnlab: warning: a sentence has 60 tokens, the longest in training had 4: "
        "its translation may be poor\n"
    )


# --- streams -----------------------------------------------------------------------------------


def test_many_lines_are_printed_in_order(translate):
    numbers = list(NUMBERS)
    sentences = [f"{numbers[i % 5]} {numbers[i // 5 % 5]}." for i in range(1100)]
    code, out, err = translate("--beam", 1, given="\n".join(sentences).encode())
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) == 1100 and lines[:25] * 44 == lines


# --- what is refused ---------------------------------------------------------------------------

REFUSED = [
    (["--beam", "0", "one"], "'--beam'", "0 is not in the range 1<=x<=100"),
    (["--n-best", "3", "one"], "--n-best=3: must be at most the number of hypotheses, --beam=2."),
    (["--beam", "3", "--n-best", "4", "one"], "--n-best=4: must be", "--beam=3."),
    (["--n-best", "0", "one"], "'--n-best'"),
    (["--epoch", "7", "one"], "--epoch: expected best, last or one of the saved epochs 1 to 2"),
    (["--average", "3", "one"], "--average: expected at most 2, the number of epochs"),
    (["--head", 2, "one"], "--layer, --head, --all-heads: needs --attention FILE.png."),
    (["--beams", "2", "one"], "--beams"),
]


@pytest.mark.parametrize("words, expected", [(words, rest) for words, *rest in REFUSED], ids=str)
def test_a_wrong_request_gets_one_sentence(translate, words, expected):
    code, out, err = translate(*words)
    (line,) = err.splitlines()
    assert (code, out) == (2, "") and line.startswith("attnlab: ")
    for text in expected:
        assert text in line


class Terminal(io.BytesIO):
    """Standard input from a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_prompt(translate):
    code, out, err = translate(given=b"one.\n", stream=Terminal)
    assert (code, out.count("\n")) == (0, 1)
    assert err == "attnlab: type a sentence and press Enter; Ctrl-D ends.\n"
