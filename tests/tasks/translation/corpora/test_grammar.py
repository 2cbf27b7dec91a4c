"""Sentences of the grammar, compared with translations and links written by hand."""

from __future__ import annotations

import pytest

from attnlab.tasks.translation.corpora.grammar.clauses import Clause, Subordinate
from attnlab.tasks.translation.corpora.grammar.lexicon import (
    ADJECTIVES,
    BE,
    FREQUENCIES,
    IN,
    INTO,
    KNOW,
    NOUNS,
    OUT_OF,
    THINK,
    TIMES,
    VERBS,
    WAITING_FOR,
    WHY,
    WITH,
)
from attnlab.tasks.translation.corpora.grammar.phrases import (
    BARE,
    HOW_MANY,
    MANY,
    MY,
    PRONOUNS,
    THE,
    THIS,
    WHICH,
    A,
    NounPhrase,
    Prepositional,
    RelativePronoun,
    Together,
)

TODAY, EVENING = TIMES[0], TIMES[3]
OFTEN, NEVER, ALREADY = FREQUENCIES[:3]


def noun(name, determiner=THE, *adjectives, **more):
    return NounPhrase(NOUNS[name], determiner, tuple(ADJECTIVES[a] for a in adjectives), **more)


def say(verb, subject, thing=None, **more):
    return Clause(VERBS[verb], subject, thing, **more)


def to(preposition, phrase):
    return Prepositional(preposition, phrase)


def is_(subject, predicate, **more):
    return Clause(BE, subject, predicate=ADJECTIVES[predicate], **more)


def who_does(name, verb, thing=None, **more):
    """The noun with a relative clause whose subject it is."""
    head = noun(name)
    head.relative = say(verb, RelativePronoun(head), thing, front="subject", **more)
    return head


def whom(name, verb, subject, determiner=THE, plural=False, **more):
    """The noun with a relative clause whose object it is."""
    head = noun(name, determiner, plural=plural)
    head.relative = say(verb, subject, RelativePronoun(head), front="object", **more)
    return head


def with_whom(name, verb, preposition, subject):
    """The noun with a relative clause that begins with a preposition."""
    head = noun(name)
    place = to(preposition, RelativePronoun(head))
    head.relative = say(verb, subject, place=place, front="place")
    return head


CASES = {  # phenomenon: (clause, English, German, links)
    "present": (
        say("read", noun("teacher", THE, "old"), noun("newspaper")),
        "The old teacher reads the newspaper.", "Der alte Lehrer liest die Zeitung.",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6"),
    "verb second after a time": (
        say("read", noun("teacher"), noun("book", A, "new"), tense="perfect", time=TODAY,
            time_first=True),
        "Today the teacher has read a new book.", "Heute hat der Lehrer ein neues Buch gelesen.",
        "0-0 1-2 2-3 3-1 4-7 5-4 6-5 7-6 8-8"),
    "time in the middle field": (
        say("see", noun("woman"), noun("dog", MY, "small"), tense="will", time=EVENING),
        "The woman will see my small dog in the evening.",
        "Die Frau wird am Abend meinen kleinen Hund sehen.",
        "0-0 1-1 2-2 3-8 4-5 5-6 6-7 7-3 8-3 9-4 10-9"),
    "perfect with haben": (
        say("eat", noun("child", THIS), noun("apple", A, "red"), tense="perfect"),
        "This child has eaten a red apple.", "Dieses Kind hat einen roten Apfel gegessen.",
        "0-0 1-1 2-2 3-6 4-3 5-4 6-5 7-7"),
    "perfect with sein": (
        say("go", noun("girl", THE, "young"), place=to(INTO, noun("garden")), tense="perfect"),
        "The young girl has gone into the garden.",
        "Das junge Mädchen ist in den Garten gegangen.",
        "0-0 1-1 2-2 3-3 4-7 5-4 6-5 7-6 8-8"),
    "perfect of be": (
        is_(noun("queen"), "sick", tense="perfect", negated=True),
        "The queen has not been sick.", "Die Königin ist nicht krank gewesen.",
        "0-0 1-1 2-2 3-3 4-5 5-4 6-6"),
    "direction, neuter": (
        say("run", noun("horse", THE, "big"), place=to(INTO, noun("house"))),
        "The big horse runs into the house.", "Das große Pferd läuft ins Haus.",
        "0-0 1-1 2-2 3-3 4-4 5-4 6-5 7-6"),
    "direction, feminine": (
        say("go", PRONOUNS["we"], place=to(INTO, noun("kitchen", THE, "old"))),
        "We go into the old kitchen.", "Wir gehen in die alte Küche.",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6"),
    "place, masculine": (
        say("play", noun("child"), place=to(IN, noun("garden", THE, "beautiful"))),
        "The child plays in the beautiful garden.", "Das Kind spielt im schönen Garten.",
        "0-0 1-1 2-2 3-3 4-3 5-4 6-5 7-6"),
    "place, feminine": (
        say("work", PRONOUNS["I"], place=to(IN, noun("city", THE, "big")), tense="must"),
        "I must work in the big city.", "Ich muss in der großen Stadt arbeiten.",
        "0-0 1-1 2-6 3-2 4-3 5-4 6-5 7-7"),
    "out of": (
        say("come", noun("cat", A, "old"), place=to(OUT_OF, noun("kitchen"))),
        "An old cat comes out of the kitchen.", "Eine alte Katze kommt aus der Küche.",
        "0-0 1-1 2-2 3-3 4-4 5-4 6-5 7-6 8-7"),
    "separable, main clause": (
        say("open", noun("man"), noun("window", THE, "small")),
        "The man opens the small window.", "Der Mann macht das kleine Fenster auf.",
        "0-0 1-1 2-2 2-6 3-3 4-4 5-5 6-7"),
    "separable, with a particle": (
        say("pick up", noun("mother", MY), noun("letter", THE, "old")),
        "My mother picks up the old letter.", "Meine Mutter holt den alten Brief ab.",
        "0-0 1-1 2-2 3-6 4-3 5-4 6-5 7-7"),
    "separable, particle behind a pronoun": (
        say("pick up", noun("mother", MY), PRONOUNS["he"], time=EVENING, negated=True),
        "My mother does not pick him up in the evening.",
        "Meine Mutter holt ihn am Abend nicht ab.",
        "0-0 1-1 2-2 3-6 4-2 5-3 6-7 7-4 8-4 9-5 10-8"),
    "separable, with a modal": (
        say("close", noun("boy"), noun("door", THE, "red"), tense="want"),
        "The boy wants to close the red door.", "Der Junge will die rote Tür zumachen.",
        "0-0 1-1 2-2 3-6 4-6 5-3 6-4 7-5 8-7"),
    "separable, perfect": (
        say("call", noun("boy"), noun("doctor"), tense="perfect", frequency=ALREADY),
        "The boy has already called the doctor.", "Der Junge hat den Arzt schon angerufen.",
        "0-0 1-1 2-2 3-5 4-6 5-3 6-4 7-7"),
    "separable, perfect with sein": (
        say("get up", noun("king", THE, "clever"), tense="perfect"),
        "The clever king has got up.", "Der kluge König ist aufgestanden.",
        "0-0 1-1 2-2 3-3 4-4 5-4 6-5"),
    "separable, subordinate clause": (
        say("sing", noun("child"), last=Subordinate("because", say("come back", noun("dog")))),
        "The child sings because the dog comes back.",
        "Das Kind singt, weil der Hund zurückkommt.",
        "0-0 1-1 2-2 3-4 4-5 5-6 6-7 7-7 8-8"),
    "nicht behind a definite object": (
        say("see", noun("king"), noun("child"), negated=True),
        "The king does not see the child.", "Der König sieht das Kind nicht.",
        "0-0 1-1 2-2 3-5 4-2 5-3 6-4 7-6"),
    "nicht before a participle": (
        say("wash", noun("boy"), noun("car"), negated=True, tense="perfect"),
        "The boy has not washed the car.", "Der Junge hat das Auto nicht gewaschen.",
        "0-0 1-1 2-2 3-5 4-6 5-3 6-4 7-7"),
    "nicht before a preposition": (
        say("wait", noun("woman"), place=to(WAITING_FOR, noun("boy")), negated=True),
        "The woman does not wait for the boy.", "Die Frau wartet nicht auf den Jungen.",
        "0-0 1-1 2-2 3-3 4-2 5-4 6-5 7-6 8-7"),
    "nicht before an adjective": (
        is_(noun("soup"), "hot", negated=True),
        "The soup is not hot.", "Die Suppe ist nicht heiß.",
        "0-0 1-1 2-2 3-3 4-4 5-5"),
    "kein, masculine": (
        say("buy", noun("man"), noun("dog", A), negated=True, tense="can"),
        "The man cannot buy a dog.", "Der Mann kann keinen Hund kaufen.",
        "0-0 1-1 2-2 2-3 3-5 4-3 5-4 6-6"),
    "kein, neuter": (
        say("eat", noun("girl"), noun("egg", A, "big"), negated=True),
        "The girl does not eat a big egg.", "Das Mädchen isst kein großes Ei.",
        "0-0 1-1 2-2 3-3 4-2 5-3 6-4 7-5 8-6"),
    "kein, mass noun": (
        say("drink", noun("doctor"), noun("milk", BARE, "cold"), negated=True, tense="perfect"),
        "The doctor has not drunk any cold milk.", "Der Arzt hat keine kalte Milch getrunken.",
        "0-0 1-1 2-2 3-3 4-6 5-3 6-4 7-5 8-7"),
    "kein, plural": (
        say("find", PRONOUNS["they"], noun("book", BARE, "good", plural=True), negated=True),
        "They do not find any good books.", "Sie finden keine guten Bücher.",
        "0-0 1-1 2-2 3-1 4-2 5-3 6-4 7-5"),
    "never": (
        say("love", noun("cat"), noun("horse"), frequency=NEVER),
        "The cat never loves the horse.", "Die Katze liebt das Pferd nie.",
        "0-0 1-1 2-5 3-2 4-3 5-4 6-6"),
    "often, before an indefinite object": (
        say("buy", noun("mother"), noun("flower", BARE, "red", plural=True), frequency=OFTEN),
        "The mother often buys red flowers.", "Die Mutter kauft oft rote Blumen.",
        "0-0 1-1 2-3 3-2 4-4 5-5 6-6"),
    "dative object": (
        say("help", noun("teacher", THIS), noun("woman", THE, "old")),
        "This teacher helps the old woman.", "Dieser Lehrer hilft der alten Frau.",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6"),
    "dative object, sein": (
        say("follow", noun("dog"), noun("boy", THE, "small"), tense="perfect"),
        "The dog has followed the small boy.", "Der Hund ist dem kleinen Jungen gefolgt.",
        "0-0 1-1 2-2 3-6 4-3 5-4 6-5 7-7"),
    "a thing that belongs": (
        say("belong to", noun("ball", MY, "new"), noun("child", A, "small")),
        "My new ball belongs to a small child.", "Mein neuer Ball gehört einem kleinen Kind.",
        "0-0 1-1 2-2 3-3 4-3 5-4 6-5 7-6 8-7"),
    "receiver before object": (
        say("give", noun("father"), noun("ball", THE, "red"), receiver=noun("child"), tense="will"),
        "The father will give the red ball to the child.",
        "Der Vater wird dem Kind den roten Ball geben.",
        "0-0 1-1 2-2 3-8 4-5 5-6 6-7 7-3 8-3 9-4 10-9"),
    "receiver, a pronoun": (
        say("show", noun("girl"), noun("cat", MY), receiver=PRONOUNS["I"], tense="perfect",
            time=TODAY),
        "The girl has shown my cat to me today.", "Das Mädchen hat mir heute meine Katze gezeigt.",
        "0-0 1-1 2-2 3-7 4-5 5-6 6-3 7-3 8-4 9-8"),
    "numbers": (
        say("give", noun("woman", BARE, "old", plural=True, number="two"), noun("egg", BARE,
            "good", plural=True, number="five"), receiver=noun("man", THE, plural=True,
            number="three")),
        "Two old women give five good eggs to the three men.",
        "Zwei alte Frauen geben den drei Männern fünf gute Eier.",
        "0-0 1-1 2-2 3-3 4-7 5-8 6-9 7-4 8-4 9-5 10-6 11-10"),
    "many, dative plural": (
        say("help", PRONOUNS["she"], noun("child", MANY, "small", plural=True)),
        "She helps many small children.", "Sie hilft vielen kleinen Kindern.",
        "0-0 1-1 2-2 3-3 4-4 5-5"),
    "genitive, masculine": (
        say("sleep", noun("sister", owner=noun("king", THE, "old"))),
        "The sister of the old king sleeps.", "Die Schwester des alten Königs schläft.",
        "0-0 1-1 2-2 3-2 4-3 5-4 6-5 7-6"),
    "genitive, feminine": (
        say("see", noun("boy"), noun("dog", owner=noun("mother", MY))),
        "The boy sees the dog of my mother.", "Der Junge sieht den Hund meiner Mutter.",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-5 7-6 8-7"),
    "genitive, weak masculine": (
        say("help", PRONOUNS["he"], noun("doctor", owner=noun("boy"))),
        "He helps the doctor of the boy.", "Er hilft dem Arzt des Jungen.",
        "0-0 1-1 2-2 3-3 4-4 5-4 6-5 7-6"),
    "strong dative": (
        say("wash", noun("woman"), noun("window", plural=True), place=to(WITH, noun("water", BARE,
            "hot"))),
        "The woman washes the windows with hot water.",
        "Die Frau wäscht die Fenster mit heißem Wasser.",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8"),
    "strong accusative": (
        say("drink", noun("king"), noun("coffee", BARE, "cold"), tense="must"),
        "The king must drink cold coffee.", "Der König muss kalten Kaffee trinken.",
        "0-0 1-1 2-2 3-5 4-3 5-4 6-6"),
    "and": (
        say("talk", Together((noun("man"), noun("woman", THE, "young"))), place=to(WITH,
            noun("queen"))),
        "The man and the young woman talk with the queen.",
        "Der Mann und die junge Frau sprechen mit der Königin.",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8 9-9 10-10"),
    "yes or no": (
        say("know", noun("king"), noun("city")),
        "Does the king know the city?", "Kennt der König die Stadt?",
        "0-0 1-1 2-2 3-0 4-3 5-4 6-5"),
    "yes or no, negated, modal": (
        say("call", noun("boy"), noun("mother", MY), tense="want", negated=True),
        "Does the boy not want to call my mother?", "Will der Junge meine Mutter nicht anrufen?",
        "0-0 1-1 2-2 3-5 4-0 5-6 6-6 7-3 8-4 9-7"),
    "yes or no, be": (
        is_(noun("child"), "tired", very=True),
        "Is the child very tired?", "Ist das Kind sehr müde?",
        "0-0 1-1 2-2 3-3 4-4 5-5"),
    "who": (
        say("invite", PRONOUNS["who"], noun("teacher"), tense="perfect", front="subject"),
        "Who has invited the teacher?", "Wer hat den Lehrer eingeladen?",
        "0-0 1-1 2-4 3-2 4-3 5-5"),
    "whom, accusative": (
        say("look for", noun("girl"), PRONOUNS["who"], front="object"),
        "Whom does the girl look for?", "Wen sucht das Mädchen?",
        "0-0 1-1 2-2 3-3 4-1 5-1 6-4"),
    "whom, dative": (
        say("follow", noun("cat"), PRONOUNS["who"], tense="will", front="object"),
        "Whom will the cat follow?", "Wem wird die Katze folgen?",
        "0-0 1-1 2-2 3-3 4-4 5-5"),
    "what": (
        say("eat", PRONOUNS["he"], PRONOUNS["what"], front="object", tense="can", time=TODAY),
        "What can he eat today?", "Was kann er heute essen?",
        "0-0 1-1 2-2 3-4 4-3 5-5"),
    "to whom": (
        say("give", noun("boy"), noun("flower"), receiver=PRONOUNS["who"], front="receiver"),
        "To whom does the boy give the flower?", "Wem gibt der Junge die Blume?",
        "0-0 1-0 2-1 3-2 4-3 5-1 6-4 7-5 8-6"),
    "for whom": (
        say("wait", PRONOUNS["they"], place=to(WAITING_FOR, PRONOUNS["who"]), front="place",
            tense="want"),
        "For whom do they want to wait?", "Auf wen wollen sie warten?",
        "0-0 1-1 2-2 3-3 4-2 5-4 6-4 7-5"),
    "why not": (
        say("buy", noun("mother"), noun("milk", BARE), asks=WHY, negated=True),
        "Why does the mother not buy any milk?", "Warum kauft die Mutter keine Milch?",
        "0-0 1-1 2-2 3-3 4-4 5-1 6-4 7-5 8-6"),
    "which": (
        say("read", noun("child"), noun("book", WHICH, "old"), front="object"),
        "Which old book does the child read?", "Welches alte Buch liest das Kind?",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-3 7-6"),
    "how many": (
        say("eat", noun("girl"), noun("apple", HOW_MANY, "red", plural=True), front="object",
            tense="perfect"),
        "How many red apples has the girl eaten?",
        "Wie viele rote Äpfel hat das Mädchen gegessen?",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8"),
    "that": (
        Clause(KNOW, PRONOUNS["I"], last=Subordinate("that", say("read", PRONOUNS["she"],
            noun("book"), tense="perfect"))),
        "I know that she has read the book.", "Ich weiß, dass sie das Buch gelesen hat.",
        "0-0 1-1 2-3 3-4 4-8 5-7 6-5 7-6 8-9"),
    "indirect question": (
        Clause(KNOW, PRONOUNS["I"], negated=True, last=Subordinate("", say("call", noun("doctor"),
            noun("man"), asks=WHY, negated=True))),
        "I do not know why the doctor does not call the man.",
        "Ich weiß nicht, warum der Arzt den Mann nicht anruft.",
        "0-0 1-1 2-2 3-1 4-4 5-5 6-6 7-10 8-9 9-10 10-7 11-8 12-11"),
    "whether, a modal at the end": (
        Clause(KNOW, noun("king"), tense="want", last=Subordinate("whether", say("sleep",
            noun("queen"), tense="can"))),
        "The king wants to know whether the queen can sleep.",
        "Der König will wissen, ob die Königin schlafen kann.",
        "0-0 1-1 2-2 3-3 4-3 5-5 6-6 7-7 8-9 9-8 10-10"),
    "a clause before": (
        say("play", noun("child", plural=True), first=Subordinate("when", say("fall asleep",
            noun("father")))),
        "When the father falls asleep, the children play.",
        "Wenn der Vater einschläft, spielen die Kinder.",
        "0-0 1-1 2-2 3-3 4-3 5-4 6-6 7-7 8-5 9-8"),
    "although, before": (
        say("open", noun("woman"), noun("door"), tense="perfect", first=Subordinate("although",
            is_(PRONOUNS["she"], "sick"))),
        "Although she is sick, the woman has opened the door.",
        "Obwohl sie krank ist, hat die Frau die Tür aufgemacht.",
        "0-0 1-1 2-3 3-2 4-4 5-6 6-7 7-5 8-10 9-8 10-9 11-11"),
    "relative, nominative masculine": (
        say("sleep", who_does("man", "read", noun("letter"))),
        "The man who reads the letter sleeps.", "Der Mann, der den Brief liest, schläft.",
        "0-0 1-1 2-3 3-6 4-4 5-5 6-8 7-9"),
    "relative, nominative feminine": (
        say("sing", who_does("woman", "close", noun("door"))),
        "The woman who closes the door sings.", "Die Frau, die die Tür zumacht, singt.",
        "0-0 1-1 2-3 3-6 4-4 5-5 6-8 7-9"),
    "relative, nominative neuter": (
        say("work", who_does("child", "drink", noun("milk", BARE))),
        "The child who drinks milk works.", "Das Kind, das Milch trinkt, arbeitet.",
        "0-0 1-1 2-3 3-5 4-4 5-7 6-8"),
    "relative, accusative masculine": (
        say("know", PRONOUNS["we"], whom("teacher", "see", noun("girl"))),
        "We know the teacher whom the girl sees.", "Wir kennen den Lehrer, den das Mädchen sieht.",
        "0-0 1-1 2-2 3-3 4-5 5-6 6-7 7-8 8-9"),
    "relative, accusative feminine, behind the participle": (
        say("read", noun("boy"), whom("newspaper", "buy", noun("man"), tense="perfect"),
            tense="perfect"),
        "The boy has read the newspaper that the man has bought.",
        "Der Junge hat die Zeitung gelesen, die der Mann gekauft hat.",
        "0-0 1-1 2-2 3-5 4-3 5-4 6-7 7-8 8-9 9-11 10-10 11-12"),
    "relative, accusative neuter, behind the prefix": (
        say("pick up", noun("mother"), whom("child", "love", PRONOUNS["he"])),
        "The mother picks up the child whom he loves.",
        "Die Mutter holt das Kind ab, das er liebt.",
        "0-0 1-1 2-2 3-5 4-3 5-4 6-7 7-8 8-9 9-10"),
    "relative, accusative plural": (
        say("see", PRONOUNS["she"], whom("dog", "wash", noun("boy"), plural=True), negated=True),
        "She does not see the dogs that the boy washes.",
        "Sie sieht die Hunde nicht, die der Junge wäscht.",
        "0-0 1-1 2-4 3-1 4-2 5-3 6-6 7-7 8-8 9-9 10-10"),
    "relative, dative masculine": (
        say("sing", whom("king", "help", noun("woman"))),
        "The king whom the woman helps sings.", "Der König, dem die Frau hilft, singt.",
        "0-0 1-1 2-3 3-4 4-5 5-6 6-8 7-9"),
    "relative, dative feminine": (
        say("sing", whom("mother", "help", noun("king"), determiner=MY)),
        "My mother whom the king helps sings.", "Meine Mutter, der der König hilft, singt.",
        "0-0 1-1 2-3 3-4 4-5 5-6 6-8 7-9"),
    "relative, dative neuter": (
        say("sleep", whom("girl", "follow", noun("dog"), tense="perfect")),
        "The girl whom the dog has followed sleeps.",
        "Das Mädchen, dem der Hund gefolgt ist, schläft.",
        "0-0 1-1 2-3 3-4 4-5 5-7 6-6 7-9 8-10"),
    "relative, dative plural": (
        say("sleep", whom("child", "help", noun("doctor"), plural=True, tense="must")),
        "The children whom the doctor must help sleep.",
        "Die Kinder, denen der Arzt helfen muss, schlafen.",
        "0-0 1-1 2-3 3-4 4-5 5-7 6-6 7-9 8-10"),
    "relative with a preposition": (
        say("come back", with_whom("man", "talk", WITH, PRONOUNS["he"])),
        "The man with whom he talks comes back.", "Der Mann, mit dem er spricht, kommt zurück.",
        "0-0 1-1 2-3 3-4 4-5 5-6 6-8 7-9 8-10"),
    "relative with a preposition, feminine": (
        say("love", PRONOUNS["he"], with_whom("woman", "wait", WAITING_FOR, PRONOUNS["he"])),
        "He loves the woman for whom he waits.", "Er liebt die Frau, auf die er wartet.",
        "0-0 1-1 2-2 3-3 4-5 5-6 6-7 7-8 8-9"),
    "relative inside a clause inside": (
        Clause(THINK, PRONOUNS["I"], last=Subordinate("that", say("buy", who_does("man", "work"),
            noun("house", THE, "red")))),
        "I think that the man who works buys the red house.",
        "Ich glaube, dass der Mann, der arbeitet, das rote Haus kauft.",
        "0-0 1-1 2-3 3-4 4-5 5-7 6-8 7-13 8-10 9-11 10-12 11-14"),
}  # fmt: skip


@pytest.mark.parametrize(("clause", "english", "german", "links"), CASES.values(), ids=list(CASES))
def test_translation_and_links(clause, english, german, links):
    made = clause.sentence(asks=english.endswith("?"))
    assert (made.english, made.german) == (english, german)
    assert " ".join(f"{source}-{target}" for source, target in made.links) == links
