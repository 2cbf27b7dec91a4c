"""Which runs belong to a sweep."""

from run_folders import write_run

from attnlab.records.run_directory import list_runs
from attnlab.records.sweep_runs import runs_of_sweep, sweep_names


def test_runs_that_a_sweep_found_done_belong_to_it(tmp_path):
    second, first = (write_run(tmp_path, status={"sweep": name}) for name in ("second", "first"))
    write_run(tmp_path)
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
