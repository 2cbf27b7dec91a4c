"""All imports: none goes up, none is in a cycle, and each library stays in its rooms."""

from __future__ import annotations

import ast
import functools
import os
import subprocess
import sys
import textwrap
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "attnlab"
KINDS = sorted(path.parent.name for path in PACKAGE.glob("tasks/*/kind.py"))
# A room imports from the rooms after it, types included, and from `LOWEST`, which import from none.
ROOMS = [
    *("__main__", "cli", "api", "commands", "studies", "sweeps", "export", "explore", "report"),
    *("runner", "comparison", "KIND", "tasks.text_task", "tasks.shown"),
    *("tasks.in_memory", "tasks.predictor", "tasks.exported", "tasks.data", "encoders"),
    *("tasks.item_tests", "tasks.base", "views", "text", "tasks.attention", "tasks.kinds", "tasks"),
    *("training", "layers"),
]
LOWEST = {"attention", "config", "records", "terminal", "views.records"}
EVERYWHERE = {"errors", "internals", "__init__"}
TENSOR_ROOMS = {"attention", "encoders", "export", "internals", "layers", "training", "runner"}
TENSOR_ROOMS |= {"tasks.in_memory", *KINDS}
ONLY_IN = {
    "tensorflow": TENSOR_ROOMS,
    "keras": TENSOR_ROOMS,
    "keras_hub": {"encoders"},
    "click": {"cli", "commands"},
    "rich": {"commands", "comparison", "runner", "sweeps", "terminal"},
    "hydra": {"cli", "config", "sweeps"},
    "omegaconf": {"cli", "config", "studies", "sweeps"},
    "optuna": {"sweeps"},
    "ray": {"sweeps"},
    "mlflow": {"records/mlflow.py"},
    "ctranslate2": {"export"},
    "onnxruntime": {"export"},
    "tf2onnx": {"export"},
    "sentencex": {"text"},
    "sklearn": {"tasks/answering", "tasks/classification", "tasks/translation", "text"},
    "pandas": {"api", "comparison", "studies", "tasks/data", "tasks/forecasting"},
    "matplotlib": {"views"},
    "jinja2": {"views"},
    "starlette": {"explore"},
    "uvicorn": {"explore", "records/mlflow.py"},
}
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def room(module: str) -> str:
    """The room of a module: of a kind's files the kind."""
    parts = module.split(".")[1:] or ["__init__"]
    if parts[:2] == ["views", "records"]:
        return "views.records"
    if parts[0] != "tasks" or len(parts) == 1:
        return parts[0]
    if parts[1] not in KINDS:
        return f"tasks.{parts[1]}"
    return parts[1]


@functools.cache
def imports(module: str, types: bool = False) -> tuple[str, ...]:
    """All that a file imports, inside functions too: modules, or names of others.

    Without `types`, only what it imports when it runs.
    """
    modules: list[str] = []
    tree = ast.parse(FILES[module].read_text(encoding="utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in for_types and not types:
            continue
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{module}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            modules += [name if name in FILES else node.module for name in names]
    return tuple(modules)


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    """Which modules of this project each of them imports, for types, too."""
    return {
        module: {name for name in imports(module, types=True) if name in FILES} for module in FILES
    }


def test_no_module_imports_from_a_higher_room(graph):
    """A kind is imported by no other room: it is found by name."""
    for module, others in graph.items():
        name = "KIND" if room(module) in KINDS else room(module)
        below = [*ROOMS[ROOMS.index(name) + 1 :], *LOWEST] if name in ROOMS else []
        allowed = {room(module), *EVERYWHERE, *below} - {"KIND"}
        wrong = [other for other in others if room(other) not in allowed]
        assert not wrong, module


def test_no_files_import_each_other(graph):
    TopologicalSorter(graph).prepare()  # raises an error that names a cycle


def place(module: str) -> str:
    return FILES[module].relative_to(PACKAGE).as_posix()


def test_each_library_stays_in_its_rooms():
    wrong = [
        f"{module} imports {library}"
        for module in FILES
        for library in {name.partition(".")[0] for name in imports(module)} & {*ONLY_IN}
        if room(module) not in ONLY_IN[library]
        and not any(f"{place(module)}/".startswith(f"{folder}/") for folder in ONLY_IN[library])
    ]
    assert not wrong


def test_no_room_is_overcrowded():
    a_file_each = {PACKAGE / "attention", PACKAGE / "commands"}
    folders = {path.parent for path in FILES.values()} - a_file_each
    crowds = {str(folder): len(list(folder.glob("*.py"))) for folder in folders}
    assert max(crowds.values()) <= 18, crowds
    assert len(list(PACKAGE.glob("*.py"))) <= 8


def test_the_pure_functions_of_attention_dont_import_layers(graph):
    below = graph["attnlab.attention.functional"]
    assert not [name for name in below if name.startswith("attnlab.attention")]


HEAVY = ("tensorflow", "keras", "mlflow", "matplotlib", "numpy", "scipy", "pandas", "sklearn")


def loaded_by(code: str, runs: str | Path = "nowhere") -> set[str]:
    """Names of the heavy libraries that a fresh Python has loaded after some code."""
    code += f"; import sys; print(*[name for name in {HEAVY} if name in sys.modules])"
    environment = {"PYTHONPATH": str(ROOT), "ATTNLAB_RUNS": str(runs)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    return set(done.stdout.splitlines()[-1].split())


def test_the_package_itself_is_light():
    functions = "attnlab.run, attnlab.compare, attnlab.load, attnlab.runs, attnlab.sweep"
    assert loaded_by(f"import attnlab; {functions}") == set()


def test_help_typos_and_runs_answer_at_once():
    words = [["--help"], ["task=fbi"], ["trian"], ["runs"], ["--cfg", "job"], ["-sc", "query=bash"]]
    calls = "; ".join(f"main({arguments})" for arguments in words)
    code = "import os, sys; sys.argv[0] = 'attnlab'; os.environ['COMP_LINE'] = 'attnlab plot '; "
    code += f"from attnlab.cli import main; {calls}"
    assert loaded_by(code) == set()


def test_commands_import_only_what_they_need(three_groups):
    build = "from attnlab.commands import command, verbs; [*map(command, verbs())]"
    assert loaded_by(build) == set()
    start = "from attnlab.cli import main; assert 0 == main"
    assert loaded_by(f"{start}(['runs', '--limit', '3'])", three_groups) == set()
    compare = f"{start}(['compare', '--format', 'csv']); assert 0 == main(['plan', '--difference', "
    compare += "'5%']); import attnlab.comparison.charts, attnlab.tasks.translation.scores"
    assert loaded_by(compare, three_groups) <= {"numpy", "scipy", "pandas"}


def test_a_configuration_is_checked_and_data_are_read_without_tensorflow():
    light = {"commands", "comparison", "config", "records", "report"}
    light |= {"tasks.base", "tasks.kinds", "tasks.predictor", "views.records"}
    modules = [m for m in FILES if room(m) in light and not place(m).startswith("comparison/")]
    modules += ["attnlab.runner.train", "attnlab.runner.loading", "attnlab.runner.console"]
    modules += [f"attnlab.tasks.{kind}.task" for kind in KINDS]
    code = "; ".join(f"import {module}" for module in modules)
    assert loaded_by(code) <= {"numpy", "scipy", "pandas"}


@pytest.mark.slow
def test_the_way_from_the_command_to_the_score_is_short(tmp_path):
    """A reader can follow a run: 14 of our calls up to the first score, 45 of our modules."""
    code = f"""
        import sys, traceback
        from attnlab.attention.bahdanau import BahdanauAttention
        from attnlab.cli import main

        ours, score, depths = "{PACKAGE.as_posix()}/", BahdanauAttention.score, []

        def measured(*arguments):
            stack = [frame.filename for frame in traceback.extract_stack()]
            depths.append(sum(file.startswith(ours) for file in stack))
            return score(*arguments)

        BahdanauAttention.score = measured
        words = ["task=fib", "attention=bahdanau", "trainer.epochs=1", "tracking.enabled=false"]
        code = main(words)
        modules = [name for name in sys.modules if name.partition(".")[0] == "attnlab"]
        print(code, depths[0], len(modules))
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ATTNLAB_RUNS": str(tmp_path)}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    code, calls, modules = map(int, done.stdout.splitlines()[-1].split())
    assert code == 0 and calls <= 14 and modules <= 45
