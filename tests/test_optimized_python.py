"""Python with -O, which leaves out asserts, and with -OO, which leaves out docstrings, too."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
import validated_kinds

ROOT = Path(__file__).parents[1]
TREES = {file: ast.parse(file.read_text("utf-8")) for file in ROOT.glob("attnlab/**/*.py")}


@pytest.mark.slow  # Python compiles all of TensorFlow anew
def test_each_kind_is_validated_with_its_trained_weights_under_oo():
    done = subprocess.run(
        [sys.executable, "-OO", validated_kinds.__file__],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("optimize") == 2 and found.keys() == validated_kinds.RUNS.keys()
    for kind, words in validated_kinds.RUNS.items():
        assert found[kind] == pytest.approx(validated_kinds.validation_losses(words), rel=1e-4)


def _properties() -> set[str]:
    """Names of this project's properties that change an attribute."""
    functions = [n for t in TREES.values() for n in ast.walk(t) if isinstance(n, ast.FunctionDef)]
    return {
        each.name
        for each in functions
        if any(ast.unparse(decorator) == "property" for decorator in each.decorator_list)
        and any(_changes(node) for node in ast.walk(each))
    }


def _changes(node: ast.AST) -> bool:
    """Whether a statement assigns to an attribute, or calls a method for its effect."""
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    assigns = isinstance(node, ast.Assign | ast.AugAssign) and any(
        isinstance(target, ast.Attribute) for target in targets
    )
    return assigns or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))


def test_no_assert_does_anything():
    doing = _properties()
    for file, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Assert):
                test = node.test
                if isinstance(test, ast.Call) and ast.unparse(test.func) == "isinstance":
                    continue  # tells mypy a type
                parts = [*ast.walk(test)]
                assert not any(isinstance(part, ast.Call | ast.NamedExpr) for part in parts), file
                names = {part.attr for part in parts if isinstance(part, ast.Attribute)}
                assert not names & doing, (file, ast.unparse(node))


def test_no_attribute_or_comparison_is_a_statement():
    """A bare `learner.model` would have an effect that readers don't expect."""
    for file, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr):
                assert not isinstance(node.value, ast.Attribute | ast.Compare), (file, node.lineno)
