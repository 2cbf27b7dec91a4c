"""Hook of `mkdocs build`: code of the package in pages, which so cannot differ from it.

`<!-- code: attnlab/attention/bahdanau.py BahdanauAttention.score -->` becomes the source of that
method without its docstring; several names become several functions. A name that is gone fails the
build.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MARK = re.compile(r"<!-- code: (\S+) ([^>]+?) -->")


def on_page_markdown(markdown, page, config, files):
    """Put code in the place of each mark."""
    return MARK.sub(lambda match: block(match[1], match[2].split()), markdown)


def block(path: str, names: list[str]) -> str:
    """Return the source of functions and methods as a block of Markdown.

    Raises:
        KeyError: the file has no such name.
    """
    text = (ROOT / path).read_text(encoding="utf-8")
    found = definitions(ast.parse(text))
    parts = "\n\n".join(source(text.splitlines(), found[name]) for name in names)
    return f'```python title="{path}"\n{parts}\n```'


def definitions(tree: ast.AST, prefix: str = "") -> dict[str, ast.FunctionDef]:
    """Return functions, and methods as CLASS.METHOD."""
    found: dict[str, ast.FunctionDef] = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            found[prefix + node.name] = node
        elif isinstance(node, ast.ClassDef):
            found |= definitions(node, f"{node.name}.")
    return found


def source(lines: list[str], node: ast.FunctionDef) -> str:
    """Return a function's lines without its docstring, indented like the outermost one."""
    has_docstring = ast.get_docstring(node) is not None
    document = node.body[0] if has_docstring else None
    kept = [
        line[node.col_offset :]
        for number, line in enumerate(lines[node.lineno - 1 : node.end_lineno], node.lineno)
        if document is None or not document.lineno <= number <= document.end_lineno
    ]
    return "\n".join(kept)
