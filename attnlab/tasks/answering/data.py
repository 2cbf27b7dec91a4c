"""Questions about texts in tokens: what is learned from and tested on."""

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
    texts: Sequence[Cut]  # of each question
    rows: WindowRows  # their windows

    def inexpressible(self, longest: int) -> tuple[int, int]:
        """Count the questions that no model can answer exactly, by the reason.

        Returns:
            How many have only answers that start or end inside of a word, and how many others have
            only answers of more than `longest` tokens.
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
    """A corpus as the runner and the report see it; see `TaskData`."""

    name: str
    source: str
    digest: str
    parts: Mapping[str, AskedPart]  # `train`, `validation`, `test`
    cut: int = 0  # questions of all parts of which the end was cut off
    said: Sequence[str] = ()  # what the user should know of how the questions were read
    # questions of each part that were left out because a later part has their text
    left_out: Mapping[str, int] = field(default_factory=dict)
    # questions of each part that can't be answered exactly; see `AskedPart.inexpressible`
    inexpressible: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def longest(self) -> int:
        """Tokens of a row: question and window."""
        return int(self.parts["train"].rows.tokens.shape[1])

    @property
    def nullable(self) -> bool:
        """Whether some questions have no answer in their text."""
        return any(not each.answers for part in self.parts.values() for each in part.questions)

    def counts(self) -> dict[str, int]:
        """Questions by part."""
        return {name: len(part) for name, part in self.parts.items()}

    def describe(self) -> dict[str, Any]:
        """Questions by the word that asks, windows, and what can't be answered, by part."""
        return {name: self._described(name, part) for name, part in self.parts.items()}

    def summary(self) -> list[str]:
        """What a user should know before training: how the questions were read, and limits."""
        return [*self.said, *self.limits(*self.parts)]

    def best_possible(self, part: str) -> float:
        """The exact match, from 0 to 100, of a model that answers all it can express."""
        return 100.0 * (1.0 - sum(self.inexpressible.get(part, ())) / len(self.parts[part]))

    def limits(self, *parts: str) -> list[str]:
        """How many answers of some parts can't be expressed exactly, a sentence each."""
        notes = []
        for part in parts:
            inside, long = self.inexpressible.get(part, (0, 0))
            by = [f"{inside:,} by where words start and end (for baselines, too)"] * bool(inside)
            by += [f"{long:,} by task.max_answer or the length of a window"] * bool(long)
            if by:
                which = f"{inside + long:,} of the {len(self.parts[part]):,} answers of {part}"
                most = f"the best possible exact match is {self.best_possible(part):.1f}"
                notes.append(f"{which} can't be expressed exactly, {' and '.join(by)}; {most}.")
        return notes

    def _described(self, name: str, part: AskedPart) -> dict[str, int]:
        groups = Counter(each.group for each in part.questions)
        beyond = sum(self.inexpressible.get(name, ()))
        limited = {"no exact answer in words": beyond} if beyond else {}
        return {**dict(sorted(groups.items())), "windows": len(part.rows.owners), **limited}


def _whole_words(asked: Asked, text: Cut) -> Iterator[int]:
    """Yield the length in tokens of each place where whole words are a right answer."""
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
