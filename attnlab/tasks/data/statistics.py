"""The numbers of a corpus's parts, as `attnlab data` shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from attnlab.tasks.data.corpus import Corpus
from attnlab.text.words import split_words

_MOST_CLASSES = 30  # with a line of their own
Numbers = dict[str, dict[str, Any]]  # part -> name of a number -> its value


def count(corpus: Corpus, seed: int) -> Numbers:
    """Return the numbers of each part of an opened corpus, as a run with this seed divides it.

    Words are those of `split_words`.

    Raises:
        RequestError: the corpus can't be divided.
    """
    numbers = corpus.count(seed)
    if numbers is not None:
        return numbers
    from attnlab.tasks.data.division import divide  # loads NumPy

    parts = divide(corpus, seed)
    known: list[set[str]] = []  # words of train, per text of an item
    return {part: _count_part(corpus, items, known) for part, items in parts.items()}


def _count_part(corpus: Corpus, items: Sequence[Any], known: list[set[str]]) -> dict[str, Any]:
    """Return the numbers of a part; that of train comes first, and sets `known`."""
    row: dict[str, Any] = {f"{corpus.noun}s": len(items)}
    columns = [*zip(*map(corpus.texts, items), strict=True)]
    for place, texts in enumerate(columns):
        words = [split_words(text) for text in texts]
        total = sum(map(len, words))
        if len(known) <= place:
            known.append({word for text in words for word in text})
        missing = sum(word not in known[place] for text in words for word in text)
        side = f"{corpus.text_names[place]} " if len(columns) > 1 else ""
        row[f"{side}words, mean"] = total / len(texts)
        row[f"{side}words, most"] = max(map(len, words))
        row[f"{side}words not in train"] = missing / max(total, 1)
    classes = Counter(map(corpus.label, items))
    return row | {f"class {label}": classes[label] for label in sorted(classes) if label}


def table(numbers: Numbers) -> Iterator[list[str]]:
    """Yield the rows of a table: the name of a number, and its value in each part."""
    names = list(dict.fromkeys(name for part in numbers.values() for name in part))
    classes = [name for name in names if name.startswith("class ")]
    hidden = classes[_MOST_CLASSES:]
    for name in names:
        if name not in hidden:
            yield [name, *(_cell(name, part.get(name, 0)) for part in numbers.values())]
    if hidden:
        yield [f"and {len(hidden):,} more classes", *("" for _ in numbers)]


def _cell(name: str, value: Any) -> str:
    if name.endswith("not in train"):
        return f"{value:.2%}"
    return (
        f"{value:,.2f}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else value
    )
