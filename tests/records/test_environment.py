"""environment.json describes the run without secrets."""

from __future__ import annotations

import json
import subprocess
import sys

from attnlab.cli import main
from attnlab.records.environment import TYPED, code_version, environment


def test_versions_without_importing_anything_heavy():
    code = (
        "import json, sys; from attnlab.records.environment import environment;"
        "found = environment();"
        "print(json.dumps([found, [m for m in ('tensorflow', 'mlflow') if m in sys.modules]]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    versions, imported = json.loads(done.stdout)
    assert imported == []
    assert versions["packages"]["numpy"][0].isdigit()
    assert versions["python"] == ".".join(map(str, sys.version_info[:3]))


def test_no_environment_variable_is_recorded(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "hunter-2")
    assert "hunter-2" not in json.dumps(environment())


def test_command_is_the_typed_one(monkeypatch, capsys):
    """Fixed: it contained Hydra's own settings, which the command line adds."""
    monkeypatch.setenv(TYPED, "")
    assert main(["task=fbi", "a b=1"]) == 2
    assert environment()["command"] == "attnlab task=fbi 'a b=1'"


def test_commit_and_changes_of_a_checkout(tmp_path):
    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        command = ["git", "-C", str(tmp_path), *identity, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    assert code_version(tmp_path) is None
    git("init", "-q")
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-qm", "one")
    assert code_version(tmp_path) == {"commit": git("rev-parse", "HEAD"), "dirty": False}
    (tmp_path / "file").write_text("2")
    assert code_version(tmp_path)["dirty"] is True
