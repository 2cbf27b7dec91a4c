"""A run folder from somebody else is data: it never chooses code to import."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from attnlab.cli import main

TARGET = "subprocess.Popen"


@pytest.fixture
def stranger(trained, tmp_path) -> Path:
    """A copy of a run."""
    return shutil.copytree(trained.folder, tmp_path / "runs/series/luong_global/stranger")


def poison(run: Path, group: str, target: str) -> None:
    path = run / "config.yaml"
    document = yaml.safe_load(path.read_text())
    document[group] |= {"_target_": target, "args": ["touch", str(run / "owned")]}
    path.write_text(yaml.safe_dump(document))


COMMANDS = (
    ["evaluate", "RUN", "--epoch", "1"],
    ["forecast", "RUN"],
    ["translate", "RUN", "hello"],
    ["plot", "RUN"],
    ["plot", "embeddings", "RUN"],
    ["resume", "RUN", "trainer.epochs=3"],
    ["--config-path", "RUN/config.yaml", "trainer.epochs=1", "tracking.enabled=false"],
)


def test_a_class_named_in_a_run_is_not_called(stranger, monkeypatch):
    """Every command ignores `_target_` in a run, and refuses unknown settings."""
    monkeypatch.setenv("ATTNLAB_RUNS", str(stranger.parents[2]))
    for group in ("task", "attention", "model", "optimizer"):
        poison(stranger, group, TARGET)
    for words in COMMANDS:
        main([word.replace("RUN", str(stranger)) for word in words])
        assert not (stranger / "owned").exists(), words


@pytest.mark.parametrize("group", ["task", "attention"])
def test_an_unknown_option_is_refused_in_one_sentence(stranger, group, capsys):
    path = stranger / "config.yaml"
    document = yaml.safe_load(path.read_text())
    document[group]["name"] = "../../evil"
    path.write_text(yaml.safe_dump(document))
    assert main(["evaluate", str(stranger)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"attnlab: {group}=../../evil: there is no such option.")
    assert "--config-dir" in said and said.count("\n") == 1


def test_only_a_saved_configuration_is_composed(tmp_path, monkeypatch, capsys):
    """Hydra calls the classes of its own section, of callbacks for example."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "config.yaml"
    for text in (
        "hydra: {callbacks: {x: {_target_: os.system, command: touch owned}}}\ntask: {name: fib}",
        "defaults: [config]\ntask: {name: fib}",
        "trials: 5",
    ):
        path.write_text(text)
        assert main(["--config-path", str(path)]) == 2
        said = capsys.readouterr().err
        assert "--config-path: expected a run's config.yaml" in said and str(path) in said
        assert not (tmp_path / "owned").exists()
    assert main(["task=fib", "attention._target_=os.system"]) == 2
    assert "attention=NAME chooses it" in capsys.readouterr().err
