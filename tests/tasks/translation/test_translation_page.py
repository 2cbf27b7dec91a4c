"""Pages about translations: sentences, and attention by epoch."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest
from compared_runs import on_page

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import Recorded, read_attention, write_attention
from attnlab.tasks.shown.attention_by_epoch import fitting, layer_maps
from attnlab.tasks.translation.shown import attention_records
from attnlab.views.records import AttentionMap, AttentionMaps, Text


def row_of(tokens, texts) -> int:
    """The first text that has these tokens, some of them unknown."""
    pattern = ".+".join(map(re.escape, "".join(tokens).split("⁇")))
    return next(n for n, text in enumerate(texts) if re.fullmatch(pattern, text.replace(" ", "")))


def test_each_epoch_has_its_translation_and_weights(translating):
    """The translation of the best epoch is that of predictions.csv."""
    note, slider = attention_records(on_page(translating.attnlab.runs))
    assert isinstance(note, Text) and "gold link" not in note.text
    assert list(slider.epochs.numbers) == [1, 2]
    run = RunDirectory(translating.folder)
    columns, best = run.read_predictions(), run.read_metrics()["best_epoch"]
    for epoch, (maps,) in zip(slider.epochs.numbers, slider.frames, strict=True):
        assert isinstance(maps, AttentionMaps) and len(maps.items) == 8
        for item in maps.items:
            row = row_of(item.columns[:-1], columns["source"])
            assert row_of(item.reference, columns["reference"][row : row + 1]) == 0
            assert item.weights.shape == (len(maps.maps), len(item.rows), len(item.columns))
            assert item.weights.sum(axis=2) == pytest.approx(1, abs=1e-2)
            if epoch == best:
                tokens = item.rows[:-1] if item.rows[-1] == "<end>" else item.rows
                said = columns["hypothesis"][row].replace(" ", "")
                cut = said if tokens is not item.rows else said[: len("".join(tokens))]
                assert row_of(tokens, [cut]) == 0


def test_gold_links_of_the_reference_are_on_the_page(translating, tmp_path):
    shutil.copytree(translating.attnlab.runs, tmp_path / "runs", symlinks=True)
    (folder,) = tmp_path.glob("runs/translate/*/*_s0")
    run = RunDirectory(folder)
    recorded = read_attention(run)
    first = recorded.final()
    links = np.zeros((*first["reference"].shape, first["source"].shape[1]), bool)
    links[:, 0, 1] = True
    by_epoch = {epoch: {**recorded.at(epoch), "links": links} for epoch in recorded.epochs}
    write_attention(run, Recorded(by_epoch, recorded.best))
    note, slider = attention_records(on_page(tmp_path / "runs"))
    assert "gold link" in note.text
    assert all(item.reference_links == [(1, 0)] for item in slider.frames[0][0].items)


def frames(heads: int) -> list[list[AttentionMap]]:
    _, weights = layer_maps(np.random.default_rng(0).dirichlet(np.ones(4), (1, heads, 3)))
    return [[AttentionMap([*"xyz"], [*"abcd"], weights)] * 5] * 2


def test_a_small_page_drops_heads_then_sentences():
    cells = 2 * 5 * 12  # epochs, sentences, weights of a map
    assert len(fitting(frames(6), 7 * cells)[0][0].weights) == 7
    assert len(fitting(frames(6), 7 * cells - 1)[0][0].weights) == 1
    rooms = (cells, cells // 2, 0)
    assert [len(fitting(frames(1), room)[1]) for room in rooms] == [5, 2, 1]


def test_maps_have_the_names_of_their_layers_and_heads():
    weights = np.arange(4.0).reshape(2, 2, 1, 1)
    names, maps = layer_maps(weights)
    assert dict(zip(names, maps[:, 0, 0], strict=True)) == {
        "mean of all layers and heads": 1.5,
        "layer 1, mean of 2 heads": 0.5,
        "layer 1, head 1": 0,
        "layer 1, head 2": 1,
        "layer 2, mean of 2 heads": 2.5,
        "layer 2, head 1": 2,
        "layer 2, head 2": 3,
    }
    assert layer_maps(weights[:1], "last layer")[0][1:] == [
        "last layer, head 1",
        "last layer, head 2",
    ]
    assert layer_maps(weights[:1, :1])[0] == [""]
