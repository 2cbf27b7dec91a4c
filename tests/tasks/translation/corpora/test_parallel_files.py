"""The user's files: combinations of settings, parts with their own files, links."""

from __future__ import annotations

from collections import Counter

import pytest

from attnlab.errors import RequestError
from attnlab.tasks.translation.corpora import splitting
from attnlab.tasks.translation.corpora.parallel_files import ParallelFiles
from attnlab.tasks.translation.corpora.splitting import pairs_by_part


@pytest.fixture
def files(tmp_path):
    """Write files by setting, and open the corpus of them."""

    def make(settings=(), **contents) -> ParallelFiles:
        paths = {}
        for key, content in contents.items():
            paths[key] = str(tmp_path / key)
            (tmp_path / key).write_text(content, encoding="utf-8")
        corpus = ParallelFiles(**paths, **dict(settings))
        corpus.open(tmp_path)
        return corpus

    return make


def lines(prefix: str, count: int = 40, each: int = 1) -> str:
    return "".join(f"{prefix} {number // each}\n" for number in range(count))


def tabs(prefix: str, count: int = 40) -> str:
    return "".join(f"{prefix} {number}\tx {number}\n" for number in range(count))


def test_two_files_without_parts(files):
    corpus = files(source="a\nb\n", target="1\n2\n")
    assert corpus.own_parts == ()
    assert [pair[:2] for pair in corpus.pairs()] == [("a", "1"), ("b", "2")]


def test_one_file_with_tabs_and_links(files):
    corpus = files(path="a b\t1\nc\t2\n", links="0-0 1-0\n0-0\n")
    assert list(corpus.pairs()) == [("a b", "1", "0-0 1-0"), ("c", "2", "0-0")]
    turned = files({"reverse": True}, path="a b\t1\nc\t2\n", links="0-0 1-0\n0-0\n")
    assert list(turned.pairs())[0] == ("1", "a b", "0-0 0-1")


def test_files_for_every_part_of_either_kind(files):
    corpus = files(
        source=lines("s"),
        target=lines("t"),
        validation_path=tabs("v", 3),
        test_source=lines("u", 2),
        test_target=lines("w", 2),
        test_links="0-0\n\n",
    )
    assert corpus.own_parts == ("train", "validation", "test")
    counts = {part: len(list(corpus.pairs(part))) for part in corpus.own_parts}
    assert counts == {"train": 40, "validation": 3, "test": 2}
    assert [pair.links for pair in corpus.pairs("test")] == ["0-0", ""]


def test_sources_equal_after_cleaning_are_held_out_together(files):
    source = "".join(f"room {n % 20} {'x' * (n // 20)}a b{n}\n" for n in range(40))
    given = {"source": source, "target": lines("t"), "test_path": tabs("g", 3)}
    corpus, clean = files({"validation": 0.25}, **given), lambda text: text.split()[1]
    parts = {"train": [], "validation": [], "test": []}
    for part, pair in pairs_by_part(corpus, 0, clean)[1]:
        parts[part].append(clean(pair.source))
    assert {part: len(found) for part, found in parts.items()} == {
        "train": 30,
        "validation": 10,
        "test": 3,
    }
    assert not {*parts["train"]} & {*parts["validation"]}


def test_test_files_need_no_validation_part(files):
    given = {"source": lines("s"), "target": lines("t"), "test_path": tabs("g", 3)}
    corpus = files({"validation": 0.0}, **given)
    assert corpus.own_parts == ("train", "test")
    assert len(list(corpus.pairs())) == 43


@pytest.mark.parametrize(("given", "missing"), [("test", "validation"), ("validation", "test")])
def test_the_part_without_files_is_a_share_of_train_by_source(files, given, missing):
    contents = {f"{given}_path": tabs("g", 3)}
    corpus = files({missing: 0.25}, source=lines("s", each=4), target=lines("t"), **contents)
    found = {part: list(corpus.pairs(part)) for part in corpus.own_parts}
    assert {part: len(pairs) for part, pairs in found.items()} == {
        "train": 28,
        given: 3,
        missing: 12,
    }
    assert not {pair.source for pair in found["train"]} & {pair.source for pair in found[missing]}


def test_the_limit_also_applies_to_held_out_pairs(files):
    given = {"source": lines("s"), "target": lines("t"), "test_path": tabs("g", 3)}
    corpus = files({"validation": 0.25, "limit": 8}, **given)
    counts = {part: len(list(corpus.pairs(part))) for part in corpus.own_parts}
    assert counts == {"train": 8, "validation": 2, "test": 3}


def test_left_out_pairs_are_counted_once(files):
    given = {"source": lines("s") + "\n", "target": lines("t") + "t\n", "test_path": tabs("g", 3)}
    corpus = files({"validation": 0.25}, **given)
    list(corpus.pairs())
    assert sum(corpus.dropped.values()) == 1


def test_languages_follow_the_direction(files):
    corpus = files(
        {"source_language": "fr", "target_language": "it", "reverse": True},
        source="a\n",
        target="b\n",
    )
    assert (corpus.source_language, corpus.target_language) == ("it", "fr")


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        ({}, r"data\.source, data\.target: expected two files, or .* as data\.path, got none"),
        ({"source": "a\n"}, r"got data\.source\."),
        ({"target": "a\n"}, r"got data\.target\."),
        ({"source": "a\n", "target": "b\n", "path": "a\tb\n"}, r"got data\.source, .*, data\.path"),
        ({"source": "a\n", "path": "a\tb\n"}, r"got data\.source, data\.path"),
        ({"path": "a\tb\n", "test_source": "a\n"}, r"data\.test_source, .*, got data\.test_source"),
        ({"path": "a\tb\n", "validation_links": "0-0\n"}, r"data\.validation_source, .* got none"),
        ({"test_path": "a\tb\n"}, r"data\.source, data\.target: expected two files"),
        ({"source": "a\nb\n", "target": "1\n"}, "equally many lines, got 2 in .* and 1 in"),
        ({"path": "a\tb\n", "links": "0-0\n0-0\n"}, "equally many lines, got 1 in .* and 2 in"),
    ],
)
def test_contradictory_settings_are_refused(files, contents, words):
    with pytest.raises(RequestError, match=words):
        files(**contents)


def test_a_missing_file_is_named_with_its_setting(tmp_path):
    (tmp_path / "here").write_text("a\tb\n")
    corpus = ParallelFiles(path=str(tmp_path / "here"), test_path=str(tmp_path / "gone"))
    with pytest.raises(RequestError, match=r"data\.test_path: expected a file, got .*gone"):
        corpus.open(tmp_path)


def test_every_file_changes_the_digest(files):
    contents = {"path": tabs("a"), "links": lines("", 40), "test_path": tabs("b")}
    contents["links"] = "0-0\n" * 40
    digests = [files(**contents).digest()]
    for key in contents:
        other = {**contents, key: contents[key].replace("0", "1")}
        digests.append(files(**other).digest())
    assert len(set(digests)) == 4


@pytest.mark.parametrize("change", ["append", "replace", "shorten", "delete"])
@pytest.mark.parametrize("at", [0, 1, 39])
def test_a_file_that_changes_while_it_is_read_is_one_sentence(files, tmp_path, change, at):
    corpus = files(path=tabs("s"))
    path = tmp_path / "path"
    _, stream = pairs_by_part(corpus, 0)
    for _ in range(at):
        next(stream)
    if change == "append":
        path.write_text(tabs("s") + "new\tx\n")
    elif change == "replace":
        path.write_text(tabs("t"))
    elif change == "shorten":
        path.write_text(tabs("s", 30))
    else:
        path.unlink()
    with pytest.raises(RequestError, match="changed while|can't be read"):
        list(stream)


def test_a_file_that_changes_behind_the_limit_is_noticed(files, tmp_path):
    corpus = files(path=tabs("s"), test_path=tabs("u", 4))
    corpus.limit = 3
    pairs = corpus.pairs("train")
    next(pairs)
    (tmp_path / "path").write_text(tabs("t"))
    with pytest.raises(RequestError, match="data=files: changed while it was read"):
        list(pairs)


def test_of_many_pairs_a_part_is_no_larger_than_needed(files, monkeypatch):
    monkeypatch.setattr(splitting, "_MANY", 100)
    monkeypatch.setattr(splitting, "_MOST_HELD_OUT", 7)
    corpus = files(path=tabs("s", 1000))
    counts = Counter(part for part, _ in pairs_by_part(corpus, 0)[1])
    assert counts == {"train": 986, "validation": 7, "test": 7}
    assert corpus.notes == tuple(
        f"Of 1,000 pairs, 7 are held out for {part}." for part in ("test", "validation")
    )
    corpus = files(path=tabs("s", 1000), test_path=tabs("u", 4))
    assert len(list(corpus.pairs("validation"))) == 7


def test_one_of_two_files_that_gets_shorter_is_named(files, tmp_path):
    corpus = files(source="a\n" * 9, target="b\n" * 9)
    (tmp_path / "target").write_text("b\n" * 5)
    with pytest.raises(RequestError, match="target: changed while it was read"):
        list(corpus.pairs())


def test_a_file_that_changes_is_noticed_in_a_part_held_out_from_train(files, tmp_path):
    corpus = files(path=tabs("s"), test_path=tabs("u", 4))
    list(corpus.pairs("train"))
    (tmp_path / "path").write_text(tabs("s", 41))
    with pytest.raises(RequestError, match="changed while it was read"):
        list(corpus.pairs("validation"))
