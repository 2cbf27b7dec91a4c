"""Questions about texts: the built-in passages, SQuAD, and the user's files in SQuAD's format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from attnlab.errors import RequestError
from attnlab.tasks.data.builtin import rows
from attnlab.tasks.data.corpus import Corpus, FileCorpus, OwnFiles
from attnlab.tasks.data.published import Published
from attnlab.tasks.data.readers import read_text

_FORM = '{"data": [{"paragraphs": [{"context": ..., "qas": [{"id": ..., "question": ..., ...}]}]}]}'
_URL = "https://rajpurkar.github.io/SQuAD-explorer/dataset"
_SHA256 = {  # of the train and the development file of a version
    1.1: (
        "3527663986b8295af4f7fcdff1ba1ff3f72d07d61a20f487cb238a6ef92fd955",
        "95aa6a52d5d6a735563366753ca50492a658031da74f301ac5238b03966972c9",
    ),
    2.0: (
        "68dcfbb971bd3e96d5b46c7177b16c1a4e7d4bdef19fb204502738552dede002",
        "80a5225e94905956a6446d296ca1093975c4d3b3260f1d6c8f68bc2ab77182d8",
    ),
}


class RightAnswer(NamedTuple):
    """The place of an answer in its text."""

    start: int  # position of its first character
    text: str  # its characters in the text

    @property
    def end(self) -> int:
        """Return the position after its last character."""
        return self.start + len(self.text)


class Question(NamedTuple):
    """A question about a text, and its answers."""

    id: str
    question: str
    text: str
    answers: tuple[RightAnswer, ...]  # all right answers; empty if the text has no answer


class QuestionCorpus(Corpus):
    """Questions about texts; a text, with all its questions, is in one part."""

    noun = "question"


@dataclass(kw_only=True, eq=False)
class Passages(QuestionCorpus):
    """Passages of four events, with the questions who, whom, where and when; needs no file.

    "Anna met the old sailor in the harbour on Monday. At noon, the judge was called by Anna ..."
    Several sentences have some words of a question, but only one has all of them. So no single word
    is enough to find the sentence, and without the question four answers are equally likely.

    `questions` is the number of training questions, four per passage; validation and test have
    1,000 each. Parts share no passage.
    """

    name = "passages"
    origin = "a grammar of this project"
    license = "Apache-2.0, as attnlab"

    questions: int = 8_000

    def read(self, place: Path) -> Mapping[str, list[Question]]:
        """Return the questions of each part; `place` is ignored."""
        parts = {
            part: [
                Question(f"{part}-{number}", question, text, (RightAnswer(int(start), answer),))
                for number, (text, question, answer, start) in enumerate(table)
            ]
            for part, table in rows("passages").items()
        }
        return {**parts, "train": parts["train"][: self.questions]}


@dataclass(kw_only=True, eq=False)
class Squad(FileCorpus, QuestionCorpus):
    """The Stanford Question Answering Dataset, version 1.1 or 2.0.

    107,785 questions about 536 articles; 2.0 adds 53,775 whose text has no answer. Differences: the
    test part is the published development part, because SQuAD's own test part was never published;
    validation is held out from train by texts.
    """

    name = "squad"
    origin = "Rajpurkar et al. 2016 and 2018 (arXiv 1606.05250, 1806.03822)"
    license = "CC BY-SA 4.0; texts from Wikipedia"
    files = {
        version: {
            part: Published(f"{_URL}/{name}-v{version}.json", digest)
            for part, name, digest in zip(("train", "test"), ("train", "dev"), digests, strict=True)
        }
        for version, digests in _SHA256.items()
    }

    version: float = 1.1

    @property
    def published(self) -> tuple[Published, ...]:  # type: ignore[override]
        """Return the files of the version."""
        return tuple(self.files[self.version].values())

    def read(self, place: Path) -> Mapping[str, list[Question]]:
        """Return the questions of `train` and `test`."""
        return {
            part: read_squad(file.path(place), "data.path" if self.path else "data=squad")
            for part, file in self.files[self.version].items()
        }


class Questions(OwnFiles, QuestionCorpus):
    """Questions in the user's own files in SQuAD's format."""

    name = "questions"
    origin = "your own JSON file"
    license = "yours"
    needs = "data.path=FILE.json"

    def read_file(self, path: Path, key: str) -> list[Question]:
        """Return the questions of a file."""
        return read_squad(path, key)


def read_squad(path: Path, key: str) -> list[Question]:
    """Return the questions of a JSON file in version 1.1 or 2.0 of SQuAD's format, in its order.

    A question has `answers`, each with its `text` and with `answer_start`, the position of its
    first character in the `context`, counted in Unicode characters. Without an answer,
    `is_impossible` is true.

    Raises:
        RequestError: the file, which the setting `key` names, has another form, or an answer isn't
            at its `answer_start`; the message names the question's id.
    """
    where = f"{key}: {path}"
    content = read_text(path, key)
    questions: dict[str, Question] = {}
    try:
        for article in json.loads(content)["data"]:
            for paragraph in article["paragraphs"]:
                for entry in paragraph["qas"]:
                    question = _read_question(paragraph["context"], entry, where)
                    if question.id in questions:
                        raise RequestError(f'{where}: expected each "id" once: {question.id}.')
                    questions[question.id] = question
    except RequestError:
        raise
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise RequestError(
            f"{where}: expected one JSON document {_FORM}, got another form "
            f"({type(error).__name__}: {error})."
        ) from error
    return [*questions.values()]


def _read_question(text: str, entry: Mapping[str, Any], where: str) -> Question:
    """Return a question on a text, whose answers are at their positions."""
    name, question, answers = str(entry["id"]), entry["question"], entry["answers"]
    where = f"{where}: question {name}"
    (text + question).encode()  # refuses lone surrogates, which JSON can express
    if not text.strip() or not question.strip():
        raise RequestError(f'{where}: expected words in "context" and "question", got none.')
    if bool(answers) == bool(entry.get("is_impossible")):
        raise RequestError(f'{where}: expected either "answers" or "is_impossible": true.')
    places = [RightAnswer(answer["answer_start"], answer["text"]) for answer in answers]
    for start, answer in places:
        if start < 0 or not answer.strip() or not text.startswith(answer, start):
            at = text.find(answer)
            hint = f"it is at {at}, counted in characters" if at >= 0 else "it isn't there"
            raise RequestError(
                f"{where}: expected the answer {answer!r:.60} at {start} of its text, but {hint}."
            )
    return Question(name, question, text, tuple(places))
