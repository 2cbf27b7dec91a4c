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
from typing import Any

# Folders of docs/, in the order of the tabs. Each has an index.md that links its pages in order.
SECTIONS = {
    "tutorials": "Tutorials",
    "guides": "Guides",
    "reference": "Reference",
    "explanation": "Explanation",
    "findings": "Findings",
    "gallery": "Gallery",
}
ROOT = Path(__file__).resolve().parents[1]
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
    """Fill in what a page has from the code.

    `<!-- made: NAME -->` becomes a list of `MADE`. `<!-- code: PATH NAME... -->` becomes the source
    of functions, or of methods as CLASS.METHOD, without docstrings; a missing name fails the build.
    """
    markdown = re.sub(r"<!-- code: (\S+) ([^>]+?) -->", lambda m: code(*m.groups()), markdown)
    return re.sub(r"<!-- made: (\w+) -->", lambda match: MADE[match[1]](), markdown)


def code(path: str, names: str) -> str:
    """Return the source of functions in a file as a block of Markdown."""
    text = (ROOT / path).read_text(encoding="utf-8")
    parts = []
    for name in names.split():
        node: Any = ast.parse(text)
        for part in name.split("."):
            (node,) = (child for child in node.body if getattr(child, "name", "") == part)
        lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
        if ast.get_docstring(node) is not None:
            first, last = node.body[0].lineno, node.body[0].end_lineno
            del lines[first - node.lineno : last - node.lineno + 1]
        parts.append("\n".join(line[node.col_offset :] for line in lines))
    return _block("\n\n".join(parts), f'python title="{path}"')


def on_page_content(content, page, config, files):
    """Turn TeX into MathML, which browsers show without JavaScript."""
    return _FORMULA.sub(_mathml, content)


def _mathml(match: re.Match) -> str:
    from latex2mathml.converter import convert  # of the extra docs

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


def _block(text: str, kind: str = "text") -> str:
    return f"```{kind}\n{text}\n```"


MADE = {"commands": commands, "settings": settings}
