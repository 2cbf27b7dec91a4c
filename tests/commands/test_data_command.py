"""`attnlab data`: the list, downloads, and what is refused."""

from __future__ import annotations

import inspect
import io
import zipfile

import pytest
import yaml
from command_line import CONF, assert_refused
from download_server import serving

from attnlab.commands.data import make_data_set
from attnlab.config.options import CONFIG_DIR, option_content, options

TABS = "".join(f"The number {n}.\tDie Zahl {n}.\n" for n in range(40)) + "The number 1.\tDie 1.\n"


def archive() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("deu.txt", TABS)
    return content.getvalue()


@pytest.mark.parametrize("name", options("data"))
def test_the_classes_settings_are_those_of_the_file(name):
    corpus = make_data_set(name)
    assert corpus.name == name
    assert corpus.origin and corpus.license
    content = yaml.safe_load((CONF / "data" / f"{name}.yaml").read_text())
    accepted = inspect.signature(type(corpus)).parameters
    settings = {
        key: value for key, value in content.items() if key not in ("name", "_target_", "rules")
    }
    assert settings == {key: parameter.default for key, parameter in accepted.items()}
    assert {key for key in content["rules"] if "." not in key} == set(settings)


def test_the_list_has_every_corpus_and_fits_80_columns(here):
    outcome = here.run("data", "list")
    assert outcome.out == here("data").out
    for name in (*options("data"), "ett"):
        assert f"\n{name} " in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert "not downloaded:" in outcome.out and "attnlab data fetch" in outcome.out
    assert "1806.03822)" in outcome.out  # no letter is lost where a line ends
    flowing = " ".join(outcome.out.split())
    assert "CC-BY 2.0 FR" in flowing and "manythings.org/anki" in flowing


def test_a_corpus_of_the_users_own_is_listed_and_fetched_once(here, monkeypatch):
    folder = here.folder
    monkeypatch.setenv(CONFIG_DIR, str(folder))
    monkeypatch.setenv("ATTNLAB_DATA", str(folder / "cache"))
    (folder / "data").mkdir()
    content = {**option_content("data", "tatoeba"), "name": "mine", "url": "http://127.0.0.1:9/x"}
    (folder / "data/mine.yaml").write_text(yaml.safe_dump(content))
    assert "\nmine " in here("data", "list").out
    assert_refused(here("data", "fetch", "mine"), "Without a network, set data.path")
    with serving({"/deu-eng.zip": archive()}) as server:
        content["url"] = f"{server.url}/deu-eng.zip"
        (folder / "data/mine.yaml").write_text(yaml.safe_dump(content))
        for _ in range(2):
            outcome = here.run("data", "fetch", "mine")
            assert "mine is in " in outcome.out and "CC-BY 2.0 FR" in outcome.out
        assert len(server.requests) == 1
    assert len(list((folder / "cache").rglob("deu-eng.zip"))) == 1
