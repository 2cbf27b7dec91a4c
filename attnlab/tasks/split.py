"""Split a corpus: missing validation or test parts are held out from its train part.

Items with the same key, such as equal texts, are a group and stay in one part.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeVar

from attnlab.errors import RequestError
from attnlab.tasks.text_corpus import PARTS, NamedCorpus, TextCorpus

_Item = TypeVar("_Item")
_Group = Sequence[int]  # places of items in train


def rank(key: str, seed: int) -> bytes:
    """Return a pseudo-random sort key of a text, the same on every machine."""
    salt = seed.to_bytes(8, "little")
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), salt=salt).digest()


def leave_out_repeated(
    corpus: TextCorpus,
    parts: dict[str, list[_Item]],
    key: Callable[[_Item], str],
    why: str,
) -> None:
    """Remove the items of each part whose key is also in a later part.

    `corpus.left_out` counts them, and `corpus.notes` get their number and `why`.
    """
    later: set[str] = set()
    counts = {}
    for part in reversed([part for part in PARTS if part in parts]):
        keyed = [(key(each), each) for each in parts[part]]
        parts[part] = [each for own, each in keyed if own not in later]
        if count := len(keyed) - len(parts[part]):
            counts[part] = count
            which = f"{count:,} of the {len(keyed):,} {corpus.noun}s of {part}"
            are = "is" if count == 1 else "are"
            corpus.note(f"{which} {are} left out: {why}.")
        later |= {own for own, _ in keyed}
    corpus.left_out = counts


def same_text(ignore_case: bool, noun: str = "text") -> str:
    """Return the reason why an item is left out, for `leave_out_repeated`."""
    return f"a later part has the same {noun}" + ", ignoring case" * ignore_case


def missing_parts(corpus: TextCorpus) -> list[str]:
    """Return the parts to hold out, in the order in which they are filled."""
    return [part for part in ("test", "validation") if part not in corpus.own_parts]


def check_shares(corpus: NamedCorpus, missing: Sequence[str], noun: str) -> None:
    """Check that the shares leave something to train on.

    Raises:
        RequestError: their sum is 1 or more.
    """
    shares = {part: corpus.share(part) for part in PARTS if part in missing}
    if sum(shares.values()) >= 1:
        raise RequestError(
            f"{' + '.join(f'data.{part}' for part in shares)}: expected a sum below 1, to leave "
            f"{noun}s to train on, got {' + '.join(f'{share:g}' for share in shares.values())}."
        )


def too_few(corpus: TextCorpus, missing: Sequence[str], what: str, found: str) -> RequestError:
    """Return the error for a corpus with fewer groups than parts.

    Args:
        corpus: the corpus.
        missing: the parts to hold out.
        what: the noun for the items, in the plural.
        found: how many there are.
    """
    among = " and ".join(part for part in PARTS if part == "train" or part in missing)
    return RequestError(
        f"data={corpus.name}: expected at least {len(missing) + 1} different {what}, for {among}, "
        f"got {found}."
    )


def hold_out(
    corpus: TextCorpus,
    parts: dict[str, list[_Item]],
    missing: Sequence[str],
    seed: int,
    key: Callable[[_Item], str],
    *,
    stratum: Callable[[_Item], str] = lambda item: "",
    order: Callable[[_Item], str] | None = None,
    size: Callable[[_Group], int] = len,
) -> None:
    """Move groups of items from train into the missing parts, chosen by the run's seed.

    Each part gets its share of each stratum, at least one group; at least one group stays in train.
    The order of items does not change.

    Args:
        corpus: its settings `validation` and `test` are the shares.
        parts: the items of each part, `train` among them.
        missing: the parts to fill, in this order; each stratum has more groups than these.
        seed: of the run.
        key: items with the same key are a group.
        stratum: the share is taken from each stratum, such as a class. By default there is one.
        order: the seed orders groups by this text of their first items; None: by their keys.
        size: how much a group counts for a share.
    """
    train = parts["train"]
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for place, each in enumerate(train):
        groups[key(each)].append(place)
    names = {name: order(train[own[0]]) if order else name for name, own in groups.items()}
    strata: defaultdict[str, list[_Group]] = defaultdict(list)
    for name in sorted(groups, key=lambda name: rank(names[name], seed)):
        strata[stratum(train[groups[name][0]])].append(groups[name])
    taken: dict[int, str] = {}
    for own in strata.values():
        total = sum(map(size, own))
        for others, part in enumerate(missing):
            wanted, most = round(corpus.share(part) * total), len(own) - len(missing) + others
            some, own = _first(own, wanted, most, size)
            taken |= {place: part for group in some for place in group}
    for part in ("train", *missing):
        places = (at for at in range(len(train)) if taken.get(at, "train") == part)
        parts[part] = [train[at] for at in places]


def _first(
    groups: Sequence[_Group], count: int, most: int, size: Callable[[_Group], int]
) -> tuple[list[_Group], list[_Group]]:
    """Return the first groups with a total size of at most `count`, and the other groups.

    It takes at most `most` groups and at least one: the smallest if all exceed `count`.
    """
    count = max(count, min(map(size, groups), default=0))
    some: list[_Group] = []
    others: list[_Group] = []
    for group in groups:
        if size(group) <= count and len(some) < most:
            some.append(group)
            count -= size(group)
        else:
            others.append(group)
    return some, others
