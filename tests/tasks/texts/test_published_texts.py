"""The corpora `wikitext2` and `text8`: downloaded once, checked, and their own parts."""

from __future__ import annotations

import math
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from download_server import serving

from attnlab.errors import RequestError
from attnlab.tasks.language.report import _text_measures
from attnlab.tasks.language.task import LanguageTask
from attnlab.tasks.texts.corpus import divided
from attnlab.tasks.texts.published import PublishedText
from attnlab.tasks.texts.text8 import Text8
from attnlab.tasks.texts.wikitext2 import WikiText2
from attnlab.tasks.texts.wikitext103 import WikiText103
from attnlab.text.raw_text import RawText

WIKI = {
    "wiki.train.tokens": " \n = One = \n \n The <unk> of 3 @,@ 000 men . It was . \n More . \n",
    "wiki.valid.tokens": " \n = Two = \n \n Of men . \n \n * \n",
    "wiki.test.tokens": " \n = Three = \n \n The men . \n",
}
LETTERS = (" anarchism originated as a term of abuse" * 500)[:10_000].encode()


def packed(files: dict[str, bytes]) -> bytes:
    with BytesIO() as stream:
        with ZipFile(stream, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return stream.getvalue()


FILES = {
    WikiText2: {f"wikitext-2/{name}": text.encode() for name, text in WIKI.items()},
    WikiText103: {f"wikitext-103/{name}": text.encode() for name, text in WIKI.items()},
    Text8: {"text8": LETTERS},
}
CORPORA = pytest.mark.parametrize("corpus", [WikiText2, WikiText103, Text8])


@pytest.fixture
def server():
    files = {f"/{corpus.archive}": packed(files) for corpus, files in FILES.items()}
    with serving(files) as server:
        yield server


def opened(corpus: PublishedText, cache: Path) -> PublishedText:
    corpus.open(cache)
    return corpus


def _raw(corpus: PublishedText) -> list[bytes]:
    return [*map(bytes, corpus.raw().values())]


@CORPORA
def test_downloaded_once_and_equal_to_its_unpacked_files(server, tmp_path, corpus):
    url = f"{server.url}/{corpus.archive}"
    assert corpus(url=url).location(tmp_path) is None
    found = [opened(corpus(url=url), tmp_path) for _ in range(2)]
    assert len(server.requests) == 1 and found[0].location(tmp_path).name == corpus.archive
    for name, content in FILES[corpus].items():
        (tmp_path / "own" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "own" / name).write_bytes(content)
    paths = [tmp_path / "own", found[0].location(tmp_path)]
    paths += [tmp_path / "own" / "text8"] if corpus is Text8 else []
    found += [opened(corpus(path=str(path), url=url), tmp_path) for path in paths]
    assert len({each.digest() for each in found}) == 1 and len(server.requests) == 1
    assert all(_raw(each) == _raw(found[0]) for each in found)


@CORPORA
def test_the_usual_address_accepts_only_the_published_file(server, tmp_path, monkeypatch, corpus):
    url = f"{server.url}/{corpus.archive}"
    monkeypatch.setattr(corpus, "usual_url", url)
    with pytest.raises(RequestError, match=f"expected a file with SHA-256 {corpus.known}"):
        corpus(url=url).open(tmp_path)
    assert corpus(url=url).location(tmp_path) is None


@CORPORA
def test_other_files_are_refused(tmp_path, corpus):
    (tmp_path / "other.zip").write_bytes(packed({"readme": b"no text"}))
    for path, message in (
        ("other.zip", f"other.zip: expected the files of {corpus.name}, but .* is missing"),
        ("gone", f"data.path: expected {corpus.archive} or .*gone, which doesn't exist"),
        (".", f"expected the files of {corpus.name}"),
    ):
        with pytest.raises(RequestError, match=message):
            corpus(path=str(tmp_path / path)).open(tmp_path)


def test_damaged_archives_are_refused(server, tmp_path):
    whole = packed(FILES[WikiText2])
    (tmp_path / "cut.zip").write_bytes(whole[:-30])
    place = whole.index(b"Three")
    (tmp_path / "changed.zip").write_bytes(whole[:place] + b"Seven" + whole[place + 5 :])
    for name, message in (("cut", "expected a zip archive"), ("changed", "can't be unpacked: Bad")):
        with pytest.raises(RequestError, match=message):
            WikiText2(path=str(tmp_path / f"{name}.zip")).open(tmp_path)
    server.files["/text8.zip"] = b"<html>moved</html>"
    with pytest.raises(RequestError, match="expected a zip archive, got something else"):
        Text8(url=f"{server.url}/text8.zip").open(tmp_path)


def test_wikitext_has_its_own_parts_and_its_words_count_ends_of_lines(tmp_path):
    (tmp_path / "a.zip").write_bytes(packed(FILES[WikiText2]))
    corpus = opened(WikiText2(path=str(tmp_path / "a.zip")), tmp_path)
    assert _raw(corpus) == [text.encode() for text in WIKI.values()]
    train = WIKI["wiki.train.tokens"]
    eos = [
        line.split() + ["<eos>"] for line in train.splitlines()
    ]  # as PyTorch's word_language_model
    assert corpus.words(train.encode()) == sum(map(len, eos)) == 21
    parts = divided(corpus, 0)  # masked words read sentences
    assert parts["train"][1] == ("The <unk> of 3 @,@ 000 men .", "It was .", "More .")
    assert [len(own) for own in parts.values()] == [2, 2, 2]
    (note,) = corpus.notes
    assert note.startswith("validation: 1 documents without a letter or digit are left out")


def test_perplexity_per_word_of_wikitext_is_that_of_words_and_ends_of_lines(tmp_path):
    """A uniform model over V words has perplexity V, by the convention of published numbers."""
    (tmp_path / "a.zip").write_bytes(packed(FILES[WikiText2]))
    corpus = WikiText2(path=str(tmp_path / "a.zip"))
    task = LanguageTask(corpus=corpus, cache=tmp_path, tokenizer="char", context=8)
    stream = task.load().parts["test"]
    words = len(WIKI["wiki.test.tokens"].split()) + 4
    nats = words * math.log(33_278)
    assert stream.words == words
    assert _text_measures(nats, stream)["word_perplexity"] == pytest.approx(33_278)


def test_text8_is_divided_by_position(tmp_path):
    (tmp_path / "text8").write_bytes(LETTERS)
    corpus = opened(Text8(path=str(tmp_path / "text8")), tmp_path)
    assert [*map(len, corpus.raw().values())] == [9000, 500, 500]
    assert b"".join(_raw(corpus)) == LETTERS
    assert corpus.words(LETTERS) == len(LETTERS.split())
    texts = [document for own in divided(corpus, 0).values() for document in own]
    assert [len(each) for each in texts] == [1] * len(texts)
    assert " ".join(text for (text,) in texts).split()[:5] == LETTERS.decode().split()[:5]


def test_the_parts_of_the_whole_text8_are_the_usual_ones():
    ends = Text8()._divided(RawText(b" " * 100_000_000))
    assert [*map(len, ends.values())] == [90_000_000, 5_000_000, 5_000_000]


@pytest.mark.parametrize(
    "text", [b"", b" ", b"a", b" a", b"a ", b"a  b\n\nc\t\x0bd", "ä\u00a0b c".encode()]
)
def test_words_are_those_of_bytes_split(text):
    assert Text8().words(text) == len(text.split())
