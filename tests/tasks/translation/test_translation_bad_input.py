"""A wrong request to translate gets one clear sentence and exit code 2."""

from __future__ import annotations

import pytest

from attnlab.cli import main

TSV = (
    b"one\teins\ntwo\tzwei\nthree\tdrei\nfour\tvier\nfive\tf\xc3\xbcnf\nsix\tsechs\nseven\tsieben\n"
)
SMALL = "data=files data.path=pairs.tsv data.validation=0.2 data.test=0.2"

REQUESTS = [
    ("data.pairs=3", "data.pairs: expected a whole number at least 100", "got 3."),
    ("task.tokenizer=bpee", "one of word, char, bpe, got bpee. Did you mean bpe?"),
    (f"{SMALL} attention=pooling", "a mechanism with a query", "got PoolingAttention"),
    (f"{SMALL} attention=multi_head model.tie_embeddings=all", "tie_embeddings"),
    (
        "data=recall data.length=512",
        "data.length: expected at most task.max_length=100, got 512.",
    ),
    ("data=tatoeba data.path=nowhere.txt", "nowhere.txt"),
    ("data=files", "data"),
    ("data=files data.test=0", "data.test: expected a number above 0"),
    (f"{SMALL} data.target_language=false", "data.target_language", "a bare no as false"),
]


@pytest.fixture
def refused(tmp_path, monkeypatch, capfd):
    """The one sentence on standard error; exit code 2, and no run folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTNLAB_RUNS", str(tmp_path / "runs"))
    (tmp_path / "pairs.tsv").write_bytes(TSV)

    def refused(*words: str, task: str = "translate") -> str:
        assert main([f"task={task}", "paths.data=cache", *words]) == 2
        out, err = capfd.readouterr()
        (line,) = [line for line in err.splitlines() if line.startswith("attnlab: ")]
        assert out == "" and not list(tmp_path.glob("runs/*/*/*"))
        return line

    return refused


def test_a_wrong_request(refused):
    for words, sentences in [(w, s) for w, *s in REQUESTS]:
        line = refused(*words.split())
        for sentence in sentences:
            assert sentence in line


def test_a_corpus_for_a_task_that_brings_its_own_data(refused):
    line = refused("data=tatoeba", task="fib")
    assert line.startswith("attnlab: data: this task has no choice of data")
    line = refused("trainer.batch_by=tokens", task="fib")
    assert "trainer.batch_by=tokens: windows have no tokens. Valid: items." in line
