"""Every tutorial works: a test runs its commands and code from top to bottom in an empty folder.

A block with a title is a file, and is written. Blocks `sh` and `python` are run. A block `text` is
what the block before it prints: each of its lines must be among the printed ones, if numbers are
left out of account; `...` stands for any text.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ROOT, CommandsHere
from documents import TUTORIALS

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d.,]*(e[+-]?\d+)?%?")
_INTERVAL_PLOT = re.compile(r"[─┊┼●│]+")


def plain(line: str) -> str:
    """Return a line with `#` for each number, single spaces and no drawn intervals."""
    return " ".join(_NUMBER.sub("#", _INTERVAL_PLOT.sub(" ", line)).split())


def assert_printed(expected: str, printed: str) -> None:
    """Each expected line is among the printed ones, up to numbers."""
    lines = {plain(line) for line in printed.splitlines()}
    for line in expected.splitlines():
        pattern = ".*".join(
            re.escape(plain(part)).replace("\\ ", " ?") for part in line.split("...")
        )
        assert any(re.fullmatch(rf" ?{pattern} ?", row) for row in lines), (line, printed)


def shell(script: str, here: CommandsHere) -> str:
    """Run a script line by line and return what it prints; a line with `# fails` must fail."""
    printed = ""
    for line in script.replace("\\\n", " ").splitlines():
        fails = line.endswith("# fails")
        words = shlex.split(line, comments=True)
        if words[:1] == ["attnlab"]:
            code, out, err = here(*words[1:])
        else:
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            done = subprocess.run(
                ["bash", "-c", line], cwd=here.folder, env={**os.environ, "PATH": path},
                capture_output=True, text=True,
            )  # fmt: skip
            code, out, err = done.returncode, done.stdout, done.stderr
        assert (code != 0) == fails, (line, out, err)
        printed += out + err
    return printed


def python(code: str, names: dict) -> str:
    """Run a cell of a notebook and return what it shows: prints, and the value of its last line."""
    *statements, last = ast.parse(code).body
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(statements, []), "<cell>", "exec"), names)
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
            if value is not None:
                print(value)
        else:
            exec(code, names)
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # pandas and Jupyter have their own
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs_from_top_to_bottom(page: Path, here, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    names: dict = {}
    printed = ""
    for language, title, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if title:
            (here.folder / title).parent.mkdir(parents=True, exist_ok=True)
            (here.folder / title).write_text(text, encoding="utf-8")
        elif language == "sh":
            printed = shell(text, here)
        elif language == "python":
            printed = python(text, names)
        else:
            assert language == "text", language
            assert_printed(text, printed)
