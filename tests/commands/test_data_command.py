"""`attnlab data`: the list, downloads, and what is refused."""

from __future__ import annotations

import inspect
import io
import zipfile

import pytest
import yaml
from command_line import CONF, Outcome
from download_server import serving

from attnlab.cli import main
from attnlab.commands.data import make_data_set
from attnlab.config.options import CONFIG_DIR, option_content, options

TABS = "".join(f"The number {n}.\tDie Zahl {n}.\n" for n in range(40)) + "The number 1.\tDie 1.\n"


def archive() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("deu.txt", TABS)
    return content.getvalue()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a cache."""
    monkeypatch.setenv("ATTNLAB_DATA", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def data(folder, capsys):
    """`attnlab data ...` in this process."""

    def data(*words: str) -> Outcome:
        code = main(["data", *words])
        return Outcome(code, *capsys.readouterr())

    return data


@pytest.mark.parametrize("name", options("data"))
def test_the_classes_settings_are_those_of_the_file(name):
    corpus = make_data_set(name)
    assert corpus.name == name
    assert corpus.origin and corpus.license
    content = yaml.safe_load((CONF / "data" / f"{name}.yaml").read_text())
    accepted = inspect.signature(type(corpus)).parameters
    given = {
        key: value for key, value in content.items() if key not in ("name", "_target_", "rules")
    }
    assert given == {key: parameter.default for key, parameter in accepted.items()}
    assert {key for key in content["rules"] if "." not in key} == set(given)


def test_the_list_has_every_corpus_and_fits_80_columns(data):
    outcome = data("list")
    assert outcome.code == 0, outcome.err
    assert outcome.out == data().out
    for name in (*options("data"), "ett"):
        assert f"\n{name} " in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert "not downloaded:" in outcome.out and "attnlab data fetch" in outcome.out
    assert "1806.03822)" in outcome.out  # no letter is lost where a line ends
    flowing = " ".join(outcome.out.split())
    assert "CC-BY 2.0 FR" in flowing and "manythings.org/anki" in flowing


def test_a_corpus_is_fetched_once(data, folder):
    with serving({"/deu-eng.zip": archive()}) as server:
        url = f"url={server.url}/deu-eng.zip"
        for _ in range(2):
            outcome = data("fetch", "tatoeba", url)
            assert outcome.code == 0, outcome.err
            assert "tatoeba is in " in outcome.out and "CC-BY 2.0 FR" in outcome.out
        assert len(server.requests) == 1
    assert len(list((folder / "cache").rglob("deu-eng.zip"))) == 1


def test_wrong_requests_get_one_sentence(data):
    for words, message in (
        (("fetch", "tatoba"), "expected one of .* got tatoba. Did you mean tatoeba?"),
        (("fetch", "book", "limit"), "limit: expected SETTING=VALUE with a setting of book: path,"),
        (("fetch", "book", "limit=0"), "data.limit: expected a whole number at least 1"),
        (("fetch", "book", "limit={"), "data.limit: '{' is not valid YAML"),
        (("fetch", "book"), "NAME: book can't be downloaded"),
        (("fetch", "tatoeba", "url=http://127.0.0.1:9/x"), "Without a network, set data.path"),
    ):
        outcome = data(*words)
        assert (outcome.code, outcome.out) == (2, "")
        assert message.split(" .* ")[0] in outcome.err and message.split(" .* ")[-1] in outcome.err
        assert outcome.err.startswith("attnlab: ") and outcome.err.count("\n") == 1


def test_a_corpus_of_the_users_own_class_is_listed(data, folder, monkeypatch):
    (folder / "data").mkdir()
    content = option_content("data", "agreement")
    (folder / "data/mine.yaml").write_text(yaml.safe_dump({**content, "name": "mine"}))
    monkeypatch.setenv(CONFIG_DIR, str(folder))
    assert "\nmine " in data("list").out
