"""Settings in which compared runs differ in addition to the compared ones."""

from __future__ import annotations

import pytest
from compared_runs import BETTER, NONE, compared, only, write_group, write_run

NO = "no attention"


def test_settings_that_differ_besides_the_compared_keys_are_named(tmp_path):
    write_group(tmp_path, "none", NONE)
    write_group(
        tmp_path,
        "bahdanau",
        BETTER,
        config={"attention.units": 8, "trainer.epochs": 60, "task.history": 36, "paths.runs": "y"},
        environment={"packages": {"attnlab": "0.1.0", "tensorflow": "2.20.0", "keras": "3.15.1"}},
        status={"data_digest": "e" * 64},
    )
    write_run(tmp_path, "none", 4, 1.2, config={"model.units": 32})
    assert sorted(only(tmp_path).warnings) == sorted(
        [
            "runs with the same attention differ in model.units, so they are in different groups: "
            "see --by and --where",
            f"task.history differs: 36 (bahdanau / 16); 24 ({NO} / 16, {NO} / 32)",
            f"trainer.epochs differs: 60 (bahdanau / 16); 30 ({NO} / 16, {NO} / 32)",
            f"the data differ (data_digest): eeeeeeee (bahdanau / 16); dddddddd ({NO} / 16, "
            f"{NO} / 32)",
            f"the version of tensorflow differs: 2.20.0 (bahdanau / 16); 2.21.0 ({NO} / 16, "
            f"{NO} / 32)",
        ]
    )


def test_data_drawn_by_the_seed_dont_count_as_different(tmp_path):
    for attention in ("none", "pooling"):
        for seed in range(3):
            write_run(tmp_path, attention, seed, 1.0, status={"data_digest": str(seed) * 64})
    assert not only(tmp_path).warnings


def test_a_setting_that_some_runs_lack_counts_as_null(tmp_path):
    for seed, value in enumerate(({}, {"model.extra": None}, {"model.extra": 5})):
        write_run(tmp_path, "none", seed, 1.0, config=value)
    comparison = only(tmp_path)
    assert comparison.by == ("attention", "model.extra")
    assert [(g.label, list(g.runs)) for g in comparison.groups] == [
        ("none / 5", [2]),
        ("none / null", [0, 1]),
    ]
    assert [list(g.runs) for g in only(tmp_path, by=("model.extra",)).groups] == [[2], [0, 1]]
    within = compared(tmp_path, within=("model.extra",)).tasks
    assert [each.name for each in within] == ["sunspots extra=5", "sunspots extra=null"]


def test_runs_with_different_horizons_are_compared_separately(tmp_path):
    for horizon, level in ((1, 0.0), (24, 100.0)):
        config = {"task.horizon": horizon}
        write_group(tmp_path, "none", [value + level for value in NONE], config=config)
        write_group(tmp_path, "bahdanau", [value + level for value in BETTER], config=config)
    near, far = compared(tmp_path).tasks
    assert (near.name, far.name) == ("sunspots horizon=1", "sunspots horizon=24")
    note = "runs that differ in task.horizon are compared separately; --by task.horizon groups them"
    for each in (near, far):
        assert note in each.notes and each.reference.label == "none"
        assert [group.label for group in each.groups] == ["bahdanau", "none"]
    together = only(tmp_path, by=("attention", "task.horizon"))
    assert len(together.groups) == 4 and note not in together.notes
    within = compared(tmp_path, within=("task.horizon",)).tasks
    assert [each.name for each in within] == [near.name, far.name]


def test_the_users_files_are_identified_by_content(tmp_path):
    files = {"a/one.csv": "1" * 64, "b/one.csv": "1" * 64, "two.csv": "2" * 64}
    for path, stamp in files.items():
        status = {"file_hashes": {"data.path": stamp}}
        for attention in ("none", "bahdanau"):
            for seed in (0, 1):
                place = 2 * (path == "b/one.csv") + seed
                config = {"data.path": path}
                write_run(tmp_path, attention, place, 1.0, config=config, status=status)
    names = ["sunspots path=one.csv (11111111)", "sunspots path=two.csv (22222222)"]
    assert [each.name for each in compared(tmp_path).tasks] == names
    assert [len(each.groups[0].runs) for each in compared(tmp_path).tasks] == [4, 2]

    changed = {"file_hashes": {"data.path": "3" * 64}}
    write_run(tmp_path, "none", 0, 1.0, config={"data.path": "two.csv"}, status=changed)
    found = [each.name for each in compared(tmp_path).tasks]
    assert found[1:] == [names[1], "sunspots path=two.csv (33333333)"]


def test_the_place_of_a_download_doesnt_matter(tmp_path):
    own = {"file_hashes": {"data.path": "1" * 64}}
    write_run(tmp_path, "none", 0, 1.0, config={"data.path": "deu.txt"}, status=own)
    write_run(tmp_path, "none", 1, 1.0, config={"data.path": None})
    assert [list(group.runs) for group in only(tmp_path).groups] == [[0, 1]]
    assert not only(tmp_path).warnings


def test_a_readout_chosen_by_the_mechanism_gives_no_warning(tmp_path):
    """`none` can only read the state; any other difference in readouts was chosen by the user."""
    readouts = {"none": "state", "bahdanau": "concat", "pooling": "concat"}
    for attention, readout in readouts.items():
        write_run(tmp_path, attention, 0, 1.0, config={"model.readout": readout})
    assert not only(tmp_path).warnings
    write_run(tmp_path, "luong_global", 0, 1.0, config={"model.readout": "attentional_state"})
    assert list(only(tmp_path).warnings) == [
        "model.readout differs: concat (bahdanau, pooling); attentional_state (luong_global); "
        "state (no attention)"
    ]


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        (
            {"status": {"earlier_epochs": [20]}},
            "runs were trained longer later, so earlier trainer.epochs differ: 20 (bahdanau); none "
            f"({NO})",
        ),
        (
            {"environment": {"processor_model": "Slide rule"}},
            "machines differ, so seconds can't be compared: Slide rule with 2 cores (bahdanau); "
            f"Abacus with 2 cores ({NO})",
        ),
        (
            {"config": {"model.name": "transformer", "model.layers": 2, "attention.units": 4}},
            f"model.name differs: transformer (bahdanau); rnn ({NO})",  # only one has layers
        ),
    ],
)
def test_other_differences_get_a_warning(tmp_path, changes, warning):
    write_group(tmp_path, "none", NONE)
    write_group(tmp_path, "bahdanau", BETTER, **changes)
    assert list(only(tmp_path).warnings) == [warning]
