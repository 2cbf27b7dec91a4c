"""`attnlab translate` from the command line: a line for each sentence, and refused requests."""

from __future__ import annotations

import json
from functools import partial

import pytest
from command_line import CommandsHere

from attnlab.runner import loading
from attnlab.tasks.translation.task import Translate
from attnlab.text.tokenizers import Tokenizer


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
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading.TrainedRun, "load", load_once)
        patch.setattr(Translate, "translator", make_once)
        yield


@pytest.fixture
def translate(translating, compiled_once):
    """The command in this process, which has TensorFlow, with bytes on standard input."""
    return partial(CommandsHere(translating.attnlab.folder), "translate", "latest")


@pytest.fixture(scope="module")
def sentences(translating) -> list[str]:
    """Two sentences whose words the model knows."""
    tokenizer = Tokenizer.load(translating.folder / "assets" / "source_tokenizer.json")
    lines = (translating.attnlab.folder / "pairs.tsv").read_text(encoding="utf-8").splitlines()
    texts = [line.split("\t")[0] for line in lines]
    return [text for text in texts if not tokenizer.unknown(text)][:2]


def test_each_line_gives_one_line(translate, sentences):
    first, second = sentences
    text = f"{first}\r\n\n  {second}  \nGrüße 你 🙂 \x00\n\t\n{first}"
    code, out, err = translate(stdin=b"\xef\xbb\xbf" + text.encode())
    unknown = "not in the model's vocabulary, and read as unknown: Grüße, 你, 🙂, \\x00"
    assert (code, err) == (0, f"attnlab: warning: {unknown}\n")
    lines = out.split("\n")
    assert len(lines) == 7 and lines[6] == ""
    assert (lines[1], lines[4], lines[5]) == ("", "", lines[0])
    arguments = translate(first, "", second)
    assert arguments.out.split("\n")[:3] == lines[:3]
    assert translate().out == ""


def test_ranks_and_scores(translate, sentences):
    words = (sentences[0], "", sentences[1])
    code, out, err = translate("--beam", 2, "--n-best", 2, "--scores", *words)
    assert (code, err) == (0, "")
    lines = [line.split("\t") for line in out.splitlines()]
    assert [line[0] for line in lines] == ["1", "2", "", "1", "2"]
    scores = [float(line[1]) for line in lines if line != [""]]
    assert 0 > scores[0] >= scores[1] and 0 > scores[2] >= scores[3]
    best = [lines[0][2], "", lines[3][2]]
    assert translate("--beam", 2, *words).out.splitlines() == best


def test_json(translate, sentences):
    code, out, err = translate("--json", "--beam", 2, "--n-best", 2, sentences[0], "")
    assert (code, err) == (0, "")
    content, empty = map(json.loads, out.splitlines())
    assert content["source"] == sentences[0] and content["unknown"] == []
    assert "".join(content["source_tokens"]) == sentences[0].replace(" ", "")
    assert len(content["translations"]) == 2
    for best in content["translations"]:
        assert set(best) == {"text", "score", "log_probability", "tokens", "copied"}
        assert best["log_probability"] <= best["score"] < 0
    assert empty["translations"] == [
        {"text": "", "score": 0.0, "log_probability": 0.0, "tokens": [], "copied": []}
    ]


def test_any_epoch_and_the_mean_of_several(translate, sentences):
    words = ("--scores", sentences[0])
    single = [translate("--epoch", epoch, *words).out for epoch in (1, "last", "best")]
    assert single[0] != single[1] and single[2] in single[:2]
    mean = translate("--average", 2, *words).out
    assert mean not in single


def test_attention(translating, translate, sentences):
    code, out, err = translate("--attention", "map.png", sentences[0])
    figure = translating.attnlab.folder / "map.png"
    assert (code, out.count("\n")) == (0, 1)
    assert err == f"attnlab: --attention: the picture is in {figure}\n"
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_many_sentences_are_translated_in_order(translate, sentences):
    lines = sentences * 550
    code, out, err = translate(stdin="\n".join(lines).encode())
    translated = out.splitlines()
    assert (code, err, len(translated)) == (0, "", 1100)
    assert translated[:2] * 550 == translated


# --- what is refused ---------------------------------------------------------------------------

REFUSED = [
    (["--beam", "0", "one"], "'--beam'", "0 is not in the range 1<=x<=100"),
    (["--n-best", "3", "one"], "--n-best=3: must be at most the number of hypotheses, --beam=1."),
    (["--epoch", "7", "one"], "--epoch: expected best, last or one of the saved epochs 1 to 2"),
    (["--average", "3", "one"], "--average: expected at most 2, the number of epochs"),
    (["--all-heads", "one"], "--all-heads: needs --attention FILE.png."),
]


@pytest.mark.parametrize(
    "words, expected", [(words, fragments) for words, *fragments in REFUSED], ids=str
)
def test_a_wrong_request_gets_one_sentence(translate, words, expected):
    code, out, err = translate(*words)
    (line,) = err.splitlines()
    assert (code, out) == (2, "") and line.startswith("attnlab: ")
    for text in expected:
        assert text in line
