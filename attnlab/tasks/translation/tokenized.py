"""A tokenized corpus: prepared once, stored in a cache, mapped into memory, read in batches."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.errors import RequestError, explained
from attnlab.records.files import write_json
from attnlab.tasks.data.corpus import PARTS, digest_of
from attnlab.tasks.data.tokens import Tokens, TokenWriter, prepare_folder
from attnlab.tasks.kinds import Progress
from attnlab.tasks.translation.parallel import AlignedFiles, Pair, ParallelCorpus
from attnlab.text.cleaning import cleaner
from attnlab.text.tokenizers import END, START, UNKNOWN, Tokenizer
from attnlab.training.plan import length_plan

if TYPE_CHECKING:
    import keras

SIDES = ("source", "target")
Tokenizers = tuple[Tokenizer, Tokenizer]  # the source's and the target's
EXAMPLES = 100  # training pairs whose text is stored
MOST_FITTED = 1_000_000  # sentences per language from which a vocabulary is made
_FORMAT = 4
_STATISTICS = "statistics.json"
_BATCH_TOKENS = 8192  # padded tokens of an evaluation batch
_TOGETHER = 4096  # sentences that are encoded, and counted for progress, at once


@dataclass(frozen=True)
class TextSettings:
    """How sentences are cleaned and tokenized."""

    tokenizer: str = "word"  # `word`, `char` or `bpe`
    # most entries of a vocabulary, the four special tokens included; None: all words or characters,
    # and 8,000 for `bpe`
    vocabulary: int | None = None
    shared_vocabulary: bool = False  # one vocabulary for both languages
    min_count: int = 1  # rarer words are unknown
    lowercase: bool = False
    clean: str = "none"  # `none`, or `book`: the book's cleaning
    # most tokens of a sentence, without START and END; longer sentences lose their end. None: no
    # limit.
    max_length: int | None = None

    def clean_text(self) -> Callable[[str], str]:
        """Return the function that cleans a sentence."""
        return cleaner(self.clean, self.lowercase)


class TokenizedPart:
    """The tokenized pairs of one part, and `notes` for the reader of its scores.

    A row of `source` is tokens and END, a row of `target` START, tokens and END.
    """

    def __init__(self, folder: Path, name: str, notes: Sequence[str] = ()) -> None:
        self._folder, self.name, self.notes = folder, name, list(notes)
        self.source, self.target = (Tokens.open(folder / f"{name}.{side}") for side in SIDES)

    def __len__(self) -> int:
        return len(self.source)

    def texts(self) -> tuple[list[str], list[str], list[str] | None]:
        """Return the cleaned sources, targets, and gold links or None; of `train` the first 100."""
        files = {kind: self._folder / f"{self.name}.{kind}.txt" for kind in (*SIDES, "links")}
        with explained(f"{self._folder}: damaged"):
            source, target = ([*_lines(files[side])] for side in SIDES)
            return source, target, [*_lines(files["links"])] if files["links"].exists() else None


def load_tokenizers(source: Path, target: Path, shared: bool) -> Tokenizers:
    """Read the tokenizers of both sides; with a shared vocabulary only that of the source."""
    tokenizer = Tokenizer.load(source)
    return tokenizer, tokenizer if shared else Tokenizer.load(target)


class TokenizedCorpus:
    """A tokenized corpus in the cache; `digest` is the SHA-256 of all its files."""

    def __init__(self, folder: Path, digest: str) -> None:
        self.folder, self.digest = folder, digest
        self.statistics: dict[str, Any] = json.loads((folder / _STATISTICS).read_bytes())
        shared = self.statistics["text"]["shared_vocabulary"]
        self.tokenizers = load_tokenizers(folder / "source.json", folder / "target.json", shared)
        notes = self.statistics["notes"]
        self.parts = {
            name: TokenizedPart(folder, name, [*notes, *counts["notes"]])
            for name, counts in self.statistics["parts"].items()
        }


def tokenize_corpus(
    corpus: ParallelCorpus,
    settings: TextSettings,
    *,
    seed: int,
    cache: Path,
    progress: Progress | None = None,
) -> TokenizedCorpus:
    """Return an opened corpus in tokens: from the cache, or after reading and tokenizing it.

    Tokenizers are fitted on the training part only. The seed holds out the parts that the corpus
    lacks.
    """
    digest = corpus.digest()
    decisive = {
        **{"format": _FORMAT, "corpus": digest, "text": asdict(settings)},
        "languages": [corpus.source_language, corpus.target_language],
        "seed": seed if corpus.held_out else None,
    }
    folder = Path(cache).expanduser() / "prepared" / f"{corpus.name}-{digest_of(decisive)[:16]}"

    def make(unfinished: Path) -> None:
        _tokenize(unfinished, corpus, settings, seed, progress or _ignore)
        if corpus.digest() != digest:
            raise RequestError(
                f"data={corpus.name}: changed while it was read: run the command again."
            )

    return TokenizedCorpus(folder, prepare_folder(folder, make, "the tokenized corpus"))


@contextmanager
def tokenize_files(
    files: AlignedFiles, settings: TextSettings, tokenizers: Tokenizers
) -> Iterator[TokenizedPart]:
    """Tokenize the pairs of two files in a temporary folder, which the context deletes."""
    with TemporaryDirectory(prefix="attnlab-") as temporary:
        folder, name, pairs = Path(temporary), "files", (("files", pair) for pair in files)
        where = f"{files.source}, {files.target}"
        with explained(f"{folder}: expected room for the tokens of {files.source.name}"):
            counts = _write_texts(folder, pairs, [name], settings, where, _ignore)[name]
            sides = dict(zip(SIDES, tokenizers, strict=True))
            part = _encode_part(folder, name, counts, sides, settings.max_length, _ignore)
        yield TokenizedPart(folder, name, part["notes"])


def longest_source(model: keras.Model) -> int | None:
    """Return the most source tokens that a model can read; None if there is no limit."""
    limits = [limit for limit in (model.fixed_length, model.max_positions) if limit]
    return min(limits, default=None)


def cut_sources(model: keras.Model, rows: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Cut source rows to the longest source that a model can read."""
    most = longest_source(model)
    return [cut(row, most or len(row)) for row in rows]


def cut(row: np.ndarray, most: int) -> np.ndarray:
    """Cut a row to `most` tokens and make the last one END; shorter rows don't change."""
    return row if len(row) <= most else np.append(row[: most - 1], END).astype(row.dtype)


def pad_pairs(
    model: keras.Model, part: TokenizedPart, rows: np.ndarray, multiple: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return source and target of some rows, padded to a multiple of `multiple` steps.

    Neither is wider than the model can read; targets are cut without a new END. Row number -1 is
    all padding.
    """
    limit, real = longest_source(model), rows[rows >= 0]
    source = part.source.pad(rows, _round_up(part.source.lengths[real].max(), multiple))
    if limit is not None and source.shape[1] > limit:
        is_longer = source[:, limit] > 0
        source = source[:, :limit]
        source[is_longer, limit - 1] = END
    # The decoder reads all but the last token of a target.
    steps = _round_up(part.target.lengths[real].max() - 1, multiple)
    return source, part.target.pad(rows, steps + 1)[:, : model.max_positions]


def pad_batches(
    model: keras.Model, part: TokenizedPart, rows: np.ndarray, multiple: int | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return rows of a part in batches of near-equal length."""
    lengths = part.source.lengths[rows], part.target.lengths[rows] - 1
    plan = length_plan(*lengths, size=_BATCH_TOKENS, multiple=multiple)
    # Place -1 pads a batch, as row -1 does.
    batches = (np.where(places < 0, -1, rows[places]) for places in plan)
    return [pad_pairs(model, part, batch, multiple) for batch in batches]


def _ignore(*_: Any) -> None:
    """Show no progress."""


def _tokenize(
    folder: Path, corpus: ParallelCorpus, settings: TextSettings, seed: int, progress: Progress
) -> None:
    """Write the files of a tokenized corpus: the texts, the tokenizers, the tokens."""
    pairs = corpus.split_pairs(seed, settings.clean_text())
    names = [part for part in PARTS if part in corpus.parts or part in corpus.held_out]
    names += [part for part in corpus.parts if part not in names]
    counts = _write_texts(folder, pairs, names, settings, f"data={corpus.name}", progress)
    tokenizers: dict[str, Tokenizer] = {}
    step = -(-counts["train"]["pairs"] // MOST_FITTED)  # sentences from all over the corpus
    for together in [SIDES] if settings.shared_vocabulary else [("source",), ("target",)]:
        progress(0, None, f"fitting on {' and '.join(together)}")
        texts = (islice(_lines(folder / f"train.{side}.txt"), 0, None, step) for side in together)
        tokenizer = Tokenizer.fit(
            chain.from_iterable(texts),
            kind=settings.tokenizer,
            size=settings.vocabulary,
            min_count=settings.min_count,
            lowercase=settings.lowercase,
        )
        tokenizer.save(folder / f"{together[0]}.json")
        tokenizers |= dict.fromkeys(together, tokenizer)
    parts = {
        name: _encode_part(folder, name, counts[name], tokenizers, settings.max_length, progress)
        for name in names
    }
    for file in folder.glob("train.*.txt"):
        lines = "".join(f"{line}\n" for line in islice(_lines(file), EXAMPLES))
        file.write_bytes(lines.encode())
    statistics = {
        "notes": list(corpus.notes),
        "text": asdict(settings),
        "vocabulary": {side: tokenizer.size for side, tokenizer in tokenizers.items()},
        "parts": parts,
    }
    write_json(folder / _STATISTICS, statistics)


def _write_texts(
    folder: Path,
    pairs: Iterable[tuple[str, Pair]],
    names: Sequence[str],
    settings: TextSettings,
    where: str,
    progress: Progress,
) -> dict[str, Counter[str]]:
    """Write the cleaned sentences and links of each part, a line per pair; return counts.

    Pairs with an empty side are left out, and links if cleaning removes words.
    """
    clean = settings.clean_text()
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    hashes = {name: array("Q") for name in names}  # of the sources
    with ExitStack() as stack:
        files: dict[str, Any] = {}
        for number, (part, pair) in enumerate(pairs):
            if number % _TOGETHER == 0:
                progress(number, None, "reading")
            texts = {"source": clean(pair.source), "target": clean(pair.target)}
            if not all(texts.values()):
                counts[part]["dropped"] += 1
                continue
            counts[part]["pairs"] += 1
            if pair.links is not None and settings.clean == "none":
                texts["links"] = pair.links
            elif pair.links is not None:
                counts[part]["links_left_out"] += 1
            for kind, text in texts.items():
                name = f"{part}.{kind}.txt"
                if name not in files:
                    files[name] = stack.enter_context(open(folder / name, "wb"))
                files[name].write(f"{text}\n".encode("utf-8", "replace"))
            key = blake2b(texts["source"].encode("utf-8", "replace"), digest_size=8).digest()
            hashes[part].frombytes(key)
    if empty := [name for name in names if not counts[name]["pairs"]]:
        raise RequestError(
            f"{where}: expected pairs that have words on both sides after cleaning "
            f"(task.clean={settings.clean}), got none in {', '.join(empty)}."
        )
    train = hashes.get("train", ())
    for part, keys in hashes.items():
        counts[part]["sources_in_train"] = int(np.isin(keys, train).sum())
    return counts


def _encode_part(
    folder: Path,
    name: str,
    counts: Mapping[str, int],
    tokenizers: Mapping[str, Tokenizer],
    longest: int | None,
    progress: Progress,
) -> dict[str, Any]:
    """Write the tokens of a part; return its counts, and notes for the reader of its scores."""
    pairs = counts["pairs"]
    part: dict[str, Any] = {**counts}
    for side, tokenizer in tokenizers.items():
        start = [START] * (side == "target")
        lines = _lines(folder / f"{name}.{side}.txt")
        part[side] = dict.fromkeys(("sentences", "tokens", "unknown", "truncated"), 0)
        with TokenWriter(folder / f"{name}.{side}", tokenizer.size) as writer:
            while texts := [*islice(lines, _TOGETHER)]:
                rows = tokenizer.encode(texts)
                ids = writer.add([[*start, *row[:longest], END] for row in rows])
                part[side]["sentences"] += len(rows)
                part[side]["tokens"] += len(ids) - len(rows) * (1 + len(start))
                part[side]["unknown"] += int((ids == UNKNOWN).sum())
                part[side]["truncated"] += sum(len(row) > (longest or len(row)) for row in rows)
                progress(part[side]["sentences"], pairs, f"encoding {side} of {name}")
    total, notes = pairs + counts["dropped"], []
    if dropped := counts["dropped"]:
        notes.append(f"{dropped:,} of {total:,} pairs are left out, because a side is empty.")
    if name != "train" and (repeated := counts["sources_in_train"]):
        notes.append(f"{repeated:,} of {pairs:,} sources are also in the training part.")
    if links := counts["links_left_out"]:
        notes.append(f"Gold links of {links:,} pairs are left out: task.clean changes the words.")
    cut = [f"{part[side]['truncated']:,} of {pairs:,} {side}s" for side in SIDES]
    if any(part[side]["truncated"] for side in SIDES):
        notes.append(
            f"Only the first {longest} tokens (task.max_length) are read of {' and '.join(cut)}."
        )
    return {**part, "notes": notes}


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file that this module wrote."""
    with open(path, encoding="utf-8", newline="\n") as stream:
        for line in stream:
            yield line.rstrip("\n")


def _round_up(length: int, multiple: int | None) -> int:
    unit = multiple or 1
    return -(-int(length) // unit) * unit
