"""Settings in which compared runs differ in addition to the compared ones."""

from __future__ import annotations

from compared_runs import BETTER, NONE, compared, only, write_group
from run_folders import write_run

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


def test_data_of_the_seed_and_places_of_downloads_are_no_differences(tmp_path):
    own_file = {"file_hashes": {"data.path": "1" * 64}}
    write_run(tmp_path, "none", 0, 1.0, config={"data.path": "deu.txt"}, status=own_file)
    for seed in range(1, 4):
        status = {"data_digest": str(seed) * 64}
        for attention in ("none", "pooling"):
            write_run(tmp_path, attention, seed, 1.0, config={"data.path": None}, status=status)
    comparison = only(tmp_path)
    assert [list(group.runs) for group in comparison.groups] == [[0, 1, 2, 3], [1, 2, 3]]
    assert not comparison.warnings


def test_a_setting_that_some_runs_lack_counts_as_null(tmp_path):
    for seed, value in enumerate(({}, {"model.extra": None}, {"model.extra": 5})):
        write_run(tmp_path, "none", seed, 1.0, config=value)
    comparison = only(tmp_path)
    assert comparison.by == ("attention", "model.extra")
    assert [(g.label, list(g.runs)) for g in comparison.groups] == [
        ("none / 5", [2]),
        ("none / null", [0, 1]),
    ]
    within = compared(tmp_path, within=("model.extra",)).tasks
    assert [task.name for task in within] == ["sunspots extra=5", "sunspots extra=null"]


def test_runs_with_different_horizons_are_compared_separately(tmp_path):
    for horizon, level in ((1, 0.0), (24, 100.0)):
        config = {"task.horizon": horizon}
        write_group(tmp_path, "none", [value + level for value in NONE], config=config)
        write_group(tmp_path, "bahdanau", [value + level for value in BETTER], config=config)
    tasks = compared(tmp_path).tasks
    assert [task.name for task in tasks] == ["sunspots horizon=1", "sunspots horizon=24"]
    note = "runs that differ in task.horizon are compared separately; --by task.horizon groups them"
    for task in tasks:
        assert note in task.notes and task.reference.label == "none"
        assert [group.label for group in task.groups] == ["bahdanau", "none"]
    together = only(tmp_path, by=("attention", "task.horizon"))
    assert len(together.groups) == 4 and note not in together.notes


def test_the_users_files_are_identified_by_content(tmp_path):
    """The same file in two folders is one file; two versions of a file are two."""
    files = [("a/one.csv", "1", (0, 1)), ("b/one.csv", "1", (2, 3)), ("two.csv", "2", (0, 1))]
    for path, digit, seeds in [*files, ("two.csv", "3", (0,))]:
        status, config = {"file_hashes": {"data.path": digit * 64}}, {"data.path": path}
        for seed in seeds:
            write_run(tmp_path, "none", seed, 1.0, config=config, status=status)
    assert {task.name: len(task.groups[0].runs) for task in compared(tmp_path).tasks} == {
        "sunspots path=one.csv (11111111)": 4,
        "sunspots path=two.csv (22222222)": 2,
        "sunspots path=two.csv (33333333)": 1,
    }


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


def test_longer_training_and_options_get_a_warning(tmp_path):
    write_group(tmp_path, "none", NONE)
    changes = {
        "status": {"earlier_epochs": [20]},
        # Only one model has layers, which therefore don't count.
        "config": {"model.name": "transformer", "model.layers": 2, "attention.units": 4},
    }
    write_group(tmp_path, "bahdanau", BETTER, **changes)
    assert list(only(tmp_path).warnings) == [
        f"model.name differs: transformer (bahdanau); rnn ({NO})",
        "runs were trained longer later, so earlier trainer.epochs differ: 20 (bahdanau); none "
        f"({NO})",
    ]
