"""`attnlab plot`: a run's figures, positional encodings, embeddings, and refused requests."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from attnlab.commands import command
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.text.tokenizers import Tokenizer

SENTENCES = ["Der Hund schläft .", "Der Hund bellt .", "Die Katze schläft nicht .", "Der Mann ."]


def plot(*words, runs="nowhere"):
    command("plot").main([*map(str, words), "--runs", str(runs)], standalone_mode=False)


def make_run(folder, task):
    run = RunDirectory.create(folder, task, "bahdanau", 3)
    config = f"seed: 3\ntask: {{name: {task}}}\nattention: {{name: bahdanau}}\n"
    (run.path / "config.yaml").write_text(config)
    run.status.write("completed")
    return run


class FakeTranslator:
    """A fake trained run."""

    def __init__(self, sides):
        self.source, self.target = (
            Tokenizer.fit(SENTENCES, kind=kind, size=300) for kind in ("word", "bpe")
        )
        self.sides = sides

    def load(self, run):
        sizes = {"source": self.source.size}
        tables = {
            side: np.random.default_rng(0).normal(size=(sizes.get(side, self.target.size), 8))
            for side in self.sides
        }
        task = SimpleNamespace(tokenizers=(self.source, self.target))
        model = SimpleNamespace(embeddings=lambda: tables)
        config = SimpleNamespace(names={"task": "translate", "attention": "none", "seed": 0})
        return SimpleNamespace(task=task, model=model, config=config, epoch="7")


@pytest.fixture
def trained_on(monkeypatch):
    """Replace every run by a fake translator with some tables."""

    def use(*sides):
        fake = FakeTranslator(sides)
        monkeypatch.setattr("attnlab.runner.loading.TrainedRun", fake)
        return fake

    return use


def test_positional_encoding_into_a_folder(tmp_path, capsys):
    folder = tmp_path / "new" / "figures"
    plot("positional-encoding", "--output", folder)
    assert capsys.readouterr().out.splitlines() == [
        str(folder / f"positional_{name}.png")
        for name in ("matrix", "waves", "circles", "distances")
    ]


def test_wrong_requests_are_refused():
    with pytest.raises(RequestError, match="--output: /proc/nowhere can't be written"):
        plot("positional-encoding", "--output", "/proc/nowhere")
    for words in ([], ["embeddings"], ["latest", "latest"]):
        with pytest.raises(RequestError, match="RUN: expected RUN, positional-encoding, or one of"):
            plot(*words)


@pytest.mark.parametrize("words", [["{run}"], ["--output", "{out}", "{run}"]])
def test_a_run_is_drawn(tmp_path, monkeypatch, capsys, words):
    run = make_run(tmp_path / "runs", "sunspots")
    asked = []
    monkeypatch.setattr(
        "attnlab.runner.follow.draw_run",
        lambda found, output: asked.append((found.path, output)) or [tmp_path / "loss.png"],
    )
    plot(*(word.format(run=run.path, out=tmp_path / "out") for word in words))
    assert asked == [(run.path, tmp_path / "out" if len(words) == 3 else run.plots)]
    assert capsys.readouterr().out == f"{tmp_path / 'loss.png'}\n"


def test_embeddings_of_two_vocabularies(tmp_path, trained_on, capsys):
    run = make_run(tmp_path, "translate")
    trained_on("source", "target")
    plot("embeddings", run.path)
    names = ["embeddings_source.png", "embeddings_target.png"]
    assert capsys.readouterr().out.splitlines() == [str(run.plots / name) for name in names]
    assert sorted(path.name for path in run.plots.iterdir()) == names


def test_embeddings_of_a_shared_vocabulary(tmp_path, trained_on):
    run = make_run(tmp_path, "translate")
    trained_on("shared")
    plot("embeddings", run.path, "--output", tmp_path / "figures")
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["embeddings_shared.png"]


def test_a_run_of_another_task_has_no_embeddings(tmp_path, trained_on):
    run = make_run(tmp_path, "sunspots")
    trained_on("source")
    with pytest.raises(RequestError, match="^RUN: expected a run of translation") as error:
        plot("embeddings", run.path)
    assert "is one of forecasting" in str(error.value)


@pytest.mark.parametrize("model", ["rnn", "transformer"])
def test_translators_return_their_embeddings(model):
    from attnlab.attention.multi_head import MultiHeadAttention
    from attnlab.tasks.translation.models.build import build_translator

    sizes = {"source_size": 11, "target_size": 13}
    widths = {"rnn": {"units": 8, "embedding": 6}, "transformer": {"units": 6, "heads": 2}}
    translator = build_translator(
        model, widths[model], lambda: MultiHeadAttention(heads=2), **sizes
    )
    tables = translator.embeddings()
    assert {side: table.shape for side, table in tables.items()} == {
        "source": (11, 6),
        "target": (13, 6),
    }
    np.testing.assert_array_equal(translator.source_embedding(np.array([7])), tables["source"][[7]])


def test_a_shared_table_is_given_once():
    from attnlab.attention.multi_head import MultiHeadAttention
    from attnlab.tasks.translation.models.build import build_translator

    translator = build_translator(
        "transformer",
        {"units": 6, "heads": 2, "tie_embeddings": "all"},
        lambda: MultiHeadAttention(heads=2),
        source_size=13,
        target_size=13,
        shared=True,
    )
    assert {side: table.shape for side, table in translator.embeddings().items()} == {
        "shared": (13, 6)
    }
