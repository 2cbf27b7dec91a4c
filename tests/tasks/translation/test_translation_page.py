"""Pages about translations: sentences, and attention by epoch."""

from __future__ import annotations

import re

import numpy as np
import pytest
from compared_runs import on_page, write_run, write_translations

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.shown.attention_by_epoch import fitting
from attnlab.tasks.translation.attention_maps import Example
from attnlab.tasks.translation.shown.attention import (
    _LONGER,
    attention_records,
    map_names,
    mean_and_all,
)
from attnlab.tasks.translation.shown.translations import translation_records
from attnlab.views.records import AttentionMap, AttentionMaps, Table, Text


@pytest.fixture
def shown(translating, monkeypatch):
    """The run of the fixture, as a page shows it."""
    monkeypatch.chdir(translating.attnlab.folder)
    return on_page(translating.attnlab.runs)


def row_of(tokens, texts) -> int:
    """The first text that has these tokens, some of them unknown."""
    pattern = ".+".join(map(re.escape, "".join(tokens).split("⁇")))
    return next(n for n, text in enumerate(texts) if re.fullmatch(pattern, text.replace(" ", "")))


def test_each_epoch_has_its_translation_and_weights(shown, translating):
    note, slider = attention_records(shown)
    assert isinstance(note, Text) and "gold link" in note.text
    assert list(slider.epochs.numbers) == [1, 2]
    columns = RunDirectory(translating.folder).read_predictions()
    for (maps,) in slider.frames:
        assert isinstance(maps, AttentionMaps)
        for each in maps.items:
            row = row_of(each.columns[:-1], columns["source"])
            assert row_of(each.reference, columns["reference"][row : row + 1]) == 0
            last = len(each.columns) - 1
            assert each.reference_links and all(s < last for s, _ in each.reference_links)
            assert each.weights.shape == (len(maps.maps), len(each.rows), len(each.columns))
            assert each.weights.sum(axis=2) == pytest.approx(1, abs=1e-5)


def test_the_last_epochs_translation_is_the_one_of_the_run(shown, translating):
    run = RunDirectory(translating.folder)
    best = run.read_metrics()["best_epoch"]
    slider = attention_records(shown)[1]
    columns = run.read_predictions()
    place = list(slider.epochs.numbers).index(best)
    for each in slider.frames[place][0].items:
        made = columns["hypothesis"][row_of(each.columns[:-1], columns["source"])]
        tokens = each.rows[:-1]
        said, wanted = "".join(tokens), made.replace(" ", "")
        ends_early = len(tokens) == len(each.columns) - 1 + _LONGER
        assert said == (wanted[: len(said)] if ends_early else wanted)


def test_without_the_corpus_there_are_no_gold_links(shown, translating, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(type(shown[0]), "load_data", _gone)
    _, slider, why = attention_records(shown)
    assert "Gold links are missing: the corpus is gone" in why.text
    assert not any(each.reference_links for each in slider.frames[0][0].items)


def _gone(run):
    from attnlab.errors import RequestError

    raise RequestError("the corpus is gone")


def frames(layers: int, heads: int) -> list[list[AttentionMap]]:
    weights = mean_and_all(np.random.default_rng(0).dirichlet(np.ones(4), (layers, heads, 3)))
    return [[AttentionMap([*"xyz"], [*"abcd"], weights)] * 5] * 2


def test_heads_have_maps_after_the_mean():
    weights = np.random.default_rng(0).dirichlet(np.ones(4), (2, 3, 3))
    names = map_names(Example({"cross": weights}, [*"abcd"], [*"xyz"]), 7)
    assert names[:3] == ["mean of 2 layers and 3 heads", "layer 1, head 1", "layer 1, head 2"]
    maps = mean_and_all(weights)
    assert len(names) == len(maps) == 7
    assert maps[0] == pytest.approx(maps[1:].mean(axis=0))


def test_a_small_page_drops_heads_then_sentences():
    cells = 2 * 5 * 12  # epochs, sentences, weights of a map
    assert len(fitting(frames(2, 3), 7 * cells)[0][0].weights) == 7
    assert len(fitting(frames(2, 3), 7 * cells - 1)[0][0].weights) == 1
    rooms = (cells, cells // 2, 0)
    assert [len(fitting(frames(1, 1), room)[1]) for room in rooms] == [5, 2, 1]


def test_sentences_are_ordered_from_worst_to_best(tmp_path):
    for attention, texts in {"none": "cab", "bahdanau": "xyz"}.items():
        run = write_run(tmp_path, attention, 0, 30.0, task="translate")
        write_translations(run, [*texts], [*"abc"])
        table = run.read_predictions()
        run.write_predictions({**table, "sentence_chrf": [30.0, 10.0, 20.0]})
    (table,) = translation_records(on_page(tmp_path))
    assert isinstance(table, Table)
    assert [row[0] for row in table.rows] == ["source 1", "source 2", "source 0"]
    assert {*table.header} >= {"no attention", "bahdanau", "chrF, no attention"}
    assert table.rows[0][table.header.index("no attention")] == "a"
