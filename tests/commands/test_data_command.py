"""`attnlab data`: the list, the counts of one corpus, downloads, and what is refused."""

from __future__ import annotations

import inspect
import io
import json
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
    """A working folder with a corpus and a cache."""
    monkeypatch.setenv("ATTNLAB_DATA", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deu.txt").write_text(TABS, encoding="utf-8")
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


def test_the_list_as_json(data):
    rows = json.loads(data("list", "--json").out)
    assert sorted(row["name"] for row in rows) == sorted([*options("data"), "ett"])
    assert {row["where"] for row in rows} >= {"give data.path=FILE.pkl"}


def test_the_command_line_lists_corpora(attnlab, folder):
    attnlab.environment["ATTNLAB_DATA"] = str(folder / "cache")
    outcome = attnlab("data", "list")
    assert (outcome.code, outcome.err) == (0, "")
    assert "\ntatoeba " in outcome.out


def test_counts_of_one_corpus(data):
    outcome = data("list", "tatoeba", "--path", "deu.txt")
    assert outcome.code == 0, outcome.err
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert "CC-BY 2.0 FR" in outcome.out
    rows = [line.split() for line in outcome.out.splitlines()]
    assert ["pairs", "33", "4", "4"] in rows
    assert ["en", "words,", "mean", "4.00", "4.00", "4.00"] in rows


def test_the_same_as_json_with_settings(data):
    words = ("list", "tatoeba", "path=deu.txt", "data.validation=0", "--json")
    outcome = json.loads(data(*words).out)
    parts = outcome["parts"]
    assert {name: part["pairs"] for name, part in parts.items()} == {
        "train": 37,
        "validation": 0,
        "test": 4,
    }
    assert parts["test"]["en words not in train"] == pytest.approx(0.25)
    assert outcome == json.loads(data(*words, "--seed", "0").out)


def test_a_missing_corpus_is_listed_with_its_download_command(data):
    outcome = data("list", "tatoeba")
    assert outcome.code == 0, outcome.err
    assert "where: not downloaded: attnlab data fetch tatoeba" in outcome.out


def test_fetched_once_then_counted(data, folder):
    with serving({"/deu-eng.zip": archive()}) as server:
        url = f"url={server.url}/deu-eng.zip"
        for _ in range(2):
            outcome = data("fetch", "tatoeba", url)
            assert outcome.code == 0, outcome.err
            assert "tatoeba is in " in outcome.out and "CC-BY 2.0 FR" in outcome.out
        assert len(server.requests) == 1
        outcome = data("list", "tatoeba", url, "limit=30", "--json")
    assert sum(part["pairs"] for part in json.loads(outcome.out)["parts"].values()) == 30
    assert len(list((folder / "cache").rglob("deu-eng.zip"))) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("list", "tatoba"), "expected one of .* got tatoba. Did you mean tatoeba?"),
        (("list", "../task/fib"), "expected one of .* got ../task/fib"),
        (("list", "book", "limit"), "limit: expected SETTING=VALUE with a setting of book: path,"),
        (("list", "book", "pth=x"), "pth=x: expected SETTING=VALUE with a setting of book: path,"),
        (("list", "book", "limit=0"), "data.limit: expected a whole number at least 1"),
        (("list", "book", "limit={"), "data.limit: '{' is not valid YAML"),
        (("list", "book"), "data=book: expected data.path=FILE.pkl, got nothing."),
        (
            ("list", "tatoeba", "path=gone"),
            "data.path: expected a file or folder, got gone.",
        ),
        (("list", "tatoeba", "path=."), "data.path: . can't be read: Is a directory"),
        (("list", "tatoeba", "path=deu.txt", "test=0.99"), "data.test + data.validation: expected"),
        (("fetch",), "Missing argument 'NAME'"),
        (
            ("fetch", "book"),
            "Data to download: cifar10, fashion_mnist, imdb, ",
        ),
        (("fetch", "tatoeba", "url=nowhere"), "data.url: expected http:// or https://"),
        (("fetch", "tatoeba", "url=http://127.0.0.1:9/x"), "Without a network, set data.path"),
        (("fetsh",), "No such command 'fetsh'"),
    ],
)
def test_wrong_requests_get_one_sentence(data, words, message):
    outcome = data(*words)
    assert (outcome.code, outcome.out) == (2, "")
    assert message.split(" .* ")[0] in outcome.err and message.split(" .* ")[-1] in outcome.err
    assert outcome.err.startswith("attnlab: ") and outcome.err.count("\n") == 1


def test_a_bad_file_gets_one_sentence(data, folder):
    (folder / "deu.txt").write_bytes(b"a\tb\nno tab\n")
    outcome = data("list", "tatoeba", "path=deu.txt")
    assert (outcome.code, outcome.out) == (2, "")
    assert "deu.txt, line 2: expected English, a tab, German" in outcome.err
    assert outcome.err.count("\n") == 1


def test_counts_of_classes_and_notes(data, folder):
    lines = "".join(f"the text {n},[{'ab'[n % 2]}]\n" for n in range(20))
    (folder / "t.csv").write_text(f"text,label\n{lines}")
    (folder / "u.csv").write_text("text,label\nthe text 0,[a]\nnew,[b]\n")
    words = ("list", "table", "path=t.csv", "test_path=u.csv")
    row = json.loads(data(*words, "--json").out)
    assert row["items"] == "texts" and row["where"] == "t.csv"
    assert row["notes"] == ["1 of 20 texts of train are also in a later part; they stay."]
    assert row["parts"]["test"] == {
        **{"texts": 2, "words, mean": 2.0, "words, most": 3, "words not in train": 0.25},
        **{"class [a]": 1, "class [b]": 1},
    }
    out = data(*words).out
    assert "note: 1 of 20 texts of train" in out and "class [a]" in out


def test_many_classes_are_not_all_listed(data, folder):
    lines = "".join(f"text {n},{n % 40:02}\n" for n in range(160))
    (folder / "t.csv").write_text(f"text,label\n{lines}")
    out = data("list", "table", "path=t.csv").out
    assert "class 29 " in out and "class 30 " not in out and "and 10 more classes" in out


def test_generated_tasks_are_counted(data):
    out = data("list", "associative_recall", "rows=100", "pairs=2", "length=8").out
    rows = [line.split() for line in out.splitlines()]
    assert ["answers", "200", "2,000", "2,000"] in rows


def test_series_are_counted_by_name(data, folder):
    times = (f"2016-07-01 {hour:02}:00:00,{hour}.5" for hour in range(24))
    (folder / "ETTh1.csv").write_text("\n".join(["date,OT", *times]))
    row = json.loads(data("list", "ett", "path=.", "series=ETTh1", "--json").out)
    assert row["parts"]["ETTh1"]["rows"] == 24 and row["parts"]["ETTh1"]["as published"] == "no"


def test_a_corpus_of_the_users_own_class_is_listed(data, folder, monkeypatch):
    (folder / "data").mkdir()
    content = option_content("data", "agreement")
    (folder / "data/mine.yaml").write_text(yaml.safe_dump({**content, "name": "mine"}))
    monkeypatch.setenv(CONFIG_DIR, str(folder))
    assert "\nmine " in data("list").out
