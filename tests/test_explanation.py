"""Pages that explain mechanisms and attnlab name existing settings, files and code."""

import importlib.util
import re

import pytest
import yaml
from command_line import ROOT

from attnlab.config.options import option_content, options

FOLDER = ROOT / "docs/explanation"
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("**/*.md")}


def test_each_mechanism_has_a_page_with_its_figure_and_its_settings():
    assert {path.stem for path in FOLDER.glob("mechanisms/*.md")} == {*options("attention")}
    for name in options("attention"):
        assert f"figures/{name}.png" in PAGES[name] and f"mechanisms/{name}.md" in PAGES["index"]
        for key, value in option_content("attention", name).items():
            if key not in ("name", "_target_", "rules"):
                default = yaml.safe_dump(value).splitlines()[0]
                assert f"| `attention.{key}` | {default} |" in PAGES[name], (name, key)


def test_files_that_a_page_names_are_there():
    for name, text in PAGES.items():
        for file in re.findall(r"`((?:attnlab|tests|scripts|conf)/[\w/.]+\.\w+)`", text):
            assert (ROOT / file).exists(), (name, file)


def test_code_is_included_without_its_docstring():
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "scripts/site.py")
    site = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(site)
    block = site.code("attnlab/attention/none.py", "NoAttention.read")
    head, *lines, end = block.splitlines()
    assert head == '```python title="attnlab/attention/none.py"' and end == "```"
    assert lines[0].startswith("def read(self, weights") and '"""' not in block
    assert lines[-1].startswith("    return ")
    with pytest.raises(ValueError, match="not enough values"):
        site.code("attnlab/attention/none.py", "NoAttention.gone")
    for name, text in PAGES.items():
        assert "<!--" not in site.on_page_markdown(text, None, None, None), name
