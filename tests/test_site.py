"""The site builds without a warning, and no page needs the network."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ROOT

SECTIONS = ("tutorials", "guides", "reference", "explanation", "findings")
# What a browser loads by itself: not the links that a reader may follow.
_LOADED = re.compile(r'<(?:script|img|iframe|link)[^>]*?(?:src|href)="(https?:)?//', re.IGNORECASE)


@pytest.mark.parametrize("section", SECTIONS)
def test_the_index_of_a_section_links_all_its_pages(section):
    folder = ROOT / "docs" / section
    linked = set(re.findall(r"\]\(([^)#:]+\.md)", (folder / "index.md").read_text("utf-8")))
    pages = {path.relative_to(folder).as_posix() for path in folder.glob("**/*.md")}
    assert pages - linked == {"index.md"}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    pytest.importorskip("material", reason="needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.mark.slow
def test_no_page_loads_anything_from_the_network(built):
    pages = [*built.glob("**/*.html")]
    assert len(pages) > 40
    for page in pages:
        assert not _LOADED.search(page.read_text("utf-8")), page


@pytest.mark.slow
def test_pages_are_made_from_the_code(built):
    assert "trainer.epochs" in (built / "reference/settings.html").read_text("utf-8")
    assert "attnlab runs sync" in (built / "reference/commands.html").read_text("utf-8")


@pytest.mark.slow
def test_formulas_are_mathml(built):
    pages = "".join(p.read_text("utf-8") for p in built.glob("explanation/**/*.html"))
    assert pages.count("<math ") > 20 and r"\(" not in pages and r"\[" not in pages
