"""Look for words that aren't plain English: `python scripts/words.py FILE_OR_FOLDER...`.

It reads Markdown without code, all lines of YAML, and of Python the docstrings, the comments and
the names of variables and arguments. The exit code is 1 if anything is found. Lines with a comment
`words: ok` are skipped.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

# What an engineer would not say -> what they would. Only what is wrong in nearly every sentence.
WORDS = {
    r"(is|are|be|was) told from|tells? of": "report, show",
    r"\btold\b": "reported, printed, recorded",
    r"go(es)? on\b(?! (top|a|the|to)\b)|\bgone on\b": "continue, resume",
    r"\bbeside\b": "next to, compared with, in addition to",
    r"\bmended\b": "fixed",
    r"carr(y|ies|ied) out": "run, execute",
    r"nothing but\b|\bno \w+ but\b": "only",
    r"\bbut for\b": "except",
    r"\bat hand\b": "available",
    r"by the clock": "wall time",
    r"held against": "compared with",
    r"\b(lies?|lay|stands?) (in|at|below|beside|there)\b": "is, are",
    r"come to no end|came to no end": "did not finish",
    r"(^|[.:;] )(whatever|whichever|wherever)\b": "any; say which",
    r"\b(sooner|later) than\b": "faster, slower",
    r"\bwish(es|ed)?\b": "request, need",
    r"\bperhaps\b": "possibly; or say when",
    r"what is more to": "say it directly",
    r"of (one|each|several) run(s)? (a|several)\b": "several per run",
    r"\bso as\b": "as, because",
    r"\bonly the more\b|\ball the more\b": "leave it out",
}
# Names that say how a value came about, not what it is.
NAMES = {"found", "own", "each", "known", "given", "kept", "taken", "rest", "read", "told"}
PATTERN = re.compile("|".join(f"(?P<w{n}>{word})" for n, word in enumerate(WORDS)), re.IGNORECASE)


def markdown(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of prose with their numbers: no code blocks, no code marks, no links."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        if not fenced and not line.startswith("    "):
            yield number, re.sub(r"`[^`]*`|\]\([^)]*\)", " ", line)


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the variables and arguments of a program with their line numbers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def python(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of docstrings and comments with their numbers."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            first = node.body[0]
            for at, line in enumerate(ast.get_source_segment(text, first).splitlines()):
                yield first.lineno + at, re.sub(r"`[^`]*`", " ", line)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def yaml(text: str) -> Iterator[tuple[int, str]]:
    """Yield all lines with their numbers: comments, `help` texts and values."""
    return enumerate(text.splitlines(), 1)


READERS = {".md": markdown, ".py": python, ".yaml": yaml}


def hits(path: Path) -> Iterator[str]:
    """Yield a line for each idiom in a file: where, what, and what to say instead."""
    text = path.read_text(encoding="utf-8")
    for number, line in READERS[path.suffix](text):
        if "words: ok" not in line:
            for match in PATTERN.finditer(line):
                instead = [*WORDS.values()][int(match.lastgroup[1:])]
                yield f"{path}:{number}: '{match[0].strip()}': {instead}"
    if path.suffix == ".py":
        for number, name in names(ast.parse(text)):
            if name.strip("_") in NAMES:
                yield f"{path}:{number}: '{name}': say what the value is"


def main(arguments: list[str]) -> int:
    """Print the hits of all files, and return 1 if there are any."""
    lines = []
    for path in map(Path, arguments):
        files = [p for p in path.rglob("*") if p.suffix in READERS] if path.is_dir() else [path]
        lines += [hit for file in sorted(files) for hit in hits(file)]
    print("\n".join(lines) or "words: no hit")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
