"""Who may import whom, and what a command must not wait for."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "attnlab"
EVERYWHERE = {"errors", "interrupts", "__version__"}
# Room -> the rooms below it that it may import: DESIGN, section 2.
BELOW = {
    "__main__": {"cli"},
    "cli": {"commands", "config", "help", "rules", "runner", "schema", "sweeps"},
    "help": {"commands", "config"},
    "commands": {
        *("analysis", "assembly", "config", "console", "data", "records", "rules", "runner"),
        *("models", "schema", "tasks", "trained"),
    },
    "sweeps": {"assembly", "config", "console", "records", "rules", "runner", "schema"},
    "runner": {"assembly", "console", "keeping", "records", "schema", "session", "tasks"},
    "session": {
        *("assembly", "console", "keeping", "learning", "outcome", "progress", "records"),
        *("schema", "tasks", "training"),
    },
    "keeping": {"analysis", "learning", "outcome", "records", "schema", "tasks"},
    "progress": set(),
    "learning": {"analysis", "data", "models", "schema", "tasks", "training"},
    "outcome": {"learning", "schema", "tasks"},
    "trained": {"assembly", "records", "schema", "tasks", "training"},
    "assembly": {"schema", "tasks"},
    "tasks": {"analysis", "attention", "data", "models", "schema", "training"},
    "training": {"data", "models"},
    "analysis": {"records", "rules"},
    "models": {"attention"},
    "config": {"rules", "schema"},
    "console": set(),
    "records": set(),
    "attention": set(),
    "data": set(),
    "schema": {"rules"},
    "rules": set(),
    "errors": set(),
    "interrupts": set(),
    "__init__": set(),
}
TENSOR_ROOMS = {
    *("attention", "models", "training", "tasks", "learning"),
    *("runner", "session", "keeping", "outcome", "trained", "assembly"),
}
ONLY_IN = {
    "tensorflow": TENSOR_ROOMS,
    "keras": TENSOR_ROOMS,
    "hydra": {"cli", "config", "sweeps"},
    "omegaconf": {"cli", "config", "sweeps"},
    "optuna": {"sweeps"},
    "mlflow": {"records/tracking.py", "records/store.py", "records/sync.py"},
    "matplotlib": {"analysis"},
}
FILES = sorted(PACKAGE.rglob("*.py"))


def place(file: Path) -> str:
    return file.relative_to(PACKAGE).as_posix()


def room(file: Path) -> str:
    return place(file).partition("/")[0].removesuffix(".py")


def imported(file: Path) -> set[str]:
    """Dotted names of all imports, at the top and inside functions."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{place(file)}: a relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("file", FILES, ids=place)
def test_imports_go_down(file):
    own = {name.split(".")[1] for name in imported(file) if name.startswith("attnlab.")}
    assert own - EVERYWHERE - {room(file)} <= BELOW[room(file)]


@pytest.mark.parametrize("file", FILES, ids=place)
def test_each_library_stays_in_its_rooms(file):
    for library in {name.partition(".")[0] for name in imported(file)} & set(ONLY_IN):
        assert {room(file), place(file)} & ONLY_IN[library], f"{place(file)} imports {library}"


def test_the_pure_functions_of_attention_stand_below_its_layers():
    inside = {name for name in imported(PACKAGE / "attention/functional.py") if "attnlab" in name}
    assert not [name for name in inside if name.startswith("attnlab.attention")]


def loaded_by(code: str) -> set[str]:
    """Names of the heavy libraries that a fresh Python has loaded after some code."""
    heavy = ("tensorflow", "keras", "mlflow", "matplotlib", "scipy")
    code += f"; import sys; print(*[name for name in {heavy} if name in sys.modules])"
    environment = {"PYTHONPATH": str(ROOT), "ATTNLAB_RUNS": "nowhere"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("words", [["--help"], ["task=fbi"], ["trian"], ["runs"], ["--cfg", "job"]])
def test_answers_at_once(words):
    code = f"import sys; sys.argv[0] = 'attnlab'; from attnlab.cli import main; main({words})"
    assert loaded_by(code) == set()


def test_a_configuration_is_checked_and_data_are_read_without_tensorflow():
    modules = [
        place(file).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for file in FILES
        if room(file) in ("commands", "data", "records", "runner", "tasks", "trained", "console")
    ]
    code = "; ".join(f"import attnlab.{module}" for module in modules)
    assert loaded_by(code) <= {"scipy"}
