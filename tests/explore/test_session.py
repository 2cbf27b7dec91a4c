"""A run that is explored: the same numbers as its commands, and changes of its attention."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from command_line import CommandsHere

from attnlab.attention.interventions import Change
from attnlab.errors import RequestError
from attnlab.explore.session import Session
from attnlab.records.run_directory import RunDirectory
from attnlab.views.records import AttentionMaps, Table

GIVEN = {"text": "The old dog sleeps."}
CROSS = "decoder_0 cross_attention"
LAYERS = ["encoder_0", "decoder_0 self_attention", CROSS]


@pytest.fixture(scope="module")
def session(exploring) -> Session:
    return Session(RunDirectory(exploring.folder))


def shares_of(prediction) -> list[float]:
    """The probabilities of the chosen outputs."""
    return [float(row[1]) for row in prediction.likely.rows]


@pytest.mark.parametrize("epoch", [1, 2])
def test_the_output_is_that_of_the_command(session, exploring, epoch):
    words = ("translate", str(exploring.folder), GIVEN["text"], "--json", "--epoch", str(epoch))
    said = json.loads(CommandsHere(exploring.attnlab.folder)(*words).out)
    best = said["translations"][0]
    prediction = session.predict(epoch, GIVEN, {})
    assert prediction.explored.output == best["text"]
    assert np.log(shares_of(prediction)).sum() == pytest.approx(best["log_probability"], rel=0.01)
    assert [row[0] for row in prediction.likely.rows[:-1]] == best["tokens"]
    assert [layer.name for layer in prediction.layers] == LAYERS
    cross = prediction.layers[-1]
    assert cross.column_words[:-1] == said["source_tokens"]
    assert cross.row_words[:-1] == best["tokens"]
    assert isinstance(cross.frame, AttentionMaps)
    assert cross.weights.sum(axis=-1) == pytest.approx(1, abs=1e-5)


def test_changes_act_and_leave_nothing_behind(session):
    def weights_of(change):
        return session.predict(2, GIVEN, {CROSS: change}).layers[-1].weights

    before = session.predict(2, GIVEN, {})
    off = session.predict(2, GIVEN, {CROSS: Change(heads=[1])})
    assert np.all(off.layers[-1].weights[1] == 0) and np.any(off.layers[-1].weights[0] > 0)
    assert off.score.before == pytest.approx(np.log(shares_of(before)).sum(), rel=0.01)
    assert off.score.now < off.score.before
    hidden = weights_of(Change(hidden=[1]))
    assert np.all(hidden[..., 1] == 0) and hidden.sum(axis=-1) == pytest.approx(1, abs=1e-5)
    rows = weights_of(Change(rows={0: 2, 1: None}))
    assert np.all(rows[:, 0] == np.eye(6)[2]) and rows[:, 1] == pytest.approx(1 / 6, abs=1e-6)
    none = session.predict(2, GIVEN, {CROSS: Change()})
    assert none.explored.output == before.explored.output and none.score.before == none.score.now
    after = session.predict(2, GIVEN, {})
    assert np.array_equal(after.layers[-1].weights, before.layers[-1].weights)
    assert after.likely == before.likely and after.score is None


def test_ranked_heads_cost_what_switching_them_off_costs(session):
    *steps, table = session.rank(2, GIVEN)
    assert steps == [(number, 6) for number in range(6)] and isinstance(table, Table)
    outputs = len(session.predict(2, GIVEN, {}).likely.rows)
    for layer, head, cost, _ in table.rows:
        change = {layer: Change(heads=[int(head) - 1])}
        score = session.predict(2, GIVEN, change).score
        assert float(cost) == pytest.approx((score.before - score.now) / outputs, abs=1e-3)
    on_items = [float(row[3]) for row in table.rows]
    assert on_items == sorted(on_items, reverse=True) and on_items[0] > 0


def test_heads_are_measured_as_the_command_does(session, exploring):
    words = ("heads", str(exploring.folder), "--json", "--epoch", "1")
    rows = json.loads(CommandsHere(exploring.attnlab.folder)(*words).out)
    table = session.heads(1)
    column = table.header.index("entropy")
    assert [row[column] for row in table.rows] == [f"{row['entropy']:.3f}" for row in rows]


@pytest.mark.parametrize(
    ("epoch", "entries", "changes", "said"),
    [
        (7, GIVEN, {}, r"epoch: expected one of \[1, 2\], got 7"),
        (2, GIVEN, {"decoder": Change(heads=[0])}, "layer: expected one of .*, got decoder"),
        (2, GIVEN, {CROSS: Change(heads=[2])}, r"heads: expected 0 to 1, got \[2\]"),
        (2, GIVEN, {CROSS: Change(hidden=range(65))}, "at most 64 places"),
    ],
)
def test_wrong_requests_are_refused(session, epoch, entries, changes, said):
    with pytest.raises(RequestError, match=said):
        session.predict(epoch, entries, changes)
    assert session.predict(2, GIVEN, {}).explored.output


def test_unknown_words_are_named_each_time_and_an_empty_text_has_no_maps(session):
    for changes in ({}, {}, {CROSS: Change(heads=[0])}):
        (message,) = session.predict(2, {"text": "The zyx sleeps."}, changes).messages
        assert message.count("zyx") == 1
        empty = session.predict(2, {"text": " "}, changes)
        assert empty.explored.output == "" and not empty.layers and empty.score is None


def test_a_damaged_epoch_is_named_and_others_work(exploring, tmp_path):
    folder = shutil.copytree(exploring.folder, tmp_path / "run")
    damaged = folder / "weights" / "epoch_001.weights.h5"
    damaged.write_bytes(damaged.read_bytes()[:2000])
    session = Session(RunDirectory(folder))
    whole = session.predict(2, GIVEN, {}).layers[-1].weights
    with pytest.raises(RequestError, match="epoch_001.* can't read the weights of epoch 1"):
        session.predict(1, GIVEN, {})
    assert np.array_equal(session.predict(2, GIVEN, {}).layers[-1].weights, whole)


def test_a_run_without_weights_is_refused(exploring, tmp_path):
    folder = shutil.copytree(exploring.folder, tmp_path / "run")
    shutil.rmtree(folder / "weights")
    with pytest.raises(RequestError, match="has no saved weights"):
        Session(RunDirectory(folder))


def test_forecasts_of_a_series_follow_its_values(trained):
    session = Session(RunDirectory(trained.folder))
    entries = dict(session.starts)
    before = session.predict(2, entries, {})
    assert len(before.explored.forecast) >= 1 and len(before.layers[0].columns) == 7
    higher = {"series": [*entries["series"][:-1], entries["series"][-1] + 20]}
    moved = session.predict(2, higher, {}).explored.forecast
    assert not np.allclose(moved, before.explored.forecast)
    changed = session.predict(2, entries, {before.layers[0].name: Change(heads=[0])})
    assert changed.score.before == 0 < changed.score.now
    assert before.layers[0].picture("png").startswith(b"\x89PNG")
