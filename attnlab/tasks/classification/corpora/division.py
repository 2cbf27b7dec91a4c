"""Dividing a corpus into train, validation and test: no item stands in two of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from attnlab.errors import RequestError
from attnlab.tasks.classification.corpora.corpus import Corpus, Item
from attnlab.tasks.text_corpus import PARTS, leave_out_repeated, rank


def divided(corpus: Corpus, seed: int) -> dict[str, list[Any]]:
    """The items of train, validation and test of an opened corpus, in its order.

    What has no part of its own is held out from train: of each class the share that the corpus's
    settings `test` and `validation` ask for, at least one, by the run's seed. Texts with the same
    letters and digits, whatever their case, accents, punctuation and spaces, stand in one part, as
    do images with the same pixels; of an item that stands in two parts of the corpus's own, the one
    in the later of `PARTS` counts, and `Corpus.notes` says of how many.

    Raises:
        RequestError: an item can't be read, there is but one class, a class has too few items, or
            the parts don't have the same classes.
    """
    parts = {part: list(corpus.items(part)) for part in corpus.own_parts}
    words = f"{corpus.noun} of {{}} stands", f"{corpus.noun}s of {{}} stand"
    leave_out_repeated(corpus, parts, attrgetter("key"), words)
    missing = [part for part in ("test", "validation") if part not in parts]
    _check_train(corpus, parts["train"], missing)
    parts |= _held_out(corpus, parts["train"], missing, seed)
    for part in PARTS[1:]:
        _check_classes(corpus, parts, part)
    return {part: parts[part] for part in PARTS}


def class_names(parts: Mapping[str, Iterable[Item]]) -> list[str]:
    """The classes of a divided corpus: by number where all are whole numbers, else by name.

    What has 100 digits or more is a name.
    """
    found = sorted({each.label for texts in parts.values() for each in texts})
    digits = [each.removeprefix("-") for each in found]
    numbers = all(each.isascii() and each.isdigit() and len(each) < 100 for each in digits)
    return sorted(found, key=int) if numbers else found


def _held_out(
    corpus: Corpus, train: list[Any], missing: Sequence[str], seed: int
) -> dict[str, list[Any]]:
    """The missing parts, and what is left of train."""
    places: defaultdict[str, list[int]] = defaultdict(list)  # of items that count as one
    for place, each in enumerate(train):
        places[each.key].append(place)
    classes: defaultdict[str, list[list[int]]] = defaultdict(list)
    for key in sorted(places, key=lambda key: rank(key, seed)):
        classes[train[places[key][0]].label].append(places[key])
    taken: dict[int, str] = {}
    for together in classes.values():
        count = sum(map(len, together))
        for others, part in enumerate(missing):
            wanted, spared = round(getattr(corpus, part) * count), len(missing) - others
            some, together = _some(together, wanted, len(together) - spared)
            taken |= {place: part for found in some for place in found}
    return {
        part: [each for place, each in enumerate(train) if taken.get(place, "train") == part]
        for part in ("train", *missing)
    }


def _some(
    together: Sequence[list[int]], count: int, most: int
) -> tuple[list[list[int]], list[list[int]]]:
    """Of these groups the first with at most so many texts in all, and the other groups.

    At most `most` groups are taken, and at least one, the smallest where all are larger.
    """
    count = max(count, min(map(len, together), default=0))
    some: list[list[int]] = []
    others: list[list[int]] = []
    for group in together:
        if len(group) <= count and len(some) < most:
            some.append(group)
            count -= len(group)
        else:
            others.append(group)
    return some, others


def _check_train(corpus: Corpus, train: Sequence[Item], missing: Sequence[str]) -> None:
    """Refuse a single class, and classes that are too small to be divided."""
    name, noun = f"data={corpus.name}", corpus.noun
    keys: defaultdict[str, set[str]] = defaultdict(set)
    for each in train:
        keys[each.label].add(each.key)
    if len(keys) < 2:
        limit = f" with data.limit={corpus.limit}" if corpus.limit else ""
        found = f"{next(iter(keys))!r} alone" if keys else f"no {noun}"
        raise RequestError(f"{name}: expected {noun}s of two or more classes, got {found}{limit}.")
    needed = len(missing) + 1
    small = {label: len(found) for label, found in keys.items() if len(found) < needed}
    if small:
        label, count = next(iter(small.items()))
        more = f" and {len(small) - 1:,} more such class" if len(small) > 1 else ""
        more += "es" if len(small) > 2 else ""
        among = " and ".join(("train", *reversed(missing)))
        raise RequestError(
            f"{name}: expected at least {needed} different {noun}s of each class, for {among}, got "
            f"{count} of {label!r}{more}."
        )
    shares = [(part, getattr(corpus, part)) for part in reversed(missing)]
    if sum(share for _, share in shares) >= 1:
        raise RequestError(
            f"{' + '.join(f'data.{part}' for part, _ in shares)}: expected a sum below 1, to leave "
            f"{noun}s to train on, got {' + '.join(f'{share:g}' for _, share in shares)}."
        )


def _check_classes(corpus: Corpus, parts: Mapping[str, Sequence[Item]], part: str) -> None:
    """Refuse a part with a class that train doesn't have, and one without a class of train."""
    own = getattr(corpus, f"{part}_path", None)
    where = f"data.{part}_path" if own else f"data={corpus.name}, part {part}"
    classes = {name: Counter(each.label for each in parts[name]) for name in ("train", part)}
    new = sorted(classes[part].keys() - classes["train"].keys())
    gone = sorted(classes["train"].keys() - classes[part].keys())
    if not (new or gone):
        return
    names = ", ".join(sorted(classes["train"])[:10])
    found = f"{corpus.noun}s of {new[0]!r}, too" if new else f"no {corpus.noun} of {gone[0]!r}"
    raise RequestError(f"{where}: expected the classes of train ({names}), got {found}.")
