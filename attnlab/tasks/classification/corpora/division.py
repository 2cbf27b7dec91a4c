"""Divide a corpus into train, validation and test, which share no item."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from attnlab.errors import RequestError
from attnlab.tasks.classification.corpora.corpus import Corpus, Item
from attnlab.tasks.split import (
    check_shares,
    hold_out,
    leave_out_repeated,
    missing_parts,
    same_text,
    too_few,
)
from attnlab.tasks.text_corpus import PARTS, listed

_Key = Callable[[Item], str]


def divided(corpus: Corpus, seed: int, *, ignore_case: bool = True) -> dict[str, list[Any]]:
    """Return the items of train, validation and test of an opened corpus, in its order.

    A missing part is held out from train, by the run's seed: from each class the share in the
    settings `test` and `validation`, at least one item. Equal texts are in one part, and so are
    images with equal pixels. If two of the corpus's own parts contain an item, it stays in the
    later of `PARTS`; `Corpus.left_out` and `notes` count those items.

    Args:
        corpus: an opened corpus.
        seed: the run's seed.
        ignore_case: whether texts that differ only by case are equal, because the model reads them
            in lower case. Such texts stay different if they have different classes, and a note
            gives their number.

    Raises:
        RequestError: an item can't be read, there is only one class, a class has too few items, or
            the parts don't have the same classes.
    """
    parts = {part: list(corpus.items(part)) for part in corpus.own_parts}
    is_text = corpus.noun == "text"
    key = _key(corpus, parts, ignore_case and is_text)
    leave_out_repeated(corpus, parts, key, same_text(ignore_case and is_text, corpus.noun))
    missing = missing_parts(corpus)
    _check_train(corpus, parts["train"], missing, key)
    hold_out(corpus, parts, missing, seed, key, stratum=lambda item: item.label)
    for part in PARTS[1:]:
        _check_classes(corpus, parts, part)
    _note_alike(corpus, class_names(parts))
    _note_contradictions(corpus, chain.from_iterable(parts.values()), key)
    return {part: parts[part] for part in PARTS}


def class_names(parts: Mapping[str, Iterable[Item]]) -> list[str]:
    """Return the classes in order: by number if all are whole numbers, else by name.

    Numbers of 100 digits or more count as names.
    """
    found = sorted({each.label for texts in parts.values() for each in texts})
    digits = [each.removeprefix("-") for each in found]
    numbers = all(each.isascii() and each.isdigit() and len(each) < 100 for each in digits)
    return sorted(found, key=int) if numbers else found


def _note_alike(corpus: Corpus, classes: Iterable[str]) -> None:
    """Note classes that may be meant as one: `Spam` and `spam`, `1` and `1.0`."""
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for label in classes:
        alike[re.sub(r"(?<=\d)\.0+$", "", " ".join(label.casefold().split()))].append(label)
    found = [" and ".join(labels) for labels in alike.values() if len(labels) > 1]
    if found:
        corpus.note(
            "Classes that differ only in case, spaces or zeros count as different ones: "
            f"{listed(found)}."
        )


def _note_contradictions(corpus: Corpus, items: Iterable[Item], key: _Key) -> None:
    """Note equal items with different classes, which no model can classify correctly."""
    labels: defaultdict[str, list[str]] = defaultdict(list)
    for item in items:
        labels[key(item)].append(item.label)
    found = [own for own in labels.values() if len({*own}) > 1]
    if found:
        corpus.note(
            f"{sum(map(len, found)):,} {corpus.noun}s have an equal one of another class, such as "
            f"{' and '.join(sorted({*found[0]})[:2])}: check their labels."
        )


def _key(corpus: Corpus, parts: Mapping[str, Iterable[Item]], ignore_case: bool) -> _Key:
    """Return the key of items; it keeps case if texts of different classes differ only by case."""
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


def _check_train(corpus: Corpus, train: Sequence[Item], missing: Sequence[str], key: _Key) -> None:
    """Refuse a corpus with a single class, or with a class too small to be divided."""
    name, noun = f"data={corpus.name}", corpus.noun
    keys: defaultdict[str, set[str]] = defaultdict(set)
    for each in train:
        keys[each.label].add(key(each))
    if len(keys) < 2:
        limit = f" with data.limit={corpus.limit}" if corpus.limit else ""
        found = f"{next(iter(keys))!r} alone" if keys else f"no {noun}"
        raise RequestError(f"{name}: expected {noun}s of two or more classes, got {found}{limit}.")
    small = {label: len(own) for label, own in keys.items() if len(own) <= len(missing)}
    if small:
        label, count = next(iter(small.items()))
        more = f" and {len(small) - 1:,} more such class" if len(small) > 1 else ""
        more += "es" if len(small) > 2 else ""
        raise too_few(corpus, missing, f"{noun}s of each class", f"{count} of {label!r}{more}")
    check_shares(corpus, missing, noun)


def _check_classes(corpus: Corpus, parts: Mapping[str, Sequence[Item]], part: str) -> None:
    """Refuse a part whose classes differ from those of train."""
    key = f"{part}_path"
    where = f"data.{key}" if corpus.part_paths[key] else f"data={corpus.name}, part {part}"
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
