"""Questions from the built-in passages and from files in SQuAD's format."""

from __future__ import annotations

import gzip
import json

import pytest
from question_runs import some_questions, squad_json

from attnlab.errors import RequestError
from attnlab.tasks.answering.corpora import (
    Question,
    Questions,
    RightAnswer,
    Squad,
    read_squad,
)
from attnlab.tasks.data.division import divide
from attnlab.text.cleaning import text_key

TEXT = "Anna met Peter at noon."


def document(*questions: dict, text: str = TEXT) -> str:
    return json.dumps({"data": [{"paragraphs": [{"context": text, "qas": list(questions)}]}]})


def entry(**changes) -> dict:
    answers = [{"text": "Anna", "answer_start": 0}]
    return {"id": "x1", "question": "Who met Peter?", "answers": answers, **changes}


@pytest.fixture
def read_file(tmp_path):
    """A function that writes a file and reads it."""

    def read_file(content: str | bytes) -> list[Question]:
        path = tmp_path / "asked.json"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_squad(path, "data.path")

    return read_file


def test_both_versions_are_read(read_file):
    noon = [{"text": "noon", "answer_start": 18}, {"text": "at noon", "answer_start": 15}]
    content = document(
        entry(),
        entry(id=2, question="When?", answers=noon, is_impossible=False),
        entry(id="x3", question="Is it?", answers=[], is_impossible=True, plausible_answers=noon),
    )
    questions = [
        Question("x1", "Who met Peter?", TEXT, (RightAnswer(0, "Anna"),)),
        Question("2", "When?", TEXT, (RightAnswer(18, "noon"), RightAnswer(15, "at noon"))),
        Question("x3", "Is it?", TEXT, ()),
    ]
    assert read_file(content) == read_file(gzip.compress(content.encode())) == questions


def test_a_wrong_file_is_refused_in_one_sentence(read_file):
    for content, message in [
        (b'{"data": "\xe9"}', "expected UTF-8 text, got the byte 0xe9 in line 1"),
        ("[1]", "expected one JSON document"),
        (document(entry(), text=" "), 'question x1: expected words in "context" and "question"'),
        (document({"id": 1, "answers": []}), "got another form (KeyError: 'question')."),
        (document(entry(id=1), entry(id="1")), 'expected each "id" once: 1.'),
        (document(entry(answers=[])), 'expected either "answers" or "is_impossible": true.'),
        (document(entry(answers=[{"text": "Anna", "answer_start": "0"}])), "expected one JSON"),
        (
            document(entry(answers=[{"text": "Peter", "answer_start": 8}])),
            "question x1: expected the answer 'Peter' at 8 of its text, but it is at 9, counted in",
        ),
        (
            document(entry(answers=[{"text": "Clara", "answer_start": 0}])),
            "expected the answer 'Clara' at 0 of its text, but it isn't there.",
        ),
    ]:
        with pytest.raises(RequestError) as refused:
            read_file(content)
        assert message in str(refused.value) and "\n" not in str(refused.value)
        assert str(refused.value).startswith("data.path: ")


def key(question):
    return text_key(question.text, ignore_case=True)


def opened(corpus, folder):
    corpus.open(folder)
    return corpus


def test_one_file_is_divided_by_its_texts(tmp_path):
    questions = some_questions(40)
    again = [item._replace(id=f"{item.id}b", text=item.text.upper()) for item in questions]
    path, test_path = tmp_path / "own.json", tmp_path / "test.json"
    path.write_text(squad_json([item._replace(answers=()) for item in (*questions, *again)]))
    corpus = opened(Questions(path=str(path), validation=0.2, test=0.1), tmp_path)
    parts = divide(corpus, 3, key)
    sizes = {name: len(part) for name, part in parts.items()}
    assert sizes == {"train": 56, "validation": 16, "test": 8}
    texts = [{item.text.lower() for item in part} for part in parts.values()]
    assert len(set.union(*texts)) == sum(map(len, texts))
    assert {q.id for q in divide(corpus, 4, key)["test"]} != {q.id for q in parts["test"]}
    test_path.write_text(squad_json(questions[:5]))
    with_test = opened(Questions(path=str(path), test_path=str(test_path)), tmp_path)
    assert divide(with_test, 0, key)["test"] == questions[:5]
    assert with_test.digest() != corpus.digest()
    with pytest.raises(RequestError, match="data.test_path: .*nowhere.json can't be read"):
        opened(Questions(path=str(path), test_path=str(tmp_path / "nowhere.json")), tmp_path)
    with pytest.raises(RequestError, match="data=questions: expected data.path=FILE.json"):
        opened(Questions(), tmp_path)


def test_squad_has_a_file_per_part_and_version(tmp_path):
    for part, count in (("train", 30), ("dev", 6)):
        (tmp_path / f"{part}-v2.0.json").write_text(squad_json(some_questions(count)))
    corpus = opened(Squad(version=2.0, path=str(tmp_path), limit=20), tmp_path)
    counts = {name: len(part) for name, part in divide(corpus, 0, key).items()}
    assert counts == {"train": 18, "validation": 2, "test": 6}
    with pytest.raises(RequestError, match="data.path: .*train-v1.1.json can't be read"):
        opened(Squad(path=str(tmp_path)), tmp_path)
