"""Hold out validation and test parts from train: grouped, stratified, the same on any machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.data.corpus import PARTS, Corpus

_MANY, _MOST_HELD_OUT = 1_000_000, 10_000  # items


def hold_out(
    keys: Iterable[str],
    seed: int,
    shares: Mapping[str, float],
    strata: Sequence[str] | None = None,
    noun: str = "text",
) -> np.ndarray:
    """Choose the part of each item at random, by the run's seed.

    Items with one key are a group, and a group is in one part. Each part gets its share of the
    items of each stratum, rounded; of over a million at most 10,000. It is never more, unless one
    group is, and at least one group; at least one group stays in train.

    Args:
        keys: of N items.
        seed: of the run.
        shares: part -> share of the items; a part with a share of 0 gets none.
        strata: such as the class of each item; None: there is one stratum.
        noun: an item in messages.

    Returns:
        (N,) uint8, the part of each item as an index into `PARTS`.
    """
    shares = {part: share for part, share in shares.items() if share}
    if sum(shares.values()) >= 1:
        names = " + ".join(f"data.{part}" for part in shares)
        values = " + ".join(f"{share:g}" for share in shares.values())
        raise RequestError(
            f"{names}: expected a sum below 1, to leave {noun}s for train, got {values}."
        )
    salt = seed.to_bytes(8, "little")
    encoded = (key.encode("utf-8", "surrogatepass") for key in keys)
    hashes = (blake2b(key, salt=salt).digest()[:8] for key in encoded)
    ranks = np.fromiter((int.from_bytes(rank, "big") for rank in hashes), np.uint64)
    # Sorted by rank, so groups are in random order.
    _, first, group_of, sizes = np.unique(
        ranks, return_index=True, return_inverse=True, return_counts=True
    )
    one = np.zeros(len(ranks), int)
    labels, stratum_of = np.unique(one if strata is None else strata, return_inverse=True)
    stratum_of = stratum_of[first]
    codes = np.zeros(len(sizes), np.uint8)
    for number, name in enumerate(labels):
        groups = np.flatnonzero(stratum_of == number)
        total = int(sizes[groups].sum())
        if len(groups) <= len(shares):
            of = f" of class {name}" if name else ""
            raise RequestError(
                f"expected at least {len(shares) + 1} different {noun}s{of}, for "
                f"{' and '.join(['train', *shares])}, got {len(groups)}."
            )
        for later, (part, share) in zip(range(len(shares), 0, -1), shares.items(), strict=True):
            count = round(share * total)
            if total > _MANY:
                count = min(count, _MOST_HELD_OUT)
            count, room = max(count, int(sizes[groups].min())), len(groups) - later
            chosen: list[int] = []
            for group in groups.tolist():
                if not count or len(chosen) == room:
                    break
                if sizes[group] <= count:
                    chosen.append(group)
                    count -= int(sizes[group])
            codes[chosen] = PARTS.index(part)
            groups = groups[codes[groups] == 0]
    return codes[group_of]


def divide(corpus: Corpus, seed: int, key: Callable[[Any], str]) -> dict[str, list[Any]]:
    """Return the items of train, validation and test of an opened corpus, in its order.

    The corpus's own parts stay as they are, and a note counts items of train that a later part
    repeats. Missing parts are held out from train; see `hold_out`. Items with one `key` are in
    one part.
    """
    parts = {part: [*items] for part, items in corpus.parts.items()}
    train, keys = parts["train"], [key(item) for item in parts["train"]]
    later = {key(item) for part, items in parts.items() if part != "train" for item in items}
    if repeated := sum(key in later for key in keys):
        corpus.note(
            f"{repeated:,} of {len(train):,} {corpus.noun}s of train are also in a later part; "
            "they stay."
        )
    shares = {"test": corpus.test, "validation": corpus.validation}
    missing = {part: share for part, share in shares.items() if part not in parts}
    if missing:
        labels = [corpus.label(item) for item in train]
        try:
            codes = hold_out(keys, seed, missing, labels, corpus.noun)
        except RequestError as error:
            raise RequestError(f"data={corpus.name}: {error}") from error
        for code, part in enumerate(PARTS):
            if part == "train" or part in missing:
                parts[part] = [train[place] for place in np.flatnonzero(codes == code)]
    return {part: parts[part] for part in dict.fromkeys((*PARTS, *parts)) if part in parts}
