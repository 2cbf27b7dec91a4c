"""The command `attnlab generate`."""

from __future__ import annotations

import json

import pytest
from command_line import assert_refused

TRAINED = (
    *("task=language", "data.sentences=100", "task.context=16", "model.units=16"),
    *("attention.heads=2", "model.layers=1", "model.feed_forward=16", "trainer.epochs=1"),
    *("trainer.batch_size=64", "tracking.enabled=false", "trainer.jit=false"),
)


def generated(trained_lab, *arguments):
    _, out, err = trained_lab.run("generate", "latest", *arguments, "--json")
    return json.loads(out), err


def test_the_same_seed_gives_the_same_text(trained_lab):
    one, _ = generated(trained_lab, "The cat", "--tokens", "40", "--seed", "3")
    assert one["prompt"] == "The cat"
    (text,) = one["texts"]
    assert len(text["tokens"]) == 40 == len(text["text"]) and not text["stopped"]
    again, _ = generated(trained_lab, "The cat", "--tokens", "40", "--seed", "3", "--number", "2")
    assert again["texts"][0]["text"] == text["text"] != again["texts"][1]["text"]
    other, _ = generated(trained_lab, "The cat", "--tokens", "40", "--seed", "4")
    assert other["texts"][0]["text"] != text["text"]


def test_forms_of_text(trained_lab):
    (text,) = generated(trained_lab, "The ", "--tokens", "30")[0]["texts"]
    code, out, _ = trained_lab("generate", "latest", "The ", "--tokens", "30")
    assert code == 0 and out == f"The {text['text']}\n"
    _, out, _ = trained_lab("generate", "latest", "The ", "--tokens", "30", "--number", "2")
    assert out.startswith(f"--- 1 ---\nThe {text['text']}\n--- 2 ---\nThe ")
    stop = text["text"][4:7]
    _, out, _ = trained_lab("generate", "latest", "The ", "--tokens", "30", "--stop", stop)
    assert out == f"The {text['text'].partition(stop)[0]}\n"


def test_a_long_prompt_is_read_at_its_end_and_an_empty_one_starts_a_line(trained_lab):
    long = "The old dog sleeps and the cat waits"
    result, err = generated(trained_lab, long, "--tokens", "5")
    assert "warning: the model reads 16 tokens, the last of the 36 of this prompt." in err
    short, err = generated(trained_lab, long[-16:], "--tokens", "5", "--attention", "a.png")
    assert result["texts"] == short["texts"] and "the model reads" not in err and "a.png" in err
    empty, line = (generated(trained_lab, prompt, "--tokens", "12")[0] for prompt in ("", "\n"))
    assert empty["prompt"] == "" and empty["texts"] == line["texts"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("The ~",), "PROMPT: expected tokens of the model"),
        (("The", "--top-p", "0"), "--top-p: expected more than 0 and at most 1, got 0.0"),
        (("The", "--temperature", "nan"), "--temperature: expected 0, or 1e-6 or more, got nan"),
        (("The", "--temperature", "1e-307"), "--temperature: expected 0, or 1e-6 or more"),
        (("The", "--top-k", "0"), "--top-k"),
    ],
)
def test_bad_requests_get_a_sentence(trained_lab, arguments, message):
    code, out, err = trained_lab("generate", "latest", *arguments)
    assert code == 2 and message in err and not out


def test_an_empty_prompt_for_rows_is_refused_after_a_run_that_is_to_be_trained_longer(lab):
    words = [
        *("task=language", "data=copy", "data.rows=100", "model.units=8", "model.layers=1"),
        *("attention.heads=2", "trainer.epochs=1", "trainer.jit=false", "tracking.enabled=false"),
    ]
    code, out, _ = lab(*words)
    assert code == 0 and "next: attnlab resume latest trainer.epochs=2" in out
    assert_refused(lab("generate", "latest", ""), "PROMPT: expected symbols among _, ., ?, 0, ")
    assert lab("generate", "latest", "3 4 ?", "--tokens", "2").out.startswith("3 4 ? ")
