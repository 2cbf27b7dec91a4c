"""The words, and which of them make sense together."""

from __future__ import annotations

from attnlab.tasks.translation.corpora.grammar.entries import (
    Adjective,
    Adverb,
    Auxiliary,
    Forms,
    Noun,
    Preposition,
    Verb,
)

ADJECTIVES = {
    english: Adjective(english, german, rank)
    for rank, row in enumerate(
        (
            "friendly freundlich, clever klug, good gut, beautiful schön",
            "small klein, big groß",
            "old alt, young jung, new neu, hot heiß, cold kalt",
            "red rot",
            "tired müde, sick krank",  # after "is" alone
        )
    )
    for english, german in (pair.split() for pair in row.split(", "))
}
STATE = 4  # the rank of what passes


def _noun(
    row: str, kind: str, adjectives: str, predicates: str, genitive: str = "", **more: str | bool
) -> Noun:
    """A noun from "english plural german gender plural"; "-" for a plural that is not used."""
    english, plural, german, gender, german_plural = (word.strip("-") for word in row.split())
    suits, says = (
        tuple(ADJECTIVES[word] for word in words.split()) for words in (adjectives, predicates)
    )
    return Noun(
        english, german, gender, kind, plural, german_plural,
        genitive=genitive, adjectives=suits, predicates=says, **more,  # type: ignore[arg-type]
    )  # fmt: skip


_ADULT = ("person", "friendly clever old young", "friendly clever old young tired sick")
_STAFF = ("person", "friendly clever old young new", "friendly clever old young tired sick")
_PARENT = ("person", "friendly clever good", "friendly clever tired sick")
_SMALL = ("person", "friendly clever good small", "friendly clever small tired sick")
_ROYAL = ("person", "friendly clever old young", "friendly clever old young tired sick")
_ANIMAL = ("animal", "beautiful clever small big old young", "big small old tired sick")
_TEXT = ("thing", "good beautiful new old", "good new old")
_FOOD = ("thing", "good small big red", "good big red")
_THING = ("thing", "beautiful small big old new red", "beautiful small big old new red")
_DRINK = ("drink", "hot cold", "hot cold")
_PLACE = ("place", "beautiful small big old new", "beautiful small big old new")

NOUNS = {
    noun.english: noun
    for noun in (
        _noun("man men Mann m Männer", *_ADULT, genitive="Mannes", mine=False),
        _noun("teacher teachers Lehrer m Lehrer", *_STAFF, genitive="Lehrers"),
        _noun("doctor doctors Arzt m Ärzte", *_STAFF, genitive="Arztes"),
        _noun("father - Vater m -", *_PARENT, genitive="Vaters"),
        _noun("king - König m -", *_ROYAL, genitive="Königs", mine=False),
        _noun("boy boys Junge m Jungen", *_SMALL, oblique="Jungen", genitive="Jungen", mine=False),
        _noun("woman women Frau f Frauen", *_ADULT, mine=False),
        _noun("mother - Mutter f -", *_PARENT),
        _noun("sister - Schwester f -", *_SMALL),
        _noun("queen - Königin f -", *_ROYAL, mine=False),
        _noun("child children Kind n Kinder", *_SMALL, genitive="Kindes"),
        _noun("girl girls Mädchen n Mädchen", "person", "friendly clever good young",
              "friendly clever young tired sick", genitive="Mädchens", mine=False),
        _noun("dog dogs Hund m Hunde", *_ANIMAL),
        _noun("cat cats Katze f Katzen", *_ANIMAL),
        _noun("horse horses Pferd n Pferde", *_ANIMAL),
        _noun("letter letters Brief m Briefe", *_TEXT),
        _noun("newspaper newspapers Zeitung f Zeitungen", "thing", "good new old", "new old"),
        _noun("book books Buch n Bücher", *_TEXT),
        _noun("apple apples Apfel m Äpfel", *_FOOD),
        _noun("soup - Suppe f -", "thing", "good hot cold", "good hot cold"),
        _noun("egg eggs Ei n Eier", "thing", "good small big", "good small big"),
        _noun("ball balls Ball m Bälle", *_THING),
        _noun("flower flowers Blume f Blumen", "thing", "beautiful small big red",
              "beautiful small big red"),  # fmt: skip
        _noun("car cars Auto n Autos", *_THING),
        _noun("door doors Tür f Türen", "thing", "small big old new red", "small big old"),
        _noun("window windows Fenster n Fenster", "thing", "small big old new", "small big old"),
        _noun("coffee - Kaffee m -", *_DRINK),
        _noun("milk - Milch f -", *_DRINK),
        _noun("water - Wasser n -", *_DRINK),
        _noun("garden - Garten m -", *_PLACE),
        _noun("kitchen - Küche f -", *_PLACE),
        _noun("house houses Haus n Häuser", "place", "beautiful small big old new red",
              "beautiful small big old new"),
        _noun("city - Stadt f -", "place", "beautiful small big old", "beautiful small big old",
              mine=False),  # fmt: skip
    )
}  # fmt: skip


_PERSONS = " ".join(noun.english for noun in NOUNS.values() if noun.kind == "person")
_ANIMALS = "dog cat horse"
_GIFTS = "letter newspaper book apple egg ball flower"
_READABLE = "letter newspaper book"

IN = Preposition("in", "in", "dat")
INTO = Preposition("into", "in", "acc")
OUT_OF = Preposition("out of", "aus", "dat", "0-0 1-0")
WITH = Preposition("with", "mit", "dat")
WAITING_FOR = Preposition("for", "auf", "acc")

_ROOMS = "garden kitchen house"
_PLACES = "garden house city"

VERBS = {
    verb.english + f" {verb.particle}" * bool(verb.particle): verb
    for verb in (
        Verb("sleep", "sleeps", "slept", "schlafen", "schläft", "geschlafen",
             subjects=f"{_PERSONS} {_ANIMALS}", preposition=IN, places=_ROOMS),
        Verb("work", "works", "worked", "arbeiten", "arbeitet", "gearbeitet",
             subjects=_PERSONS, preposition=IN, places="garden kitchen house city"),
        Verb("sing", "sings", "sung", "singen", "singt", "gesungen",
             subjects=_PERSONS, preposition=IN, places=_ROOMS),
        Verb("play", "plays", "played", "spielen", "spielt", "gespielt",
             subjects=f"{_PERSONS} dog cat", preposition=WITH,
             places=f"{_PERSONS} {_ANIMALS} ball"),
        Verb("go", "goes", "gone", "gehen", "geht", "gegangen", be=True, subjects=_PERSONS,
             preposition=INTO, places="garden kitchen house city", needs_place=True),
        Verb("run", "runs", "run", "laufen", "läuft", "gelaufen", be=True,
             subjects=f"boy child girl {_ANIMALS}",
             preposition=INTO, places=_ROOMS, needs_place=True),
        Verb("come", "comes", "come", "kommen", "kommt", "gekommen", be=True,
             subjects=f"{_PERSONS} {_ANIMALS}", preposition=OUT_OF, places=_ROOMS,
             needs_place=True),
        Verb("get", "gets", "got", "stehen", "steht", "aufgestanden", "auf", "up", be=True,
             subjects=_PERSONS),
        Verb("come", "comes", "come", "kommen", "kommt", "zurückgekommen", "zurück", "back",
             be=True, subjects=f"{_PERSONS} {_ANIMALS}"),
        Verb("fall", "falls", "fallen", "schlafen", "schläft", "eingeschlafen", "ein", "asleep",
             be=True, subjects=f"{_PERSONS} {_ANIMALS}"),
        Verb("call", "calls", "called", "rufen", "ruft", "angerufen", "an",
             subjects=_PERSONS, objects=_PERSONS),
        Verb("invite", "invites", "invited", "laden", "lädt", "eingeladen", "ein",
             subjects=_PERSONS, objects=_PERSONS),
        Verb("pick", "picks", "picked", "holen", "holt", "abgeholt", "ab", "up",
             subjects=_PERSONS, objects=f"{_PERSONS} letter newspaper car"),
        Verb("open", "opens", "opened", "machen", "macht", "aufgemacht", "auf",
             subjects=_PERSONS, objects="door window letter"),
        Verb("close", "closes", "closed", "machen", "macht", "zugemacht", "zu",
             subjects=_PERSONS, objects="door window book"),
        Verb("read", "reads", "read", "lesen", "liest", "gelesen", subjects=_PERSONS,
             objects=_READABLE, preposition=IN, places=_ROOMS),
        Verb("see", "sees", "seen", "sehen", "sieht", "gesehen",
             subjects=f"{_PERSONS} {_ANIMALS}",
             objects=f"{_PERSONS} {_ANIMALS} car house", preposition=IN, places=_PLACES),
        Verb("know", "knows", "known", "kennen", "kennt", "gekannt", subjects=_PERSONS,
             objects=f"{_PERSONS} book city", always=True),
        Verb("love", "loves", "loved", "lieben", "liebt", "geliebt", subjects=_PERSONS,
             objects=f"{_PERSONS} {_ANIMALS} garden house", always=True),
        Verb("find", "finds", "found", "finden", "findet", "gefunden", subjects=_PERSONS,
             objects=f"{_GIFTS} dog cat", preposition=IN, places=_ROOMS),
        Verb("look", "looks", "looked", "suchen", "sucht", "gesucht", particle="for",
             subjects=_PERSONS, objects=f"{_PERSONS} dog cat horse book letter ball",
             preposition=IN, places=_PLACES),
        Verb("buy", "buys", "bought", "kaufen", "kauft", "gekauft", subjects=_PERSONS,
             objects=f"newspaper book apple egg ball flower {_ANIMALS} car house milk "
             "coffee", preposition=IN, places="city"),
        Verb("eat", "eats", "eaten", "essen", "isst", "gegessen", subjects=_PERSONS,
             objects="apple egg soup", preposition=IN, places=_ROOMS),
        Verb("drink", "drinks", "drunk", "trinken", "trinkt", "getrunken", subjects=_PERSONS,
             objects="coffee milk water", preposition=IN, places=_ROOMS),
        Verb("wash", "washes", "washed", "waschen", "wäscht", "gewaschen", subjects=_PERSONS,
             objects="dog cat horse car window child apple", preposition=WITH,
             places="water"),
        Verb("help", "helps", "helped", "helfen", "hilft", "geholfen", case="dat",
             subjects=_PERSONS, objects=f"{_PERSONS} {_ANIMALS}", preposition=IN, places=_ROOMS),
        Verb("follow", "follows", "followed", "folgen", "folgt", "gefolgt", case="dat", be=True,
             subjects=f"{_PERSONS} {_ANIMALS}", objects=f"{_PERSONS} dog cat horse",
             preposition=INTO, places="garden house city"),
        Verb("belong", "belongs", "belonged", "gehören", "gehört", "gehört", particle="to",
             subjects=f"{_GIFTS} car house garden {_ANIMALS}", objects=_PERSONS, case="dat",
             always=True),
        Verb("wait", "waits", "waited", "warten", "wartet", "gewartet", subjects=_PERSONS,
             preposition=WAITING_FOR, places=f"{_PERSONS} letter", needs_place=True),
        Verb("talk", "talks", "talked", "sprechen", "spricht", "gesprochen", subjects=_PERSONS,
             preposition=WITH, places=_PERSONS, needs_place=True),
        Verb("give", "gives", "given", "geben", "gibt", "gegeben", subjects=_PERSONS,
             objects=_GIFTS, receivers=f"{_PERSONS} dog horse"),
        Verb("show", "shows", "shown", "zeigen", "zeigt", "gezeigt", subjects=_PERSONS,
             objects=f"{_GIFTS} {_ANIMALS} garden kitchen house car", receivers=_PERSONS),
    )
}  # fmt: skip

BE = Verb("be", "is", "been", "sein", "ist", "gewesen", be=True)
KNOW = Verb("know", "knows", "known", "wissen", "weiß", "gewusst", ich="weiß")
THINK = Verb("think", "thinks", "thought", "glauben", "glaubt", "geglaubt", ich="glaube")
HOPE = Verb("hope", "hopes", "hoped", "hoffen", "hofft", "gehofft", ich="hoffe")
SAY = Verb("say", "says", "said", "sagen", "sagt", "gesagt", ich="sage")

_HAVE = Forms("have", "has", "have")
TO_BE = Auxiliary(Forms("am", "is", "are"), Forms("bin", "ist", "sind"))
HAVE_WITH_BE = Auxiliary(_HAVE, TO_BE.german)
HAVE = Auxiliary(_HAVE, Forms("habe", "hat", "haben"))
DO = Forms("do", "does", "do")
AUXILIARIES = {
    "can": Auxiliary(Forms("can", "can", "can"), Forms("kann", "kann", "können")),
    "must": Auxiliary(Forms("must", "must", "must"), Forms("muss", "muss", "müssen")),
    "want": Auxiliary(Forms("want", "wants", "want"), Forms("will", "will", "wollen")),
    "will": Auxiliary(Forms("will", "will", "will"), Forms("werde", "wird", "werden")),
}
TENSES = ("present", "perfect", *AUXILIARIES)
_LATER = frozenset(AUXILIARIES)

TIMES = (
    Adverb("today", "heute", _LATER | {"perfect"}),
    Adverb("tomorrow", "morgen", _LATER),
    Adverb("on Sunday", "am Sonntag", _LATER),
    Adverb("in the evening", "am Abend", _LATER | {"present"}, "0-0 1-0 2-1"),
    Adverb("every day", "jeden Tag", frozenset({"present"})),
)
FREQUENCIES = (
    Adverb("often", "oft", frozenset({"present", "perfect"})),
    Adverb("never", "nie", frozenset({"present", "perfect"})),
    Adverb("already", "schon", frozenset({"perfect"})),
    Adverb("always", "immer", frozenset({"present"})),
)
WHY, WHERE, WHEN = Adverb("why", "warum"), Adverb("where", "wo"), Adverb("when", "wann")
CONJUNCTIONS = {
    "that": "dass",
    "whether": "ob",
    "because": "weil",
    "although": "obwohl",
    "when": "wenn",
    "before": "bevor",
}
NUMBERS = {"two": "zwei", "three": "drei", "four": "vier", "five": "fünf"}
# Few verbs begin a question: each of these forms has a capital, and is a word of its own.
ASKED_FIRST = ("sleep", "work", "sing", "play", "come back", "call", "see", "know", "love", "help",
               "look for", "read", "belong to")  # fmt: skip
