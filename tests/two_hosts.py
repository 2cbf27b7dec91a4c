"""Two processes of this machine that are hosts of one run."""

from __future__ import annotations

import json
import socket
import subprocess
from contextlib import ExitStack, closing

from command_line import CommandLine, Outcome


def tf_configs() -> list[str]:
    """The value of `TF_CONFIG` for each of two hosts, with ports that are free."""
    with ExitStack() as sockets:
        found = [sockets.enter_context(closing(socket.socket())) for _ in range(2)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        workers = [f"127.0.0.1:{each.getsockname()[1]}" for each in found]
    return [
        json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}})
        for index in range(2)
    ]


def start(attnlab: CommandLine, *arguments: object) -> list[subprocess.Popen[str]]:
    """Start a command on both hosts; the first is the chief."""
    return [
        attnlab.start(*arguments, prefix=("env", f"TF_CONFIG={config}")) for config in tf_configs()
    ]


def ended(processes: list[subprocess.Popen[str]]) -> list[Outcome]:
    """What both hosts' commands said, when they have ended."""
    said = [each.communicate(timeout=300) for each in processes]
    return [Outcome(p.returncode, *texts) for p, texts in zip(processes, said, strict=True)]


def run(attnlab: CommandLine, *arguments: object) -> list[Outcome]:
    """Do a command on both hosts."""
    return ended(start(attnlab, *arguments))
