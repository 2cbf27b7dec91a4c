"""The command line: help, shell completion, output, and repeated runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
import yaml
from same_runs import history

from attnlab import __version__
from attnlab.cli import main
from attnlab.commands import verbs
from attnlab.config.options import options


def test_help_fits_a_terminal_and_has_every_command(capsys):
    for words in ([], ["--help"], ["-h"], ["help"]):
        assert main(words) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) <= 24 and max(map(len, lines)) <= 80
    words = set(re.findall(r"[\w-]+", "\n".join(lines)))
    shown = {*verbs(), "train", *options("task"), *options("attention")} - {"summarize"}
    assert shown <= words
    for verb in verbs():
        assert main([verb, "--help"]) == 0
        shown = capsys.readouterr().out
        assert shown.startswith(f"Usage: attnlab {verb} ")
        assert main(["help", verb]) == 0 and capsys.readouterr().out == shown
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"attnlab {__version__}\n"


def test_a_closed_pipe_is_not_an_error(attnlab):
    command = f"{sys.executable} -m attnlab --help | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], env=attnlab.environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_training_continues_if_nobody_reads_its_progress(attnlab):
    settings = "task=fib task.count=61 task.history=5 model.units=2 tracking.enabled=false"
    for words, states in (("trainer.epochs=200", 1), ("-m seed=1,2 trainer.epochs=3", 2)):
        command = f"{sys.executable} -m attnlab {settings} {words} 2> >(head -1)"
        done = subprocess.run(
            ["bash", "-c", command],
            env=attnlab.environment,
            cwd=attnlab.folder,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0 and " folder: " in done.stdout
        paths = [folder / "status.json" for folder in attnlab.run_folders()]
        completed = [path for path in paths if json.loads(path.read_text())["state"] == "completed"]
        assert len(completed) >= states


def test_the_configuration_can_be_shown(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (
        ["--cfg", "job", "task=sunspots", "trainer.epochs=3"],
        ["train", "task=sunspots", "trainer.epochs=3", "-c=job"],
    ):
        assert main(words) == 0
        shown = yaml.safe_load(capsys.readouterr().out)
        assert (shown["task"]["name"], shown["trainer"]["epochs"]) == ("sunspots", 3)
    assert shown["task"]["history"] == 24 and not {"rules", "_target_"} & set(shown["task"])
    assert list(tmp_path.iterdir()) == []


def test_a_run_prints_progress_and_result(trained):
    said = [line.removeprefix("attnlab: ") for line in trained.outcome.err.splitlines()]
    assert said[0] == "tracing and compiling" and said[1].startswith("epoch 1/2: train ")
    assert said[-1] == "scoring the test part" and said[-2].startswith("epoch 2/2: train ")
    for words in ("series / luong_global / seed 0", "persistence", "train_mean", "best epoch"):
        assert words in trained.outcome.out
    folder, advice = trained.outcome.out.splitlines()[-2:]
    then = "  # or train with another attention=NAME, then attnlab compare"
    assert advice == f"next: attnlab forecast latest{then}"
    assert folder == f"run folder: {trained.folder}"
    written = {path.name for path in trained.attnlab.folder.iterdir()}
    assert written == {"rain.csv", "runs"}


def test_quiet_mode_prints_only_the_folder(trained, here):
    for words in (["-q", "resume", trained.folder], ["resume", trained.folder, "--quiet"]):
        assert here(*words) == (0, f"{trained.folder}\n", "")


def test_a_saved_configuration_can_be_shown_and_changed_but_gets_no_preset(trained, capsys):
    for location in (trained.folder, trained.folder / "config.yaml"):
        assert main(["--config-path", str(location), "--cfg", "job", "seed=3"]) == 0
        saved = yaml.safe_load((trained.folder / "config.yaml").read_text())
        assert yaml.safe_load(capsys.readouterr().out) == {**saved, "seed": 3}
    for preset in ("+search=rnn_small", "experiment=vit_tiny"):
        assert main(["-m", "--config-path", str(trained.folder), preset, "sweep.dry_run=true"]) == 2
        assert f"{preset}: no preset can be added to --config-path" in capsys.readouterr().err


def test_a_saved_configuration_runs_again_to_the_same_losses(trained, attnlab):
    config = trained.folder / "config.yaml"
    attnlab.run(
        f"--config-path={config}",
        f"task.path={trained.attnlab.folder / 'rain.csv'}",
        f"paths.runs={attnlab.runs}",
        "tracking.enabled=false",
    )
    (folder,) = attnlab.run_folders()
    assert history(folder) == history(trained.folder)


def test_bash_completion_works(attnlab, tmp_path):
    """With the console script on PATH, and by what it has bash evaluate."""
    script = tmp_path / "bin" / "attnlab"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nimport sys\nfrom attnlab.cli import main\nmain()\n")
    script.chmod(0o755)
    ask = """
        eval "$(attnlab -sc install=bash)"
        COMP_LINE=$1
        _attnlab
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        ["bash", "-c", ask, "bash", "attnlab task=fib attention=luong"],
        env={**attnlab.environment, "PATH": f"{script.parent}:{attnlab.environment['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert {*done.stdout.split()} == {"attention=luong_global", "attention=luong_local"}


def test_words_are_completed(here, monkeypatch, capsys):
    (here.runs / "fib" / "none" / "2026-01-01_000000_s0").mkdir(parents=True)
    monkeypatch.setenv("ATTNLAB_RUNS", str(here.runs))
    for line, offered in (
        ("attnlab task=fib attention=luong", ["attention=luong_global", "attention=luong_local"]),
        ("attnlab -q -m 'seed=range(2)' attention.win", ["attention.window="]),
        ("attnlab ", ["evaluate", "translate", "plot", "train", "task=", "trainer.epochs="]),
        ("attnlab --qu", ["--quiet"]),
        ("attnlab evaluate latest --", ["--epoch", "--average", "--json"]),
        ("attnlab runs ", ["rm", "sync"]),
        ("attnlab runs --state k", ["killed"]),
        ("attnlab plot ", ["latest", "fib/none/2026-01-01_000000_s0"]),
        ("attnlab resume fib/", ["fib/none/2026-01-01_000000_s0"]),
    ):
        monkeypatch.setenv("COMP_LINE", line)
        assert main(["-sc", "query=bash"]) == 0
        words, start = capsys.readouterr().out.split(), line.split()[-1]
        assert {*offered} <= {*words} and "task._target_=" not in words
        assert line.endswith(" ") or all(word.startswith(start) for word in words)
