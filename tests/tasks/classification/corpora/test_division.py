"""Dividing labelled texts: shares of each class, equal texts together, and what is refused."""

from __future__ import annotations

from collections import Counter

import pytest

from attnlab.errors import RequestError
from attnlab.tasks.classification.corpora.corpus import Labelled
from attnlab.tasks.classification.corpora.division import class_names, divided
from attnlab.tasks.text_corpus import ReadCorpus
from attnlab.text.cleaning import text_key


def corpus(**parts: list[tuple[str, str]]) -> ReadCorpus:
    """A corpus with these parts."""
    made = ReadCorpus()
    made.name = "mine"
    made.set_items({part: [Labelled(*each) for each in texts] for part, texts in parts.items()})
    return made


def numbered(label: str, count: int, start: int = 0) -> list[tuple[str, str]]:
    return [(f"text {start + number} of {label}", label) for number in range(count)]


SMALL = [*numbered("a", 40), *numbered("b", 20)]


def counts(parts) -> dict[str, dict[str, int]]:
    return {part: dict(Counter(each.label for each in texts)) for part, texts in parts.items()}


def test_each_class_has_its_share_in_each_part():
    parts = divided(corpus(train=SMALL), seed=0)
    assert counts(parts) == {
        "train": {"a": 32, "b": 16},
        "validation": {"a": 4, "b": 2},
        "test": {"a": 4, "b": 2},
    }
    together = sorted(each for texts in parts.values() for each in texts)
    assert together == sorted(Labelled(*each) for each in SMALL)
    places = [SMALL.index(each[:2]) for each in parts["train"]]
    assert places == sorted(places)  # in the corpus's order


def test_the_seed_determines_the_division():
    same, other = (divided(corpus(train=SMALL), seed=seed) for seed in (0, 1))
    assert divided(corpus(train=SMALL), seed=0) == same != other
    assert divided(corpus(train=SMALL), seed=2**31 - 1)["test"] not in (same["test"], other["test"])


def test_the_test_part_does_not_change_with_the_share_for_validation():
    made = corpus(train=SMALL)
    before = divided(made, seed=0)
    made.validation = 0.3
    after = divided(made, seed=0)
    assert after["test"] == before["test"]
    assert counts(after)["validation"] == {"a": 12, "b": 6}


def test_the_division_is_the_same_on_every_machine():
    """The texts of the test part are known."""
    test = divided(corpus(train=SMALL), seed=0)["test"]
    assert [each.text.split()[1] for each in test] == ["2", "3", "16", "30", "8", "12"]


def test_equal_texts_are_never_in_two_parts():
    """Texts that differ in case, composition, white space or class count as equal."""
    texts = [*SMALL, *((f"TEXT {n}  of a ", "a") for n in range(40)), *numbered("b", 20)]
    texts += [(f"text {n} of á", "b") for n in range(10)]
    texts += [(f"text {n} of a\u0301", "a") for n in range(10)]
    for seed in range(5):
        parts = divided(corpus(train=texts), seed)
        keys = [{text_key(each.text, ignore_case=True) for each in own} for own in parts.values()]
        assert len(set.union(*keys)) == sum(map(len, keys)) == 70
        assert sum(map(len, parts.values())) == len(texts)
        assert counts(parts)["test"].keys() == {"a", "b"}


def test_a_text_that_fills_its_class_stays_in_train():
    texts = [*SMALL, *[("again and again", "c")] * 98, *numbered("c", 2)]
    for seed in range(5):
        found = counts(divided(corpus(train=texts), seed))
        assert [found[part]["c"] for part in found] == [98, 1, 1]


def test_own_parts_are_unchanged_and_missing_ones_held_out():
    test = [*numbered("a", 3, 100), *numbered("b", 3, 100)]
    parts = divided(corpus(train=SMALL, test=test), seed=0)
    assert [each[:2] for each in parts["test"]] == test
    assert {part: len(texts) for part, texts in parts.items()} == {
        **{"train": 54, "validation": 6, "test": 6}
    }
    made = corpus(train=SMALL, validation=test, test=numbered("a", 2, 200) + numbered("b", 2, 200))
    assert counts(divided(made, seed=0))["train"] == {"a": 40, "b": 20}


def test_texts_of_a_later_part_are_left_out_of_earlier_ones_with_a_note():
    test = [*SMALL[:2], *numbered("b", 1, 100)]
    validation = [("TEXT 0 OF A", "a"), *numbered("a", 1, 100), *numbered("b", 1, 200)]
    made = corpus(train=SMALL, validation=validation, test=test)
    for _ in range(2):
        parts = divided(made, seed=0)
    assert [each[:2] for each in parts["test"]] == test and len(parts["validation"]) == 2
    assert counts(parts)["train"] == {"a": 38, "b": 20}
    assert made.left_out == {"validation": 1, "train": 2}
    assert made.notes == (
        "1 of the 3 texts of validation is left out: a later part has the same text, ignoring "
        "case.",
        "2 of the 60 texts of train are left out: a later part has the same text, ignoring case.",
    )


SMILES = [("c1ccccc1O", "aromatic"), ("c1ccccc1N", "aromatic"), ("CC(=O)O", "chain"),
          ("CCOO", "chain"), ("C=C", "chain"), ("CC", "chain")]  # fmt: skip
HINDI = [("मीना घर गई", "a"), ("मना घर गई", "a"), ("मन", "b"), ("मीना", "b"), ("मैना", "b")]


def test_texts_that_differ_in_marks_or_vowel_signs_stay_in_train():
    for train, test in (
        (SMILES, [("CCO", "chain"), ("c1ccccc1.O", "aromatic")]),
        (HINDI, [("मोना घर गई", "a"), ("मैना घर", "b")]),
        ([("I like it", "a"), ("No.", "a"), ("Go on", "b")], [("No!", "a"), ("I, like it", "b")]),
    ):
        made = corpus(
            train=train, validation=[(f"v {label}", label) for label in dict(test).values()]
        )
        made.set_items({**made.parts, "test": [Labelled(*each) for each in test]})
        assert len(divided(made, seed=0)["train"]) == len(train)
        assert made.notes == () and made.left_out == {}


def test_texts_of_two_classes_that_differ_by_case_stay_different():
    """Lower-cased SMILES of benzene and cyclohexane are equal; the model gets a note instead."""
    train = [*SMILES, ("Good day", "chain"), ("C1CCCCC1O", "chain")]
    test = [("C1CCCCC1N", "chain"), ("c1ccccc1F", "aromatic"), ("good  day", "chain")]
    made = corpus(train=train, validation=[("v", "chain"), ("w", "aromatic")], test=test)
    parts = divided(made, seed=0)
    assert [each.text for each in parts["train"]] == [*dict(SMILES), "C1CCCCC1O"]
    assert made.left_out == {"train": 1}
    assert made.notes[0] == (
        "4 texts differ only by case from texts of another class, and the model reads them in "
        "lower case: task.lowercase=false lets it see the difference."
    )
    with_case = corpus(train=train, validation=made.parts["validation"], test=test)
    with_case.set_items(made.parts)
    assert len(divided(with_case, seed=0, ignore_case=False)["train"]) == 8
    assert with_case.notes == ()


def test_equal_texts_of_two_classes_are_counted_in_a_note():
    made = corpus(train=[*SMALL, ("both", "a"), ("both", "b"), ("both", "b")])
    divided(made, seed=0)
    assert made.notes == (
        "3 texts have an equal one of another class, such as a and b: check their labels.",
    )


def test_the_smallest_class_that_can_be_divided_has_a_text_in_each_part():
    made = corpus(train=[*SMALL, *numbered("c", 3)])
    for made.validation, made.test in ((0.1, 0.1), (0.01, 0.01), (0.5, 0.49)):
        found = counts(divided(made, seed=0))
        assert [found[part]["c"] for part in found] == [1, 1, 1]


OWN = {"validation": [("v", "a"), ("w", "b")], "test": [("t", "a"), ("u", "b")]}


@pytest.mark.parametrize(
    ("parts", "settings", "message"),
    [
        (
            {"train": numbered("a", 9)},
            {"limit": 4},
            "data=mine: expected texts of two or more classes, got 'a' alone with data.limit=4.",
        ),
        (
            {"train": [*SMALL, ("one", "c"), ("One ", "c"), ("d", "d")]},
            {},
            "data=mine: expected at least 3 different texts of each class, for train and "
            "validation and test, got 1 of 'c' and 1 more such class.",
        ),
        (
            {"train": [*SMALL, ("c", "c")], "test": [("t", "a"), ("u", "b"), ("v", "c")]},
            {},
            "data=mine: expected at least 2 different texts of each class, for train and "
            "validation, got 1 of 'c'.",
        ),
        (
            {"train": SMALL},
            {"validation": 0.5, "test": 0.5},
            "data.validation + data.test: expected a sum below 1, to leave texts to train on, got "
            "0.5 + 0.5.",
        ),
        (
            {"train": SMALL, **OWN, "test": [*OWN["test"], ("x", "c")]},
            {"test_path": "test.csv"},
            "data.test_path: expected the classes of train (a, b), got texts of 'c', too.",
        ),
        (
            {"train": SMALL, **OWN, "test": [("t", "a")]},
            {},
            "data=mine, part test: expected the classes of train (a, b), got no text of 'b'.",
        ),
        (
            {"train": SMALL, **OWN, "validation": [("v", "b")]},
            {},
            "data=mine, part validation: expected the classes of train (a, b), got no text of 'a'.",
        ),
        ({"train": []}, {}, "mine, part train: expected texts, got none."),
        ({"train": [*SMALL, ("t", "a")], **OWN, "test": []}, {}, "mine, part test: expected texts"),
    ],
)
def test_a_corpus_that_cannot_be_divided_is_refused_in_one_sentence(parts, settings, message):
    made = corpus(**parts)
    for key, value in settings.items():
        setattr(made, key, value)
    with pytest.raises(RequestError) as refused:
        divided(made, seed=0)
    assert str(refused.value).startswith(message)


def test_classes_are_in_the_order_of_names_or_of_numbers():
    def named(*labels: str) -> list[str]:
        return class_names({"train": [Labelled("text", label) for label in labels]})

    assert named("pos", "neg", "pos", "Neutral") == ["Neutral", "neg", "pos"]
    assert named("10", "9", "-1") == ["-1", "9", "10"]
    assert named("10", "9", "x") == ["10", "9", "x"]
    assert named("1" * 5000, "9", "10") == ["10", "1" * 5000, "9"]


def test_the_digest_changes_with_texts_and_with_shares():
    made = [corpus(train=SMALL) for _ in range(5)]
    made[1].validation, made[2].limit = 0.2, 50
    made[3].set_items({"train": [Labelled(*SMALL[0], group="g"), *made[0].parts["train"][1:]]})
    assert len({each.digest() for each in made}) == 4 and made[0].digest() == made[4].digest()


def test_classes_that_may_be_one_are_noted():
    made = corpus(train=[(str(number), ("Spam", "spam", "1.0")[number % 3]) for number in range(9)])
    divided(made, seed=0)
    assert made.notes == (
        "Classes that differ only in case, spaces or zeros count as different ones: Spam and spam.",
    )
