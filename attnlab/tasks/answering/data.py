"""Questions about texts in tokens: what is learned from and tested on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attnlab.tasks.answering.corpora.corpus import Asked
from attnlab.tasks.answering.encoding import Cut, Rows


@dataclass(frozen=True, eq=False)
class Part:
    """The questions of one part."""

    questions: Sequence[Asked]
    texts: Sequence[Cut]  # of each question
    rows: Rows  # their windows

    def __len__(self) -> int:
        return len(self.questions)


@dataclass(frozen=True, eq=False)
class AskedTexts:
    """A corpus as the runner and the report see it; see `TaskData`."""

    name: str
    source: str
    digest: str
    parts: Mapping[str, Part]  # `train`, `validation`, `test`
    cut: int = 0  # questions of all parts of which the end was cut off
    said: Sequence[str] = ()  # what the user should know of how the questions were read

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
        """Questions by the word that asks, and windows, by part."""
        return {
            name: {
                **dict(sorted(Counter(each.group for each in part.questions).items())),
                "windows": len(part.rows.owners),
            }
            for name, part in self.parts.items()
        }
