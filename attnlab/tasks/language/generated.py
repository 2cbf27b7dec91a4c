"""Generated tasks: rows of symbols, which `data=NAME` draws.

The docstrings show a row above its targets, as in zoology (github.com/HazyResearch/zoology). A
model reads the tokens up to a place and predicts the target there; places without a target aren't
scored. The names of settings are those of `conf/data/NAME.yaml`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.data.corpus import Corpus, digest_of
from attnlab.tasks.kinds import Progress
from attnlab.tasks.language.data import PADDING, Rows

HELD_OUT = 1000  # rows of validation, and of test; further rows of test are longer
_CHUNK = 4096  # rows drawn at once; a longer part starts like a shorter one because it is constant
_TRIES = 200  # draws of a chunk without a new row before a corpus counts as too small
PAD, END, ASK, FIRST = 0, 1, 2, 3  # tokens of `Copy`; FIRST is symbol 0


@dataclass(kw_only=True, eq=False)
class GeneratedRows(Corpus):
    """A corpus of `rows` training rows, and of 1,000 each for validation and test.

    No row of validation is in test, and no row of train is in either. Rows of one part may repeat
    each other, where few are possible. If the setting named `longer` isn't None, test has 1,000
    longer rows at its end, which are reported separately. The run's seed doesn't change the rows.
    """

    rows: int = 20_000
    seed: int = 0

    license: ClassVar[str] = "Apache-2.0, as attnlab"
    noun: ClassVar[str] = "row"
    longer: ClassVar[str] = ""
    version: ClassVar[int] = 2  # of `draw`; a change makes the rows others

    @property
    @abstractmethod
    def token_names(self) -> Sequence[str]:
        """Return the name of each token, without spaces; a model has as many tokens."""

    @property
    def chance(self) -> float | None:
        """Return the accuracy of guessing by the task's rule, such as 1/K: the baseline `guess`."""
        return None

    def draw(self, rng: np.random.Generator, rows: int, longer: bool) -> Rows:
        """Draw rows; `longer` ones only if the setting `self.longer` isn't None."""
        raise NotImplementedError

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Draw all rows.

        Raises:
            RequestError: too few different rows are possible.
        """
        test = self._part("test", HELD_OUT, [])
        validation = self._part("validation", HELD_OUT, [test])
        if self.longer and getattr(self, self.longer) is not None:
            longer = self._part("longer", HELD_OUT, [])
            width = longer.tokens.shape[1] - test.tokens.shape[1]
            wider = (np.pad(array, ((0, 0), (0, width))) for array in test)
            tokens, targets = map(np.concatenate, zip(wider, longer, strict=True))
            targets[:HELD_OUT, -width:] = PADDING
            test = Rows(tokens, targets)
        train = self._part("train", self.rows, [test, validation])
        self.parts = {"train": train, "validation": validation, "test": test}

    def _part(self, part: str, size: int, others: Sequence[Rows]) -> Rows:
        """Draw rows that are in no other part."""
        rng = np.random.default_rng((self.seed, *part.encode()))
        excluded = [np.empty(0, np.uint64), *(_fingerprints(other.tokens) for other in others)]
        chunks: list[Rows] = []
        count = tries = 0
        while count < size:
            chunk = self.draw(rng, _CHUNK, part == "longer")
            fresh = ~np.isin(_fingerprints(chunk.tokens), np.concatenate(excluded))
            chunks.append(Rows(*(array[fresh] for array in chunk)))
            count += int(fresh.sum())
            tries = 0 if fresh.any() else tries + 1
            if tries > _TRIES:
                raise RequestError(
                    f"data.name={self.name}: too few different rows are possible with these "
                    "settings, because train, validation and test must not share a row. Choose "
                    "longer rows or more symbols."
                )
        return Rows(*(np.concatenate(arrays)[:size] for arrays in zip(*chunks, strict=True)))

    def digest(self) -> str:
        """Return a SHA-256 of every setting that determines the rows."""
        return digest_of({"name": self.name, "version": self.version, **asdict(self)})

    def _check(self, setting: str, fits: bool, expected: str) -> None:
        if not fits:
            value = getattr(self, setting)
            raise RequestError(f"data.{setting}: expected {expected}, got {value}.")


def _fingerprints(tokens: np.ndarray) -> np.ndarray:
    """Return a 64-bit number per row (N, T); rows that differ only by zeros at the end share it."""
    factors = np.random.default_rng(0).integers(2**63, size=tokens.shape[1], dtype=np.uint64)
    return (tokens.astype(np.uint64) * (2 * factors + 1)).sum(axis=1, dtype=np.uint64)


@dataclass(kw_only=True, eq=False)
class AssociativeRecall(GeneratedRows):
    """Multi-query associative recall.

        tokens   k3 v1 k7 v4  k7 _  k3 _  _  _
        targets               v4    v1

    With V = `vocabulary`: keys are 1 to V/2 - 1, values V/2 to V - 1, the filler is 0. A row starts
    with K = `pairs` pairs, in which no key and no value repeats. The rest has
    S = (length - 2K) / 2 slots of two places. Each key is repeated in the first place of a slot:
    slot j = 0, 1, ... is drawn with a probability proportional to (j + 1)^(power - 1), without
    replacement. With `random_fillers` any token may be where the filler is.

    Source: Arora et al. 2023 (arXiv 2312.04927), `zoology/data/multiquery_ar.py`. Difference: none.
    """

    vocabulary: int = 512
    length: int = 64
    pairs: int = 4
    power: float = 0.01
    random_fillers: bool = False

    name: ClassVar[str] = "associative_recall"
    origin: ClassVar[str] = "made by this project, after zoology's associative recall (2023)"

    def __post_init__(self) -> None:
        fits = self.length % 2 == 0 and self.length >= 4 * self.pairs
        self._check("length", fits, f"an even number of at least 4 * {self.pairs} pairs")
        least = 2 * self.pairs + 2
        what = f"at least {least}, a filler and different keys and values"
        self._check("vocabulary", self.vocabulary >= least, what)

    @property
    def token_names(self) -> Sequence[str]:
        """Return `_` for the filler, `k1`, `k2`, ... for keys and `v1`, `v2`, ... for values."""
        half = self.vocabulary // 2
        keys = [f"k{number}" for number in range(1, half)]
        return ["_", *keys, *(f"v{number}" for number in range(1, self.vocabulary - half + 1))]

    @property
    def chance(self) -> float:
        """Return the accuracy of guessing one of the row's values."""
        return 1 / self.pairs

    def draw(self, rng: np.random.Generator, rows: int, longer: bool) -> Rows:  # noqa: D102
        pairs, half = self.pairs, self.vocabulary // 2
        slots = (self.length - 2 * pairs) // 2
        keys = 1 + distinct_numbers(rng, rows, half - 1, pairs)
        values = half + distinct_numbers(rng, rows, self.vocabulary - half, pairs)
        tokens = np.zeros((rows, self.length), np.int32)
        tokens[:, 0 : 2 * pairs : 2], tokens[:, 1 : 2 * pairs : 2] = keys, values
        # The largest of log p + Gumbel noise are a draw without replacement (Vieira 2014).
        log_probability = (self.power - 1) * np.log(np.arange(1, slots + 1))
        noisy = log_probability + rng.gumbel(size=(rows, slots))
        places = 2 * pairs + 2 * (-noisy).argsort(axis=1)[:, :pairs]
        np.put_along_axis(tokens, places, keys.astype(np.int32), axis=1)
        if self.random_fillers:
            noise = rng.integers(self.vocabulary, size=tokens.shape, dtype=np.int32)
            tokens = np.where(tokens == 0, noise, tokens)
        targets = np.full_like(tokens, PADDING)
        np.put_along_axis(targets, places, values.astype(np.int32), axis=1)
        return Rows(tokens, targets)


def distinct_numbers(rng: np.random.Generator, rows: int, choices: int, count: int) -> np.ndarray:
    """Draw `count` different numbers below `choices` per row, in random order: (rows, count).

    Numbers that repeat an earlier one in their row are drawn again until none is left. That favors
    no number over another, so each ordered choice is equally probable.
    """
    if choices <= 4 * count:
        return rng.random((rows, choices)).argsort(axis=1)[:, :count]
    drawn = rng.integers(choices, size=(rows, count))
    open_rows = np.arange(rows)
    while len(open_rows):
        part = drawn[open_rows]
        order = part.argsort(axis=1, kind="stable")
        ordered = np.take_along_axis(part, order, axis=1)
        repeats = np.zeros(part.shape, bool)
        np.put_along_axis(repeats, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
        open_rows, repeats = open_rows[repeats.any(axis=1)], repeats[repeats.any(axis=1)]
        part = drawn[open_rows]
        part[repeats] = rng.integers(choices, size=np.count_nonzero(repeats))
        drawn[open_rows] = part
    return drawn


@dataclass(kw_only=True, eq=False)
class Induction(GeneratedRows):
    """Random symbols with a special one twice; the second is the question.

        tokens   5 2 ? 9 0 4 7 ?
        targets                9

    Symbols are 0 to V - 2 with V = `vocabulary`, the special one is V - 1. It is at a random place
    and at the end of the row. With `test_length`, test has further rows of that length.

    Source: induction heads, Gu and Dao 2023 (arXiv 2312.00752), section 4.1.2. The paper leaves
    open how places are drawn: here each place with a successor before the end is equally probable.
    """

    vocabulary: int = 16
    length: int = 64
    test_length: int | None = None

    name: ClassVar[str] = "induction"
    origin: ClassVar[str] = "made by this project, after the induction heads of Gu and Dao (2023)"
    longer: ClassVar[str] = "test_length"

    def __post_init__(self) -> None:
        fits = self.test_length is None or self.test_length > self.length
        self._check("test_length", fits, f"more than data.length={self.length}, or null")

    @property
    def token_names(self) -> Sequence[str]:
        """Return the numbers of the symbols, and `?` for the special one."""
        return [*map(str, range(self.vocabulary - 1)), "?"]

    def draw(self, rng: np.random.Generator, rows: int, longer: bool) -> Rows:  # noqa: D102
        length = self.test_length if longer and self.test_length else self.length
        special = self.vocabulary - 1
        tokens = rng.integers(special, size=(rows, length), dtype=np.int32)
        places = rng.integers(length - 2, size=(rows, 1))
        np.put_along_axis(tokens, places, special, axis=1)
        tokens[:, -1] = special
        targets = np.full_like(tokens, PADDING)
        targets[:, -1:] = np.take_along_axis(tokens, places + 1, axis=1)
        return Rows(tokens, targets)


@dataclass(kw_only=True, eq=False)
class SelectiveCopy(GeneratedRows):
    """K = `symbols` symbols at random places among blanks, to be repeated.

        tokens   _ 4 _ _ 1 7 _ ?  _ _ _
        targets                   4 1 7

    With V = `vocabulary`: symbols are 0 to V - 3, the blank is V - 2, the sign to copy V - 1. The
    symbols are drawn with replacement; `length` - 2K - 1 blanks are among them.

    Source: selective copying, Poli et al. 2024 (arXiv 2403.17844), `mad/data/instances.py`.
    Difference: each blank goes to one of K + 1 gaps, the one after the last symbol included, which
    stays empty there; places come from the corpus's generator, not from NumPy's global one.
    """

    vocabulary: int = 16
    length: int = 256
    symbols: int = 16
    rows: int = 12_800

    name: ClassVar[str] = "selective_copy"
    origin: ClassVar[str] = "made by this project, after the selective copying of MAD (2024)"

    def __post_init__(self) -> None:
        least = 2 * self.symbols + 1
        self._check("length", self.length >= least, f"at least {least}")

    @property
    def token_names(self) -> Sequence[str]:
        """Return the numbers of the symbols, `_` for the blank and `?` for the sign to copy."""
        return [*map(str, range(self.vocabulary - 2)), "_", "?"]

    def draw(self, rng: np.random.Generator, rows: int, longer: bool) -> Rows:  # noqa: D102
        blank, copy = self.vocabulary - 2, self.vocabulary - 1
        symbols, blanks = self.symbols, self.length - 2 * self.symbols - 1
        chosen = rng.integers(blank, size=(rows, symbols), dtype=np.int32)
        gaps = rng.multinomial(blanks, np.full(symbols + 1, 1 / (symbols + 1)), size=rows)
        places = np.arange(symbols) + gaps[:, :-1].cumsum(axis=1)
        tokens = np.full((rows, self.length), blank, np.int32)
        np.put_along_axis(tokens, places, chosen, axis=1)
        tokens[:, -symbols - 1] = copy
        targets = np.full_like(tokens, PADDING)
        targets[:, -symbols:] = chosen
        return Rows(tokens, targets)


@dataclass(kw_only=True, eq=False)
class Copy(GeneratedRows):
    """A sequence, then the same sequence; in `Reversal` the sequence backwards.

        tokens   8 3 5 ? 8 3 5 _ _
        targets        8 3 5 .

    The length is uniform on `shortest` to `longest`, each symbol on 0 to `different` - 1. Rows have
    2 * `longest` + 1 tokens. With `test_longest`, test has further rows up to that length.

    Source: copy and reverse of Kazemnejad et al. 2023 (arXiv 2305.19466),
    `scripts/dataset_builders`. Differences: lengths are drawn, instead of equally many rows of each
    length; `?` replaces a prompt of English words.
    """

    rows: int = 50_000
    different: int = 100
    shortest: int = 4
    longest: int = 20
    test_longest: int | None = None

    name: ClassVar[str] = "copy"
    origin: ClassVar[str] = "made by this project, after Kazemnejad et al. (2023)"
    longer: ClassVar[str] = "test_longest"
    backwards: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self._check(
            "shortest", self.shortest <= self.longest, f"at most data.longest={self.longest}"
        )
        fits = self.test_longest is None or self.test_longest > self.longest
        self._check("test_longest", fits, f"more than data.longest={self.longest}, or null")

    @property
    def token_names(self) -> Sequence[str]:
        """Return the names of the tokens; `_` pads, `?` asks and `.` ends the answer."""
        return ["_", ".", "?", *map(str, range(self.different))]

    def draw(self, rng: np.random.Generator, rows: int, longer: bool) -> Rows:  # noqa: D102
        shortest, longest = self.shortest, self.longest
        if longer and self.test_longest:
            shortest, longest = longest + 1, self.test_longest
        lengths = rng.integers(shortest, longest + 1, size=(rows, 1))
        answers = sequences = rng.integers(self.different, size=(rows, longest))
        if self.backwards:
            order = (lengths - 1 - np.arange(longest)).clip(0)
            answers = np.take_along_axis(sequences, order, axis=1)
        places = np.arange(2 * longest + 2)
        whole = np.full((rows, len(places)), PAD, np.int32)
        asked = places < lengths
        whole[asked] = FIRST + sequences[asked[:, :longest]]
        whole[places == lengths] = ASK
        whole[(places > lengths) & (places <= 2 * lengths)] = FIRST + answers[asked[:, :longest]]
        whole[places == 2 * lengths + 1] = END
        answered = (places > lengths) & (places <= 2 * lengths + 1)
        return Rows(whole[:, :-1], np.where(answered, whole, PADDING)[:, 1:])


class Reversal(Copy):
    """The rows of `Copy` with answers backwards."""

    name: ClassVar[str] = "reversal"
    backwards: ClassVar[bool] = True
