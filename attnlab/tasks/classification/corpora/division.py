"""Dividing a corpus into train, validation and test: no item stands in two of them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from attnlab.errors import RequestError
from attnlab.tasks.classification.corpora.corpus import Corpus, Item
from attnlab.tasks.text_corpus import PARTS, leave_out_repeated, listed, rank, same_text

_Key = Callable[[Item], str]


def divided(corpus: Corpus, seed: int, *, ignore_case: bool = True) -> dict[str, list[Any]]:
    """Return the items of train, validation and test of an opened corpus, in its order.

    A part that the corpus doesn't have is held out from train: of each class the share in the
    corpus's settings `test` and `validation`, at least one item, by the run's seed. Equal texts are
    in one part, and so are images with equal pixels. If two parts of the corpus's own have an
    item, the later of `PARTS` keeps it; `Corpus.left_out` and `notes` count those items.

    Args:
        corpus: opened.
        seed: of the run.
        ignore_case: whether texts that differ only by case are equal, because the model reads them
            in lower case. Such texts stay different if they have different classes, and a note
            gives their number.

    Raises:
        RequestError: an item can't be read, there is but one class, a class has too few items, or
            the parts don't have the same classes.
    """
    parts = {part: list(corpus.items(part)) for part in corpus.own_parts}
    is_text = corpus.noun == "text"
    key = _key(corpus, parts, ignore_case and is_text)
    leave_out_repeated(corpus, parts, key, same_text(ignore_case and is_text, corpus.noun))
    missing = [part for part in ("test", "validation") if part not in parts]
    _check_train(corpus, parts["train"], missing, key)
    parts |= _held_out(corpus, parts["train"], missing, seed, key)
    for part in PARTS[1:]:
        _check_classes(corpus, parts, part)
    _note_alike(corpus, class_names(parts))
    return {part: parts[part] for part in PARTS}


def class_names(parts: Mapping[str, Iterable[Item]]) -> list[str]:
    """The classes of a divided corpus: by number where all are whole numbers, else by name.

    What has 100 digits or more is a name.
    """
    found = sorted({each.label for texts in parts.values() for each in texts})
    digits = [each.removeprefix("-") for each in found]
    numbers = all(each.isascii() and each.isdigit() and len(each) < 100 for each in digits)
    return sorted(found, key=int) if numbers else found


def _note_alike(corpus: Corpus, classes: Iterable[str]) -> None:
    """Note classes that may be one to who wrote them: `Spam` and `spam`, `1` and `1.0`."""
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for label in classes:
        alike[re.sub(r"(?<=\d)\.0+$", "", " ".join(label.casefold().split()))].append(label)
    found = [" and ".join(labels) for labels in alike.values() if len(labels) > 1]
    if found:
        corpus.note(
            "Classes that differ only in case, spaces or zeros count as different ones: "
            f"{listed(found)}."
        )


def _key(corpus: Corpus, parts: Mapping[str, Iterable[Item]], ignore_case: bool) -> _Key:
    """Return the key of items, with case if only case tells a text from one of another class."""
    if not ignore_case:
        return lambda item: item.key(False)
    same: defaultdict[str, list[Item]] = defaultdict(list)
    for item in chain.from_iterable(parts.values()):
        same[item.key(True)].append(item)
    with_case = {
        key
        for key, items in same.items()
        if len({each.label for each in items}) > 1 and len({each.key(False) for each in items}) > 1
    }
    if with_case:
        count = sum(len(same[key]) for key in with_case)
        corpus.note(
            f"{count:,} texts differ only by case from texts of another class, and the model reads "
            "them in lower case: task.lowercase=false lets it see the difference."
        )
    return lambda item: item.key(item.key(True) not in with_case)


def _held_out(
    corpus: Corpus, train: list[Any], missing: Sequence[str], seed: int, key: _Key
) -> dict[str, list[Any]]:
    """The missing parts, and what is left of train."""
    places: defaultdict[str, list[int]] = defaultdict(list)  # of items that count as one
    for place, each in enumerate(train):
        places[key(each)].append(place)
    classes: defaultdict[str, list[list[int]]] = defaultdict(list)
    for own in sorted(places, key=lambda own: rank(own, seed)):
        classes[train[places[own][0]].label].append(places[own])
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


def _check_train(corpus: Corpus, train: Sequence[Item], missing: Sequence[str], key: _Key) -> None:
    """Refuse a single class, and classes that are too small to be divided."""
    name, noun = f"data={corpus.name}", corpus.noun
    keys: defaultdict[str, set[str]] = defaultdict(set)
    for each in train:
        keys[each.label].add(key(each))
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
    raise RequestError(
        f"{where}: expected the classes of train ({names}), got {found}. Leave the class out of "
        f"{part if new else 'train'}, or give no {part} part, which is then a share of train."
    )
