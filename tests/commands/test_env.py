"""`attnlab env`: the text for a bug report."""

from __future__ import annotations

import getpass
import platform
import socket
import sys
from pathlib import Path

import pytest

from attnlab import __version__
from attnlab.cli import main
from attnlab.commands import env


def printed(capsys) -> dict[str, str]:
    assert main(["env"]) == 0
    lines = capsys.readouterr().out.splitlines()
    return {line[:12].rstrip(): line[13:] for line in lines}


def test_it_prints_versions_and_the_machine(capsys):
    found = printed(capsys)
    assert found["attnlab"].startswith(__version__)
    assert found["Python"] == platform.python_version()
    for name in ("TensorFlow", "Keras", "MLflow", "Hydra", "NumPy"):
        assert found[name][0].isdecimal(), name
    assert platform.system() in found["system"]
    assert int(found["cores"]) >= 1
    assert {"processor", "GPUs"} <= {*found}


def test_it_prints_no_user_host_or_path(capsys, monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "host-of-mine")
    monkeypatch.setattr(getpass, "getuser", lambda: "user-of-mine")
    assert main(["env"]) == 0
    text = capsys.readouterr().out
    for private in ("host-of-mine", "user-of-mine", str(Path.cwd()), sys.prefix, str(Path.home())):
        assert private not in text


@pytest.mark.parametrize(
    ("code", "gpus"),
    [
        ("echo 'NVIDIA T4, 15360 MiB, 550.54'", "NVIDIA T4, 15360 MiB, 550.54"),
        ("exit 9", "found, but nvidia-smi doesn't name it"),
        (None, "found, but nvidia-smi doesn't run"),
    ],
)
def test_gpus_have_their_names(capsys, monkeypatch, tmp_path, code, gpus):
    smi = tmp_path / "nvidia-smi"
    if code:
        smi.write_text(f"#!/bin/sh\n{code}\n", encoding="utf-8")
        smi.chmod(0o755)
    monkeypatch.setattr(env, "has_gpu", lambda: True)
    monkeypatch.setattr(env, "_NVIDIA_SMI", [str(smi)])
    assert printed(capsys)["GPUs"] == gpus
