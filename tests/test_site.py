"""The site builds without a warning, and no page needs the network."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ROOT

# What a browser loads by itself: not the links that a reader may follow.
_LOADED = re.compile(r'<(?:script|img|iframe|link)[^>]*?(?:src|href)="(https?:)?//', re.IGNORECASE)


def test_the_index_of_a_section_links_all_its_pages():
    for index in ROOT.glob("docs/*/index.md"):
        linked = set(re.findall(r"\]\(([^)#:]+\.md)", index.read_text("utf-8")))
        pages = {path.relative_to(index.parent).as_posix() for path in index.parent.rglob("*.md")}
        assert pages - linked == {"index.md"}, index


@pytest.fixture
def built(tmp_path) -> Path:
    pytest.importorskip("material", reason="needs the extra docs")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return tmp_path


@pytest.mark.slow
def test_pages_need_no_network_and_are_made_from_the_code(built):
    pages = [*built.glob("**/*.html")]
    assert len(pages) > 40
    for page in pages:
        assert not _LOADED.search(page.read_text("utf-8")), page
    assert "trainer.epochs" in (built / "reference/settings.html").read_text("utf-8")
    assert "attnlab runs sync" in (built / "reference/commands.html").read_text("utf-8")
    formulas = "".join(p.read_text("utf-8") for p in built.glob("explanation/**/*.html"))
    assert formulas.count("<math ") > 20 and r"\(" not in formulas and r"\[" not in formulas
