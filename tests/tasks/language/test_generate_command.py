"""The command `attnlab generate`."""

from __future__ import annotations

import json
import sys

import pytest
from command_line import assert_refused

from attnlab.tasks.language.predictor import Continued, GeneratePredictor
from attnlab.tasks.language.text.vocabulary import Symbols
from attnlab.tasks.language.text.writing import Writer

TINY = (
    *("task=language", "data.sentences=100", "task.context=16", "model.units=16"),
    *("attention.heads=2", "model.layers=1", "model.feed_forward=16", "trainer.epochs=1"),
    *("trainer.batch_size=64", "tracking.enabled=false", "trainer.jit=false"),
)


@pytest.fixture
def lab(here, no_figures):
    return here


@pytest.fixture
def trained(trained_once):
    """A run that is trained once for all tests of this file; each test gets a copy."""
    return trained_once(*TINY)


def generated(trained, *arguments):
    code, out, err = trained("generate", "latest", *arguments, "--json")
    assert code == 0, err
    return json.loads(out), err


def test_the_same_seed_gives_the_same_text(trained):
    one, _ = generated(trained, "The cat", "--tokens", "40", "--seed", "3")
    assert one["prompt"] == "The cat"
    (text,) = one["texts"]
    assert len(text["tokens"]) == len(text["probabilities"]) == 40 == len(text["text"])
    assert not text["stopped"] and all(0 < share <= 1 for share in text["probabilities"])
    again, _ = generated(trained, "The cat", "--tokens", "40", "--seed", "3", "--number", "2")
    assert again["texts"][0]["text"] == text["text"] != again["texts"][1]["text"]
    other, _ = generated(trained, "The cat", "--tokens", "40", "--seed", "4")
    assert other["texts"][0]["text"] != text["text"]


def test_temperature_0_top_k_1_and_a_tiny_top_p_take_the_most_probable_tokens(trained):
    texts = [
        generated(trained, "The ", "--tokens", "9", *choice)[0]["texts"][0]["text"]
        for choice in (
            ("--temperature", "0"),
            ("--top-k", "1", "--seed", "5"),
            ("--top-p", "1e-9", "--seed", "6"),
            ("--min-p", "1", "--seed", "7"),
        )
    ]
    assert len({*texts}) == 1


def test_forms_of_text(trained):
    (text,) = generated(trained, "The ", "--tokens", "30")[0]["texts"]
    code, out, _ = trained("generate", "latest", "The ", "--tokens", "30")
    assert code == 0 and out == f"The {text['text']}\n"
    _, out, _ = trained("generate", "latest", "The ", "--tokens", "30", "--number", "2")
    assert out.startswith(f"--- 1 ---\nThe {text['text']}\n--- 2 ---\nThe ")
    _, out, _ = trained("generate", "latest", "The ", "--tokens", "30", "--scores")
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[:2] for row in rows] == [["1", str(n)] for n in range(1, 31)]
    assert [row[3] for row in rows] == text["tokens"]
    assert [float(row[2]) for row in rows] == pytest.approx(text["probabilities"], abs=1e-4)
    stop = text["text"][4:7]
    _, out, _ = trained("generate", "latest", "The ", "--tokens", "30", "--stop", stop)
    assert out == f"The {text['text'].partition(stop)[0]}\n"


def test_a_long_prompt_is_read_at_its_end(trained):
    long = "The old dog sleeps and the cat waits"
    found, err = generated(trained, long, "--tokens", "5")
    assert "warning: the model reads 16 tokens, the last of the 36 of this prompt." in err
    short, err = generated(trained, long[-16:], "--tokens", "5")
    assert found["texts"] == short["texts"] and "warning" not in err


def test_an_empty_prompt_starts_a_line(trained):
    found, _ = generated(trained, "", "--tokens", "12")
    line, _ = generated(trained, "\n", "--tokens", "12")
    assert found["prompt"] == "" and found["texts"] == line["texts"]


def test_attention_is_drawn(trained):
    code, _, err = trained("generate", "latest", "The ", "--tokens", "9", "--attention", "a.png")
    assert code == 0 and "a.png" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("The ~",), "got '~'"),
        (("The", "--top-p", "0"), "--top-p: expected more than 0 and at most 1, got 0.0"),
        (("The", "--temperature", "-1"), "--temperature: expected 0, or 1e-6 or more, got -1.0"),
        (("The", "--temperature", "nan"), "--temperature: expected 0, or 1e-6 or more, got nan"),
        (("The", "--temperature", "1e-307"), "--temperature: expected 0, or 1e-6 or more"),
        (("The", "--temperature", "0", "--top-k", "3"), "--top-k: it has no effect with"),
        (("The", "--temperature", "0", "--number", "2"), "--number: expected 1 with"),
        (("The", "--stop", ""), "--stop: expected a text, got none"),
        (("The", "--repetition", "0"), "--repetition: expected 0.01 to 100, got 0.0"),
        (("The", "--min-p", "2"), "--min-p: expected a number from 0 to 1, got 2.0"),
        (("The", "--top-k", "0"), "--top-k"),
        (("The", "--tokens", "0"), "--tokens"),
    ],
)
def test_bad_requests_get_a_sentence(trained, arguments, message):
    code, out, err = trained("generate", "latest", *arguments)
    assert code == 2 and message in err and not out


class Steps:
    """Steps of two texts that count how many are taken."""

    taken = 0

    def __iter__(self):
        from attnlab.tasks.language.generation import Drawn

        for tokens in ((0, 1), (1, 1), (0, 0), (1, 1)):
            self.taken += 1
            yield Drawn(tokens, (0.5, 0.25))


def test_the_first_text_is_written_while_it_is_made(monkeypatch):
    steps, words = Steps(), Symbols(["a", "b"])
    found = Continued("a", [0], [Writer(words, [0], [" b a"]), Writer(words, [0])], steps)
    predictor = object.__new__(GeneratePredictor)
    predictor._scores, predictor._number = False, 2
    pieces = predictor.pieces(found)
    assert [next(pieces) for _ in range(2)] == ["--- 1 ---\n", "a"] and steps.taken == 0
    assert next(pieces) == " a" and steps.taken == 1
    assert "".join(pieces) == "\n--- 2 ---\na b b a b" and steps.taken == 4
    assert found.writers[0].stopped and found.probabilities == [[0.5] * 3, [0.25] * 4]


def test_a_terminal_without_a_prompt_starts_a_line(monkeypatch):
    class Terminal:
        def isatty(self):
            return True

    predictor = object.__new__(GeneratePredictor)
    predictor.request = type("Request", (), {"words": (), "files": ()})
    monkeypatch.setattr(sys, "stdin", Terminal())
    assert predictor.read() == [""]
    monkeypatch.setattr(sys, "stdin", None)
    assert predictor.read() == []


def test_an_empty_prompt_for_rows_is_refused_and_the_next_step_is_the_page(lab):
    words = [
        *("task=language", "data=copy", "data.rows=100", "model.units=8", "model.layers=1"),
        *("attention.heads=2", "trainer.epochs=1", "trainer.jit=false", "tracking.enabled=false"),
    ]
    code, out, _ = lab(*words)
    assert code == 0 and "next: attnlab report latest, or train with attention=bahdanau" in out
    assert_refused(lab("generate", "latest", ""), "PROMPT: expected symbols among _, ., ?, 0, ")
    assert lab("generate", "latest", "3 4 ?", "--tokens", "2").out.startswith("3 4 ? ")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("The --top-p 0", "--top-p: expected more than 0 and at most 1, got 0.0."),
        ("The --temperature -1", "--temperature: expected 0, or 1e-6 or more, got -1.0."),
        ("The --min-p 2", "--min-p: expected a number from 0 to 1, got 2.0."),
        ("The --repetition 0", "--repetition: expected 0.01 to 100, got 0.0."),
        ("The --top-k 0", "'--top-k': 0 is not in the range"),
        ("The\N{SNOWMAN}", "PROMPT: expected tokens of the model"),
    ],
)
def test_wrong_requests(trained, words, sentence):
    assert_refused(trained("generate", "latest", *words.split()), sentence)


def test_a_prompt_longer_than_the_context_is_a_warning(trained):
    found, err = generated(trained, "The cat " * 9, "--tokens", "3")
    assert "warning: the model reads 16 tokens, the last of the 72 of this prompt." in err
    assert len(found["texts"][0]["tokens"]) == 3
