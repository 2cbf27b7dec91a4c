"""`attnlab data` of corpora to classify: each kind lists its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from attnlab.cli import main
from attnlab.config.options import CONFIG_DIR, option_content, options
from attnlab.tasks.answering.corpora import CATALOG as ANSWERING
from attnlab.tasks.classification.corpora import CATALOG
from attnlab.tasks.language.catalog import CATALOG as LANGUAGE
from attnlab.tasks.translation.corpora import CATALOG as TRANSLATION

YAML = "name: mine\n_target_: {path}\nrules: {{}}\n"


@pytest.fixture
def data(tmp_path, monkeypatch, capsys):
    """`attnlab data ...` in this process, with an empty cache."""
    monkeypatch.setenv("ATTNLAB_DATA", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def data(*words: str):
        code = main(["data", *words])
        return code, *capsys.readouterr()

    return data


def test_each_kind_lists_its_corpora():
    catalogs = [
        (CATALOG, {"classify", "digits", "images"}),
        (ANSWERING, {"answer"}),
        (LANGUAGE, {"language", "masked_words"}),
        (TRANSLATION, {"translate"}),
    ]
    for catalog, tasks in catalogs:
        rules = {name: option_content("data", name)["rules"] for name in options("data")}
        said = [name for name, rule in rules.items() if tasks & {*rule["task.name"]["choices"]}]
        assert said == list(catalog.names())
    assert sorted({name for catalog, _ in catalogs for name in catalog.names()}) == options("data")


def test_generated_tasks_are_counted(data):
    code, out, _ = data("list", "associative_recall", "rows=100", "pairs=2", "length=8")
    assert code == 0 and "rows of symbols" in out
    assert [line.split() for line in out.splitlines() if line.startswith("answers")] == [
        ["answers", "200", "2,000", "2,000"]
    ]


def test_the_users_corpus_is_in_the_catalog_of_its_kind(tmp_path, monkeypatch):
    base = "attnlab.tasks.classification.corpora.Agreement"
    (tmp_path / "data").mkdir()
    (tmp_path / "data/mine.yaml").write_text(YAML.format(path=base))
    monkeypatch.setenv(CONFIG_DIR, str(tmp_path))
    assert "mine" in CATALOG.names() and "mine" not in TRANSLATION.names()


def test_counts_of_a_corpus(data):
    code, out, err = data("list", "agreement", "texts=400")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    rows = [line.split() for line in out.splitlines()]
    assert ["texts", "400", "1,000", "1,000"] in rows
    assert ["class", "right", "200", "500", "500"] in rows


def test_the_same_as_json_with_a_note(data, tmp_path):
    lines = "".join(f"the text {n},[{'ab'[n % 2]}]\n" for n in range(20))
    Path("t.csv").write_text(f"text,label\n{lines}")
    Path("u.csv").write_text("text,label\nthe text 0,[a]\nnew,[b]\n")
    words = ("list", "table", "path=t.csv", "test_path=u.csv")
    row = json.loads(data(*words, "--json")[1])
    assert row["items"] == "texts" and row["where"] == "t.csv"
    assert row["notes"] == ["1 of 20 texts of train are also in a later part; they stay."]
    test = row["parts"]["test"]
    assert test["texts"] == 2 and test["class [a]"] == test["class [b]"] == 1
    out = data(*words)[1]
    assert "note: 1 of 20 texts of train" in out and "class [a]" in out


def test_many_classes_are_not_all_listed(data):
    lines = "".join(f"text {n},{n % 40}\n" for n in range(160))
    Path("t.csv").write_text(f"text,label\n{lines}")
    out = data("list", "table", "path=t.csv")[1]
    assert "class 35 " in out and "class 9 " not in out and "and 10 more classes" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("list", "agrement"), "Did you mean agreement?"),
        (("list", "imdb", "test=0.2"), "test=0.2: expected SETTING=VALUE with a setting of imdb"),
        (("list", "table"), "data=table: expected data.path=FILE.csv, got nothing."),
        (("list", "movie_reviews", "validation=0"), "data.validation: expected a number above 0"),
        (
            ("fetch", "agreement"),
            "NAME: agreement can't be downloaded. Data to download: squad, cifar10, ",
        ),
    ],
)
def test_wrong_requests_get_one_sentence(data, words, message):
    code, out, err = data(*words)
    assert (code, out) == (2, "")
    assert message in err and err.startswith("attnlab: ") and err.count("\n") == 1


def test_a_missing_corpus_is_listed_with_its_download_command(data):
    assert "where: not downloaded: attnlab data fetch imdb" in data("list", "imdb")[1]
