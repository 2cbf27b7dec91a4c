"""Which runs belong to a sweep."""

from attnlab.records.run_directory import RunDirectory, list_runs
from attnlab.records.sweep_runs import runs_of_sweep, sweep_names


def make(runs, seed, **entries):
    return RunDirectory.create(runs, "fib", "none", seed, {}, **entries)


def test_runs_that_a_sweep_found_done_belong_to_it(tmp_path):
    second, first = make(tmp_path, 0, sweep="second"), make(tmp_path, 1, sweep="first")
    make(tmp_path, 2)
    for name, text in (
        ("second", f"number,state,folder\n1,completed,/moved/since/{first.name}\n2,not run,\n"),
        ("third", '\x00"'),
    ):
        folder = tmp_path / "sweeps" / name
        folder.mkdir(parents=True)
        (folder / "sweep.json").write_text("{}")
        (folder / "table.csv").write_text(text)
    listed = list_runs(tmp_path)
    names = {entry.run.name for entry in runs_of_sweep(listed, "second")}
    assert names == {second.name, first.name}
    assert [entry.run.name for entry in runs_of_sweep(listed, "first")] == [first.name]
    assert runs_of_sweep(listed, "third") == []
    assert sweep_names(listed) == ["first", "second", "third"]
