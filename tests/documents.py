"""The README and the pages of docs/: their commands and their code."""

import re
from functools import cache

from command_line import ROOT

PATHS = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
README = PATHS[0].read_text(encoding="utf-8")


@cache
def everything() -> str:
    """The text of all documents."""
    return "\n".join(path.read_text(encoding="utf-8") for path in PATHS)


def commands() -> list[str]:
    """Every `attnlab` command that stands in a line of its own, once, without its comment."""
    found = re.findall(r"^    attnlab (.*?)(?:\s+#.*)?$", everything(), flags=re.MULTILINE)
    return [*dict.fromkeys(line for line in found if not line.endswith("\\"))]


def code(language: str) -> list[str]:
    """Every code block of a language, once."""
    return [*dict.fromkeys(re.findall(rf"```{language}\n(.*?)```", everything(), flags=re.DOTALL))]
