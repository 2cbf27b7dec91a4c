"""The README and the pages of docs/: their commands and their code."""

import re
from functools import cache

from command_line import ROOT

TUTORIALS = sorted(ROOT.glob("docs/tutorials/[!i]*.md"))  # tests/test_tutorials.py runs them
PATHS = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
README = PATHS[0].read_text(encoding="utf-8")


@cache
def everything() -> str:
    """The text of all documents."""
    return "\n".join(path.read_text(encoding="utf-8") for path in PATHS)


def commands() -> list[str]:
    """Every `attnlab` command on a line of its own, once, without its comment.

    Those of the tutorials are not among them: `tests/test_tutorials.py` runs these.
    """
    pages = [path.read_text(encoding="utf-8") for path in PATHS if path not in TUTORIALS]
    lines = re.findall(r"^    attnlab (.*?)(?:\s+#.*)?$", "\n".join(pages), flags=re.MULTILINE)
    return [*dict.fromkeys(line for line in lines if not line.endswith("\\"))]


def code(language: str, page: str = "README.md") -> list[str]:
    """The code blocks of a language on a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}[^\n]*\n(.*?)```", text, flags=re.DOTALL)
