"""The answers in the guides, by models that their commands train."""

from __future__ import annotations

import shlex

import pytest
from documents import commands

ARTICLE = (
    "Anna met Peter at the museum on Monday. Peter visited Anna in the garden before dawn. "
    "Anna talked to the king near the bridge in March. The dog followed Peter at the lake."
)
PLURALS = set("are were look seem appear stay remain become stand wait".split())


def words_of(start: str) -> list[str]:
    """The words of the first command that starts with these words."""
    return shlex.split(next(line for line in commands() if line.startswith(start)))


@pytest.fixture
def asked(here, no_figures):
    """A function that trains and then predicts with the guides' commands, or for fewer epochs."""
    (here.folder / "article.txt").write_text(ARTICLE)

    def answers(training: str, asking: str, *shorter: str) -> list[str]:
        code, _, err = here(*words_of(training), *shorter, "tracking.enabled=false")
        assert code == 0, err
        code, out, err = here(*words_of(asking))
        assert (code, err) == (0, "")
        return out.splitlines()

    return answers


@pytest.mark.slow
def test_a_verb_that_agrees_is_right_and_another_one_wrong(asked):
    assert asked("task=classify attention=bahdanau", 'classify latest "') == ["right", "wrong"]


@pytest.mark.slow
def test_the_answer_of_the_readme_is_found(asked):
    (line,) = asked("task=answer attention=bahdanau", "answer latest", "trainer.epochs=1")
    assert line.split("\t")[-1] == "at the museum"


@pytest.mark.slow
def test_the_verb_of_a_plural_is_filled_in(asked):
    shorter = ("trainer.epochs=2", "schedule.warmup=0.25", "schedule.final=1")
    lines = asked("task=masked_words", "fill latest", *shorter)
    assert len(lines) == 3 and {line.split("\t")[-1] for line in lines} <= PLURALS
