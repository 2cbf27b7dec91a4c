"""Run the example of an exported model without attnlab."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# The import of attnlab fails in the process that runs an example.
BLOCKED = """
import runpy, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "attnlab":
            raise ImportError(name)

sys.meta_path.insert(0, Blocked())
sys.modules.pop("attnlab", None)
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def example_of(folder: Path) -> str:
    """The output of an example, in a process that can't import attnlab, elsewhere."""
    example = folder / "example.py"
    assert len(example.read_text().splitlines()) <= 20
    kept = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, str(example)],
        cwd=folder.parent,
        env={**kept, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
