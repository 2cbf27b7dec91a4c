"""Read files in SQuAD's format: JSON with texts, questions, and answers with their positions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attnlab.errors import RequestError, explained
from attnlab.tasks.answering.corpora.corpus import Answer, Asked
from attnlab.text.reading import LONGEST_TEXT, decoded

_FORM = '{"data": [{"paragraphs": [{"context": ..., "qas": [{"id": ..., "question": ..., ...}]}]}]}'
_SHOWN = 40  # characters of an answer in an error message


def read_questions(path: Path, key: str) -> list[Asked]:
    """Return the questions of a file in version 1.1 or 2.0 of the format, in their order.

    A question has `answers`, each with its `text` and with `answer_start`, the position of its
    first character in the `context`. Without an answer, `is_impossible` must be true.

    Args:
        path: the path of the file, UTF-8.
        key: the setting that names it.

    Raises:
        RequestError: the file can't be read, isn't such JSON, or an answer isn't at its
            `answer_start`; the message names the question's id.
    """
    with explained(f"{key}: {path} can't be read"):
        raw = path.read_bytes()
    text = decoded(raw, str(path))
    try:
        content = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise RequestError(
            f"{path}: expected JSON, got a syntax error in line {error.lineno}: {error.msg}."
        ) from error
    except RecursionError as error:
        raise RequestError(f"{path}: expected JSON of SQuAD's form, got nested lists.") from error
    except _Unclear as error:
        raise RequestError(f"{path}: expected JSON of SQuAD's form, got {error}.") from error
    except ValueError as error:
        raise RequestError(
            f"{path}: expected JSON of SQuAD's form, got a number of too many digits."
        ) from error
    found = list(_questions(content, path))
    if not found:
        raise RequestError(f"{path}: expected questions, got none.")
    known: set[str] = set()
    for each in found:
        if each.id in known:
            raise RequestError(f"{path}: question {each.id}: expected each id once, got it twice.")
        known.add(each.id)
    return found


class _Unclear(ValueError):
    """JSON that Python reads, although the standard forbids it or leaves its meaning open."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; refuse one with a repeated key."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        near = next((str(found[key])[:_SHOWN] for key in ("id", "title") if key in found), "")
        raise _Unclear(f"the key {twice!r} twice in one object" + f" (that of {near})" * bool(near))
    return found


def _no_number(word: str) -> None:
    raise _Unclear(f"{word}, which isn't a number in JSON")


def _questions(content: Any, path: Path) -> Iterator[Asked]:
    for article in _list(content, "data", path):
        for paragraph in _list(article, "paragraphs", path):
            text = _text(paragraph, "context", f"{path}: a paragraph")
            if len(text) > LONGEST_TEXT:
                raise RequestError(
                    f"{path}: expected texts of at most {LONGEST_TEXT:,} characters, got one of "
                    f"{len(text):,}."
                )
            for question in _list(paragraph, "qas", path):
                yield _asked(question, text, path)


def _asked(content: Any, text: str, path: Path) -> Asked:
    if not isinstance(content, Mapping):
        raise RequestError(f"{path}: expected a question with id and answers, got {content!r:.60}.")
    number = content.get("id")
    if type(number) not in (str, int) or not str(number).strip():
        asked = f"{content.get('question')!r:.60}"
        raise RequestError(
            f"{path}: expected an id for each question, got {number!r:.60} for {asked}."
        )
    _check_unicode(str(number), "id", f"{path}: a question")
    where = f"{path}: question {number}"
    question = _text(content, "question", where)
    answers, impossible = content.get("answers"), content.get("is_impossible", False)
    if type(impossible) is not bool:
        raise RequestError(
            f'{where}: expected true or false as "is_impossible", got {impossible!r:.60}.'
        )
    if impossible and answers:
        raise RequestError(
            f'{where}: expected no answers with "is_impossible": true, got {answers!r:.60}. '
            'Put answers that only seem right into "plausible_answers".'
        )
    if impossible:
        answers = []
    elif not isinstance(answers, list) or not answers:
        raise RequestError(
            f'{where}: expected answers, or "is_impossible": true, got {answers!r:.60}.'
        )
    places = tuple(_answer(each, text, where) for each in answers)
    return Asked(str(number), question, text, places)


def _answer(content: Any, text: str, where: str) -> Answer:
    given = content if isinstance(content, Mapping) else {}
    answer, start = given.get("text"), given.get("answer_start")
    if not isinstance(answer, str) or not answer.strip() or type(start) is not int:
        raise RequestError(
            f'{where}: expected an answer with "text" and "answer_start", got {content!r:.60}.'
        )
    if start < 0 or text[start : start + len(answer)] != answer:
        found = text[max(start, 0) : max(start, 0) + len(answer)]
        at = text.find(answer)
        hint = f"; it is at {at}" if at >= 0 else "; it is nowhere in the text"
        hint += _counted_otherwise(text, answer, start)
        raise RequestError(
            f"{where}: expected its answer {_short(answer)} at character {start} of its text, got "
            f"{_short(found)}{hint}."
        )
    return Answer(start, answer)


def _counted_otherwise(text: str, answer: str, start: int) -> str:
    """Return a sentence if `start` is right in UTF-16 units or in bytes; else ""."""
    for codec, size, what in (
        ("utf-16-le", 2, "UTF-16 units, as JavaScript and Java count"),
        ("utf-8", 1, "bytes"),
    ):
        whole, own = (each.encode(codec, "surrogatepass") for each in (text, answer))
        if start >= 0 and whole[start * size : start * size + len(own)] == own:
            return f". {start} counts {what}: expected characters (code points)"
    return ""


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…")


def _list(content: Any, key: str, path: Path) -> list[Any]:
    found = content.get(key) if isinstance(content, Mapping) else None
    if not isinstance(found, list):
        raise RequestError(f"{path}: expected SQuAD's form {_FORM}, but \"{key}\" isn't a list.")
    return found


def _text(content: Any, key: str, where: str) -> str:
    found = content.get(key) if isinstance(content, Mapping) else None
    if not isinstance(found, str) or not found.strip():
        raise RequestError(f'{where}: expected a text as its "{key}", got {found!r:.60}.')
    _check_unicode(found, key, where)
    return found


def _check_unicode(text: str, key: str, where: str) -> None:
    """Refuse a lone surrogate, which JSON can express and UTF-8 can't."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RequestError(
            f'{where}: expected Unicode text as its "{key}", got the lone surrogate '
            f"{text[error.start]!a} at character {error.start}."
        ) from error


def existing_file(path: str | None, key: str, what: str) -> Path:
    """Return the file that a setting names; raise `RequestError` if it doesn't exist."""
    found = Path(path).expanduser() if path else None
    if found and found.is_file():
        return found
    raise RequestError(f"{key}: expected {what}, got {path or 'null'}.")
