"""`attnlab plot`: a run's figures, positional encodings, embeddings, and refused requests."""

from __future__ import annotations

from functools import partial

import numpy as np

from attnlab.attention.multi_head import MultiHeadAttention
from attnlab.tasks.translation.models.build import build_translator


def test_positional_encoding_into_a_folder(here):
    folder = here.folder / "new" / "figures"
    code, out, _ = here("plot", "positional-encoding", "--output", folder)
    names = ("matrix", "distances")
    assert code == 0
    assert out.splitlines() == [str(folder / f"positional_{name}.png") for name in names]


def test_a_run_is_drawn(here, trained):
    code, out, _ = here("plot", "--output", "figures", trained.folder)
    assert code == 0 and "figures/loss.png" in out.splitlines()
    assert {path.name for path in (here.folder / "figures").iterdir()} == {
        path.name for path in (trained.folder / "plots").iterdir()
    }


def test_embeddings_of_two_vocabularies(here, translating):
    code, out, _ = here("plot", "embeddings", translating.folder, "--output", "figures")
    names = ["embeddings_source.png", "embeddings_target.png"]
    assert code == 0 and out.splitlines() == [f"figures/{name}" for name in names]
    assert sorted(path.name for path in (here.folder / "figures").iterdir()) == names


def test_translators_return_their_embeddings():
    separate = {"source": (13, 6), "target": (13, 6)}
    for model, settings, shapes in (
        ("rnn", {"units": 8, "embedding": 6}, separate),
        ("transformer", {"units": 6, "heads": 2}, separate),
        ("transformer", {"units": 6, "heads": 2, "tie_embeddings": "all"}, {"shared": (13, 6)}),
    ):
        sizes = {"source_size": 13, "target_size": 13, "shared": "shared" in shapes}
        attention = partial(MultiHeadAttention, heads=2)
        translator = build_translator(model, settings, attention, **sizes)
        tables = translator.embeddings()
        assert {side: table.shape for side, table in tables.items()} == shapes
        first = next(iter(tables.values()))
        np.testing.assert_array_equal(translator.source_embedding(np.array([7])), first[[7]])
