"""A small grammar of English passages about people who meet, see or call each other.

Each question names two or three parts of an event; only one sentence contains all of them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

_KINDS = ("old", "young", "tall", "quiet", "famous", "friendly", "tired", "rich")
_PEOPLE = [
    *("baker", "sailor", "doctor", "teacher", "farmer", "painter", "driver", "student"),
    *("lawyer", "singer", "gardener", "soldier", "nurse", "judge", "waiter", "tailor"),
    *("king", "queen", "dog", "cat"),
]
_USUAL_NAMES = [
    *("Anna", "Peter", "Maria", "Thomas", "Clara", "David", "Laura", "Simon"),
    *("Emma", "Oscar", "Julia", "Victor", "Nora", "Martin", "Helena", "Felix"),
]
# Syllables of made-up names. With these, each name is so rare that a model can't memorize it.
_FIRST_SYLLABLES = [
    *("Ba", "Be", "Bo", "Da", "De", "Do", "Fa", "Fe", "Ga", "Go", "Ha", "He", "Ka", "Ke", "Ko"),
    *("La", "Le", "Lo", "Ma", "Me", "Mo", "Na", "Ne", "No", "Ra", "Re", "Ro", "Sa", "Ta", "To"),
]
_LAST_SYLLABLES = [
    *("bin", "dor", "fin", "gar", "kim", "lan", "len", "lin", "mar", "min"),
    *("mon", "nel", "nor", "ran", "ric", "ros", "sam", "ton", "vin", "wen"),
]
_NAMES = _USUAL_NAMES + [first + last for first in _FIRST_SYLLABLES for last in _LAST_SYLLABLES]
# Past tense, participle (for passives), and the form after "did".
_VERBS = [
    *(("met", "met", "meet"), ("saw", "seen", "see"), ("helped", "helped", "help")),
    *(("called", "called", "call"), ("followed", "followed", "follow")),
    *(("invited", "invited", "invite"), ("thanked", "thanked", "thank")),
    *(("visited", "visited", "visit"), ("greeted", "greeted", "greet")),
    *(("found", "found", "find"), ("warned", "warned", "warn"), ("paid", "paid", "pay")),
    *(("heard", "heard", "hear"), ("painted", "painted", "paint"), ("chose", "chosen", "choose")),
    *(("forgot", "forgotten", "forget"), ("talked to", "talked to", "talk to")),
    ("waited for", "waited for", "wait for"),
]
_PLACES = [
    *("in the garden", "in the harbour", "in the library", "in the old town", "in the forest"),
    *("at the station", "at the market", "at the big hotel", "at the museum", "at the lake"),
    *("near the bridge", "near the church", "near the school", "near the stone tower"),
    *("behind the theatre", "behind the mill"),
]
_TIMES = [
    *("on Monday", "on Tuesday", "on Friday morning", "on Sunday", "in March", "in October"),
    *("in the summer", "in winter", "at noon", "at midnight", "before breakfast", "after lunch"),
    *("before dawn", "after the concert", "during the storm", "two days later"),
]
_FILLERS = [
    *("It was a long year.", "Nobody had expected that.", "The weather was cold."),
    *("People talked about it for weeks.", "Not everybody liked the idea.", "Things went well."),
    *("The streets were quiet.", "There was little time."),
]
QUESTION_WORDS = ("who", "whom", "where", "when")


class Event(NamedTuple):
    """Who did what to whom, where and when."""

    agent: str
    verb: tuple[str, str, str]
    patient: str
    place: str
    time: str


class Passage(NamedTuple):
    """A passage, and questions about it."""

    text: str
    questions: list[tuple[str, str, int]]  # question, answer, and start of the answer in the text


def passage(draw: random.Random) -> Passage:
    """Draw a passage of four events, and a question of each kind, each about another event.

    The events combine two agents, two verbs and two patients. Each pair of an agent and a verb, a
    verb and a patient, or an agent and a patient occurs exactly once. So any two of the three
    identify an event, and one of them doesn't. Places and times are all different.
    """
    events = _events(draw)
    sentences, places = [], []
    for event in events:
        text, where = _sentence(draw, event)
        sentences.append(text)
        places.append(where)
    if draw.random() < 0.5:
        at = draw.randrange(len(sentences) + 1)
        sentences.insert(at, draw.choice(_FILLERS))
        places.insert(at, {})
        events.insert(at, events[0])  # a placeholder, which no question is about
    starts = _starts(sentences)
    about = [number for number, found in enumerate(places) if found]
    draw.shuffle(about)
    questions = []
    for word, number in zip(QUESTION_WORDS, about, strict=True):
        part = {"who": "agent", "whom": "patient", "where": "place", "when": "time"}[word]
        start, answer = places[number][part]
        question = _question(draw, word, events[number])
        questions.append((question, answer, starts[number] + start))
    return Passage(" ".join(sentences), questions)


def _events(draw: random.Random) -> list[Event]:
    people = _people(draw, 4)
    agents, patients = people[:2], people[2:]
    verbs = draw.sample(_VERBS, 2)
    places, times = draw.sample(_PLACES, 4), draw.sample(_TIMES, 4)
    square = [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
    draw.shuffle(square)
    return [
        Event(agents[who], verbs[what], patients[whom], places[number], times[number])
        for number, (who, what, whom) in enumerate(square)
    ]


def _people(draw: random.Random, count: int) -> list[str]:
    """Draw different people: names or trades, some trades with an adjective."""
    trades, names = draw.sample(_PEOPLE, count), draw.sample(_NAMES, count)
    found = []
    for trade, name in zip(trades, names, strict=True):
        kind = f"{draw.choice(_KINDS)} " if draw.random() < 0.3 else ""
        found.append(name if draw.random() < 0.8 else f"the {kind}{trade}")
    return found


def _sentence(draw: random.Random, event: Event) -> tuple[str, dict[str, tuple[int, str]]]:
    """Write an event as a sentence; also return start and text of each part by its name."""
    past, participle, _ = event.verb
    if draw.random() < 0.35:
        core = [("patient", event.patient), ("", f"was {participle} by"), ("agent", event.agent)]
    else:
        core = [("agent", event.agent), ("", past), ("patient", event.patient)]
    around = [("place", event.place), ("time", event.time)]
    draw.shuffle(around)
    if draw.random() < 0.4:
        first, last = around
        pieces = [(first[0], first[1]), ("", ","), *core, last]
    else:
        pieces = [*core, *around]
    return _written(pieces)


def _written(pieces: Sequence[tuple[str, str]]) -> tuple[str, dict[str, tuple[int, str]]]:
    """Join pieces to a sentence; also return start and text of each piece with a name."""
    text, starts = "", {}
    for name, piece in pieces:
        text += " " if text and piece != "," else ""
        if name:
            starts[name] = len(text), len(piece)
        text += piece
    text = f"{text[0].upper()}{text[1:]}."
    found = {name: (start, text[start : start + size]) for name, (start, size) in starts.items()}
    return text, found


def _question(draw: random.Random, word: str, event: Event) -> str:
    past, participle, plain = event.verb
    passive = draw.random() < 0.35
    if word == "who":
        return f"Who {past} {event.patient}?"
    if word == "whom":
        return f"Whom did {event.agent} {plain}?"
    if passive:
        return f"{word.capitalize()} was {event.patient} {participle} by {event.agent}?"
    return f"{word.capitalize()} did {event.agent} {plain} {event.patient}?"


def _starts(sentences: Sequence[str]) -> list[int]:
    """Return the start of each sentence when all are joined by spaces."""
    starts, at = [], 0
    for sentence in sentences:
        starts.append(at)
        at += len(sentence) + 1
    return starts
