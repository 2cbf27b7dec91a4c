"""A small grammar of English passages in which several people do several things to each other.

Every question names two or three things that, together, one sentence alone has.
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
# Made up ones beside them, so that a name is seen now and then only, and can't be learned by heart.
_FIRST_SYLLABLES = [
    *("Ba", "Be", "Bo", "Da", "De", "Do", "Fa", "Fe", "Ga", "Go", "Ha", "He", "Ka", "Ke", "Ko"),
    *("La", "Le", "Lo", "Ma", "Me", "Mo", "Na", "Ne", "No", "Ra", "Re", "Ro", "Sa", "Ta", "To"),
]
_LAST_SYLLABLES = [
    *("bin", "dor", "fin", "gar", "kim", "lan", "len", "lin", "mar", "min"),
    *("mon", "nel", "nor", "ran", "ric", "ros", "sam", "ton", "vin", "wen"),
]
_NAMES = _USUAL_NAMES + [first + last for first in _FIRST_SYLLABLES for last in _LAST_SYLLABLES]
# Past tense, participle (for passives), and what a question has after "did".
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


class Told(NamedTuple):
    """A passage, and questions about it: each with its answer and the answer's place."""

    text: str
    questions: list[tuple[str, str, int]]


def told(draw: random.Random) -> Told:
    """A passage of four events, and a question of each kind, each about another event.

    The events are those of two agents, two verbs and two patients, such that each agent meets each
    verb, each verb each patient, and each patient each agent, exactly once: any two of the three
    tell an event, none of them alone. Places and times are all different.
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
        events.insert(at, events[0])  # a place holder, about which nothing is asked
    starts = _starts(sentences)
    about = [number for number, found in enumerate(places) if found]
    draw.shuffle(about)
    questions = []
    for word, number in zip(QUESTION_WORDS, about, strict=True):
        part = {"who": "agent", "whom": "patient", "where": "place", "when": "time"}[word]
        start, answer = places[number][part]
        question = _question(draw, word, events[number])
        questions.append((question, answer, starts[number] + start))
    return Told(" ".join(sentences), questions)


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
    """Different people: names, or people of a trade, some with an adjective."""
    trades, names = draw.sample(_PEOPLE, count), draw.sample(_NAMES, count)
    found = []
    for trade, name in zip(trades, names, strict=True):
        kind = f"{draw.choice(_KINDS)} " if draw.random() < 0.3 else ""
        found.append(name if draw.random() < 0.8 else f"the {kind}{trade}")
    return found


def _sentence(draw: random.Random, event: Event) -> tuple[str, dict[str, tuple[int, str]]]:
    """An event in a sentence, and where its parts stand: start, and text as it stands there."""
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
    """Pieces with spaces between, a capital letter and a point; where those with a name stand."""
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
    """Where each sentence begins when they are joined by spaces."""
    starts, at = [], 0
    for sentence in sentences:
        starts.append(at)
        at += len(sentence) + 1
    return starts
