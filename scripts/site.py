"""Hooks of `mkdocs build`: navigation, formulas as MathML, and the pages made from the code."""

from __future__ import annotations

import ast
import contextlib
import html
import io
import os
import posixpath
import re
from pathlib import Path

from latex2mathml.converter import convert

# Folders of docs/, in the order of the tabs. Each has an index.md that links its pages in order.
SECTIONS = {
    "tutorials": "Tutorials",
    "guides": "Guides",
    "reference": "Reference",
    "explanation": "Explanation",
    "findings": "Findings",
    "gallery": "Gallery",
}
PACKAGE = Path(__file__).resolve().parents[1] / "attnlab"
ERRORS = {"RequestError", "CannotGoOn", "RunBusy", "RunFailed", "SweepFailed"}
OTHERS = "Files and everything else"
_LINK = re.compile(r"\]\(([^)#:]+\.md)(?:#[^)]*)?\)")
_FORMULA = re.compile(r'class="arithmatex">\\([(\[])(.*?)\\[)\]]<', re.DOTALL)


def on_config(config):
    """Set the navigation: the front page, then one tab per section."""
    docs = Path(config.docs_dir)
    sections = {title: section_pages(docs, folder) for folder, title in SECTIONS.items()}
    config.nav = [
        {"Start": "index.md"},
        *({title: pages} for title, pages in sections.items() if pages),
    ]
    return config


def section_pages(docs: Path, folder: str) -> list[str]:
    """List a section's pages: its index, the pages that the index links to, then all others."""
    index = docs / folder / "index.md"
    text = index.read_text(encoding="utf-8") if index.is_file() else ""
    linked = [posixpath.normpath(f"{folder}/{link}") for link in _LINK.findall(text)]
    there = sorted(path.relative_to(docs).as_posix() for path in docs.glob(f"{folder}/**/*.md"))
    first = [f"{folder}/index.md", *(page for page in linked if page.startswith(f"{folder}/"))]
    return [page for page in dict.fromkeys([*first, *there]) if page in there]


def on_page_markdown(markdown, page, config, files):
    """Fill in what a page has from the code, at its `<!-- made: NAME -->`."""
    return re.sub(r"<!-- made: (\w+) -->", lambda match: MADE[match[1]](), markdown)


def on_page_content(content, page, config, files):
    """Turn TeX into MathML, which browsers show without JavaScript."""
    return _FORMULA.sub(_mathml, content)


def _mathml(match: re.Match) -> str:
    display = "inline" if match[1] == "(" else "block"
    return f'class="arithmatex">{convert(html.unescape(match[2]), display=display)}<'


def printed(*words: str) -> str:
    """Return what `attnlab WORDS` prints, at 100 columns."""
    from attnlab.cli import main

    os.environ["COLUMNS"] = "100"
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main([*words])
    if code:
        raise RuntimeError(f"attnlab {' '.join(words)}: exit code {code}")
    return out.getvalue().rstrip()


def commands() -> str:
    """Return a section per command with its help."""
    import click

    from attnlab.commands import command, verbs

    parts = ["## attnlab", _block(printed("--help"))]
    for verb in verbs():
        parts += [f"## attnlab {verb}", _block(printed(verb, "--help"))]
        group = command(verb)
        for name in group.list_commands(None) if isinstance(group, click.Group) else ():
            parts += [f"### attnlab {verb} {name}", _block(printed(verb, name, "--help"))]
    return "\n\n".join(parts)


def settings() -> str:
    """Return the tables of all settings, one per option."""
    from attnlab.config.settings import settings

    lines = []
    header = ["", "| key | meaning | value | default |", "|---|---|---|---|"]
    title = None
    for setting in settings():
        if (option := setting.option or "every run") != title:
            title = option
            lines += ["", f"## {option}", *header]
        cells = (f"`{setting.key}`", setting.meaning, setting.expected, f"`{setting.default}`")
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def messages() -> str:
    """Return every message of a wrong request, in a section per key or file."""
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS and node.args:
                text = _text(node.args[0])
                if len(re.findall(r"\w{2,}", text)) > 3:  # the rest is put together elsewhere
                    found.setdefault(_subject(text), set()).add(text)
    parts = []
    for subject in sorted(found, key=lambda name: (name == OTHERS, name.strip("-").lower())):
        parts += [
            f"### {subject}",
            *(f"- {html.escape(text, quote=False)}" for text in sorted(found[subject])),
        ]
    return "\n".join(part if part[0] == "-" else f"\n{part}\n" for part in parts)


def _subject(text: str) -> str:
    """Return the group of settings, the option or the argument that a message starts with."""
    match = re.match(r"(--[\w-]+|[a-z]+(?=\.\w)|[a-z_]+(?=[=:])|[A-Z]+(?=:))", text)
    return f"`{match[1]}`" if match else OTHERS


def _text(node: ast.expr) -> str:
    """Return a string's text, with … for the values in it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return "…"


def _block(text: str) -> str:
    return f"```text\n{text}\n```"


MADE = {"commands": commands, "messages": messages, "settings": settings}
