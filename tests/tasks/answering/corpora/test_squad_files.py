"""Files in SQuAD's format: their content, and one sentence for each mistake."""

from __future__ import annotations

import hashlib
import json

import pytest
from asked import question, said, some_questions, squad_json
from download_server import serving

from attnlab.errors import RequestError
from attnlab.tasks.answering import task
from attnlab.tasks.answering.corpora import squad
from attnlab.tasks.answering.corpora.corpus import Answer, Asked, divided
from attnlab.tasks.answering.corpora.questions import Questions
from attnlab.tasks.answering.corpora.squad import Squad
from attnlab.tasks.answering.corpora.squad_file import read_questions
from attnlab.tasks.answering.report import build_report

TEXT = "Anna met Peter at noon."


def document(*questions: dict, text: str = TEXT) -> str:
    return json.dumps({"data": [{"paragraphs": [{"context": text, "qas": list(questions)}]}]})


def asked(**changes) -> dict:
    answers = [{"text": "Anna", "answer_start": 0}]
    return {"id": "x1", "question": "Who met Peter?", "answers": answers, **changes}


@pytest.fixture
def file(tmp_path):
    """A function that writes a file and reads it."""

    def read(content: str | bytes) -> list[Asked]:
        path = tmp_path / "asked.json"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_questions(path, "data.path")

    return read


def test_both_versions_are_read(file):
    noon = [{"text": "noon", "answer_start": 18}, {"text": "at noon", "answer_start": 15}]
    found = file(
        document(
            asked(), asked(id=2, question="When?", answers=noon, is_impossible=False),
            asked(id="x3", question="Where?", answers=[], is_impossible=True,
                  plausible_answers=noon),
        )
    )  # fmt: skip
    assert found == [
        Asked("x1", "Who met Peter?", TEXT, (Answer(0, "Anna"),)),
        Asked("2", "When?", TEXT, (Answer(18, "noon"), Answer(15, "at noon"))),
        Asked("x3", "Where?", TEXT, ()),
    ]
    assert [each.group for each in found] == ["who", "when", "where"]
    assert Asked("", "Name the man whom she met.", "", ()).group == "whom"
    assert Asked("", "Is it so?", "", ()).group == "other"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "expected JSON, got a syntax error in line 1: "),
        (b"\xff\xfeabc", "expected UTF-16 text, got the byte 0x63 in line 1; save it as UTF-8."),
        (
            b'{"data": "\xe9"}',
            "expected UTF-8 text, got the byte 0xe9 in line 1; save it as UTF-8.",
        ),
        (b"[" * 100_000, "expected JSON of SQuAD's form, got nested lists."),
        ('{"data": ' + "1" * 5000 + "}", "got a number of too many digits."),
        ("[1]", 'but "data" isn\'t a list.'),
        ('{"data": [{"paragraphs": 3}]}', 'but "paragraphs" isn\'t a list.'),
        ('{"data": []}', "expected questions, got none."),
        (document(asked(), text=" "), "expected a text as its \"context\", got ' '."),
        (document("no question"), "expected a question with id and answers, got 'no question'."),
        (
            document(asked(), text=f"{TEXT} \ud83d"),
            'a paragraph: expected Unicode text as its "context", got the lone surrogate '
            "'\\ud83d' at character 24.",
        ),
        (document(asked(id="x\udc00")), 'a question: expected Unicode text as its "id", got the'),
        (document(asked(id=None)), "expected an id for each question, got None for 'Who"),
        (document(asked(question="")), "question x1: expected a text as its \"question\", got ''."),
        (
            document(asked(answers=[])),
            'question x1: expected answers, or "is_impossible": true, got [].',
        ),
        (
            document(asked(answers=[{"text": "Anna"}])),
            'question x1: expected an answer with "text" and "answer_start", got {\'text\':',
        ),
        (
            document(asked(answers=[{"text": "Peter", "answer_start": 8}])),
            "question x1: expected its answer 'Peter' at character 8 of its text, got ' Pete'; it "
            "is at 9.",
        ),
        (
            document(asked(answers=[{"text": "Clara", "answer_start": 0}])),
            "expected its answer 'Clara' at character 0 of its text, got 'Anna '; it is "
            "nowhere in the text.",
        ),
        (
            document(asked(answers=[{"text": "Anna", "answer_start": -4}])),
            "expected its answer 'Anna' at character -4",
        ),
        (document(asked(), asked()), "question x1: expected each id once, got it twice."),
        (document(asked(id=1), asked(id="1")), "question 1: expected each id once, got it twice."),
        (document({**asked(), "id": True}), "expected an id for each question, got True for"),
        ('{"data": [], "data": []}', "got the key 'data' twice in one object."),
        (
            document(asked()).replace('"question"', '"id": "x2", "question"'),
            "got the key 'id' twice in one object (that of x2).",
        ),
        ('{"data": [NaN]}', "got NaN, which isn't a number in JSON."),
        ('{"data": [], "version": -Infinity}', "got -Infinity, which isn't a number in JSON."),
        (
            document(asked(is_impossible=True)),
            'question x1: expected no answers with "is_impossible": true, got [{',
        ),
        (
            document(asked(is_impossible="false")),
            "question x1: expected true or false as \"is_impossible\", got 'false'.",
        ),
        (
            document(asked(answers=[{"text": "Peter", "answer_start": 12}]), text=f"👍 {TEXT}"),
            "it is at 11. 12 counts UTF-16 units, as JavaScript and Java count: expected "
            "characters (code points).",
        ),
        (
            document(asked(answers=[{"text": "柏林", "answer_start": 6}]), text="他在柏林。"),
            "it is at 2. 6 counts bytes: expected characters (code points).",
        ),
        (document(asked(), text="Anna " * 200_001), "expected texts of at most 1,000,000 chara"),
    ],
)
def test_a_wrong_file_is_refused_in_one_sentence(file, content, message):
    with pytest.raises(RequestError) as refused:
        file(content)
    assert message in str(refused.value) and "\n" not in str(refused.value)


def test_a_missing_question_file_is_named(tmp_path):
    with pytest.raises(RequestError, match="data.path: expected a JSON file of SQuAD's form, got"):
        Questions(path=str(tmp_path / "nowhere.json")).open(tmp_path)
    with pytest.raises(RequestError, match="got null."):
        Questions().open(tmp_path)


def test_one_file_is_divided_by_its_texts(tmp_path):
    questions = some_questions(40)
    twice = [each._replace(id=f"{each.id}b") for each in questions]
    path = tmp_path / "own.json"
    path.write_text(squad_json([*questions, *twice]))
    corpus = Questions(path=str(path), validation=0.2, test=0.1)
    corpus.open(tmp_path)
    parts = divided(corpus, seed=3)
    assert {name: len(part) for name, part in parts.items()} == {
        **{"train": 56, "validation": 16, "test": 8}
    }
    texts = [{each.text for each in part} for part in parts.values()]
    assert not texts[0] & texts[1] and not texts[1] & texts[2] and not texts[0] & texts[2]
    other = divided(corpus, seed=4)
    assert {each.id for each in other["test"]} != {each.id for each in parts["test"]}
    # A text in a file for testing leaves the others.
    (tmp_path / "test.json").write_text(squad_json(questions[:5]))
    own = Questions(path=str(path), test_path=str(tmp_path / "test.json"))
    own.open(tmp_path)
    parts = divided(own, seed=0)
    assert len(parts["test"]) == 5 and len(parts["train"]) + len(parts["validation"]) == 70
    assert own.notes == (
        "10 of the 80 questions of train are left out: a later part has the same text, ignoring "
        "case.",
    )
    data = task.Answer(corpus=own, cache=tmp_path).load()
    assert build_report(data, "test", said(data.parts["test"].questions, 1.0), 0.5).notes == [
        *own.notes
    ]


def test_too_few_texts_are_refused(tmp_path):
    path = tmp_path / "own.json"
    path.write_text(squad_json(some_questions(2)))
    corpus = Questions(path=str(path))
    corpus.open(tmp_path)
    with pytest.raises(RequestError, match="at least 3 different texts, for train and validation"):
        divided(corpus, 0)
    large = Questions(path=str(path), validation=0.5, test=0.5)
    large.open(tmp_path)
    with pytest.raises(RequestError, match=r"data.validation \+ data.test: expected a sum below 1"):
        divided(large, 0)


@pytest.fixture
def published(tmp_path, monkeypatch):
    """Files like those at SQuAD's address, whose digests count as the known ones."""
    folder = tmp_path / "files"
    folder.mkdir()
    known = {}
    for part, name in {"train": "train", "test": "dev"}.items():
        own = some_questions(30 if part == "train" else 6, seed=len(part))
        renamed = [
            each._replace(id=f"{part}-{each.id}", text=f"{each.text} {part}") for each in own
        ]
        content = squad_json(renamed).encode()
        (folder / f"{name}-v2.0.json").write_bytes(content)
        known[part] = hashlib.sha256(content).hexdigest()
    monkeypatch.setitem(squad.KNOWN, 2.0, known)
    return folder


def test_squad_is_read_from_a_folder(published, tmp_path):
    corpus = Squad(version=2.0, path=str(published))
    corpus.open(tmp_path)
    parts = divided(corpus, 0)
    assert {name: len(part) for name, part in parts.items()} == {
        **{"train": 27, "validation": 3, "test": 6}
    }
    with pytest.raises(RequestError, match="data.path: expected train-v1.1.json, got"):
        Squad(path=str(published)).open(tmp_path)
    with pytest.raises(RequestError, match="a folder with train-v1.1.json and dev-v1.1.json"):
        Squad(path=str(published / "train-v2.0.json")).open(tmp_path)


def test_squad_is_downloaded_and_checked_by_digest(published, tmp_path, monkeypatch):
    files = {f"/{path.name}": path.read_bytes() for path in published.iterdir()}
    with serving(files) as server:
        monkeypatch.setattr(squad, "URL", server.url)
        corpus = Squad(version=2.0, url=server.url)
        assert corpus.location(tmp_path / "cache") is None
        corpus.open(tmp_path / "cache")
        assert corpus.location(tmp_path / "cache") == tmp_path / "cache/squad"
        assert len(corpus.parts["test"]) == 6
        files["/dev-v2.0.json"] = b"{}"
        with pytest.raises(RequestError, match="expected a file with SHA-256"):
            Squad(version=2.0, url=server.url).open(tmp_path / "other")


def test_the_digest_follows_the_content(tmp_path):
    digests = []
    for changed in (False, True):
        own = some_questions(6)
        if changed:
            own[0] = question(0, own[0].text, own[0].question, own[0].text.split()[1])
        (tmp_path / "own.json").write_text(squad_json(own))
        corpus = Questions(path=str(tmp_path / "own.json"))
        corpus.open(tmp_path)
        digests.append(corpus.digest())
    assert digests[0] != digests[1]
