"""Tokenized questions and texts of a corpus, by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attnlab.tasks.answering.corpora.corpus import Asked
from attnlab.tasks.answering.encoding import Cut, WindowRows
from attnlab.tasks.answering.measures import best, exact
from attnlab.tasks.base import TaskData


@dataclass(frozen=True, eq=False)
class AskedPart:
    """The questions of one part."""

    questions: Sequence[Asked]
    texts: Sequence[Cut]  # the text of each question
    rows: WindowRows  # the windows of all questions

    def inexpressible(self, longest: int) -> tuple[int, int]:
        """Count the questions that no model can answer exactly, by the reason.

        Returns:
            The number of questions whose answers all start or end inside a word, and the number of
            other questions whose answers all have more than `longest` tokens.
        """
        inside = long = 0
        for asked, text in zip(self.questions, self.texts, strict=True):
            lengths = _whole_words(asked, text)
            shortest = next(lengths, None)
            if shortest is None:
                inside += bool(asked.answers)
            else:
                long += shortest > longest and all(each > longest for each in lengths)
        return inside, long

    def __len__(self) -> int:
        return len(self.questions)


@dataclass(frozen=True, eq=False)
class AskedTexts(TaskData):
    """A tokenized corpus; see `TaskData`."""

    name: str
    source: str
    digest: str
    parts: Mapping[str, AskedPart]  # `train`, `validation`, `test`
    cut: int = 0  # questions of all parts whose end was cut off
    said: Sequence[str] = ()  # notes for the user on how the questions were read
    # questions per part that were left out because a later part has their text
    left_out: Mapping[str, int] = field(default_factory=dict)
    # questions per part that can't be answered exactly; see `AskedPart.inexpressible`
    inexpressible: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def longest(self) -> int:
        """Return the tokens of a row: question and window."""
        return int(self.parts["train"].rows.tokens.shape[1])

    @property
    def nullable(self) -> bool:
        """Return whether some questions have no answer in their text."""
        return any(not each.answers for part in self.parts.values() for each in part.questions)

    def counts(self) -> dict[str, int]:
        """Return the number of questions per part."""
        return {name: len(part) for name, part in self.parts.items()}

    def describe(self) -> dict[str, Any]:
        """Return counts per part: questions by question word, windows, inexpressible answers."""
        return {name: self._described(name, part) for name, part in self.parts.items()}

    def summary(self) -> list[str]:
        """Return notes before training: how questions were read, and which can't be answered."""
        return [*self.said, *self.limits(*self.parts)]

    def best_possible(self, part: str) -> float:
        """Return the best possible exact match, from 0 to 100."""
        return 100.0 * (1.0 - sum(self.inexpressible.get(part, ())) / len(self.parts[part]))

    def limits(self, *parts: str) -> list[str]:
        """Return a sentence per part on the number of answers that can't be expressed exactly."""
        notes = []
        for part in parts:
            inside, long = self.inexpressible.get(part, (0, 0))
            why = []
            if inside:
                why.append(
                    f"{inside:,} because they start or end inside a word (also for baselines)"
                )
            if long:
                why.append(f"{long:,} because of task.max_answer or the length of a window")
            if why:
                which = f"{inside + long:,} of the {len(self.parts[part]):,} answers of {part}"
                most = f"the best possible exact match is {self.best_possible(part):.1f}"
                notes.append(f"{which} can't be expressed exactly, {' and '.join(why)}; {most}.")
        return notes

    def _described(self, name: str, part: AskedPart) -> dict[str, int]:
        groups = Counter(each.group for each in part.questions)
        beyond = sum(self.inexpressible.get(name, ()))
        limited = {"no exact answer in words": beyond} if beyond else {}
        return {**dict(sorted(groups.items())), "windows": len(part.rows.owners), **limited}


def _whole_words(asked: Asked, text: Cut) -> Iterator[int]:
    """Yield the length in tokens of each occurrence of an answer that is whole words."""
    for answer in asked.answers:
        at = asked.text.find(answer.text)
        while at >= 0:
            found = text.holding(at, at + len(answer.text))
            if found is not None:
                first, last = found
                said = asked.text[text.spans[first][0] : text.spans[last][1]]
                if best(exact, said, [answer.text]):
                    yield last - first + 1
            at = asked.text.find(answer.text, at + 1)
