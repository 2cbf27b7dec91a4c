"""The corpora of translation that are published or the user's; see `generated` for others."""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.data import builtin
from attnlab.tasks.data.corpus import PARTS, DividedCorpus, OwnFiles
from attnlab.tasks.data.published import Published
from attnlab.tasks.data.readers import members, read_bytes, read_rows, read_table, read_text
from attnlab.tasks.translation.parallel import Pair, ParallelCorpus
from attnlab.text.reading import decode_text

_TATOEBA = "CC-BY 2.0 FR; name tatoeba.org and manythings.org/anki as the source"
_FLICKR = "test_2016_flickr"


@dataclass(kw_only=True, eq=False)
class Builtin(ParallelCorpus):
    """English and German sentences that a grammar wrote, with gold word alignments.

    `compositions` has 1,000 sentences with more than any in train: a third clause, a third
    adjective before a noun, or an owner's owner. `tasks/data/files/README.md` says more.
    """

    name = "builtin"
    origin = "a grammar of this project"
    license = "Apache-2.0, as attnlab"

    pairs: int = 20_000
    reverse: bool = False

    def read(self, place: Path) -> dict[str, list[Pair]]:
        """Return the pairs of the file; see `Corpus.read`."""
        parts = {
            part: [Pair(*row) for row in rows] for part, rows in builtin.rows(self.name).items()
        }
        return parts | {"train": parts["train"][: self.pairs]}


@dataclass(kw_only=True, eq=False)
class DividedPairs(DividedCorpus, ParallelCorpus):
    """The settings of corpora whose parts are held out, or may be."""

    split: str = "source"
    reverse: bool = False


@dataclass(kw_only=True, eq=False)
class Book(DividedPairs):
    """`english-german-both.pkl` and similar files: a NumPy array of strings, a row per pair.

    The first column is English, the second German; a third, the attribution, is not read. Reading
    the file runs no code that may be in it.
    """

    name = "book"
    origin = "'Building Transformer Models with Attention', chapter 13, from Tatoeba"
    license = f"Tatoeba's: {_TATOEBA}"
    needs = "data.path=FILE.pkl"

    def read(self, place: Path) -> dict[str, list[Pair]]:
        """Return the rows of the array; see `Corpus.read`."""
        content = io.BytesIO(read_bytes(place, "data.path"))
        try:
            array = _ArrayUnpickler(content, encoding="latin-1").load()
        except Exception as error:  # a damaged pickle can raise anything
            raise RequestError(f"data.path: {place}: can't be unpickled: {error}.") from error
        is_array = isinstance(array, np.ndarray) and array.ndim == 2 and array.shape[1] in (2, 3)
        if not is_array or not all(isinstance(cell, str) for cell in array.flat):
            raise RequestError(
                f"data.path: {place}: expected an array of strings with 2 or 3 columns (English, "
                f"German, attribution), got another {type(array).__name__}."
            )
        return {"train": [Pair(*map(str, row[:2])) for row in array]}


class _ArrayUnpickler(pickle.Unpickler):
    """Unpickles a NumPy array of strings, and nothing that could run code."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a function or class with which NumPy writes arrays; refuse any other name."""
        if not re.fullmatch(
            r"numpy\.(ndarray|dtype)|_codecs\.encode"
            r"|numpy\._?core\.(multiarray\._reconstruct|numeric\._frombuffer)",
            f"{module}.{name}",
        ):
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        return super().find_class(module, name)


@dataclass(kw_only=True, eq=False)
class Tatoeba(DividedPairs):
    """Short sentences of everyday language with their translations, sorted by length.

    A line is English, a tab, German and, in newer files, a tab and the attribution, which is not
    read. A sentence often has several translations.
    """

    name = "tatoeba"
    origin = "Tatoeba project (tatoeba.org), through manythings.org/anki"
    license = _TATOEBA
    published = (Published("https://www.manythings.org/anki/deu-eng.zip"),)

    url: str | None = None

    def read(self, place: Path) -> dict[str, list[Pair]]:
        """Return the pairs of `deu.txt`, or of an archive with it; see `Corpus.read`."""
        if place.suffix == ".zip":
            contents = [text for _, text in members(place, re.compile(r"^[a-z]{3}\.txt$"))]
            if len(contents) != 1:
                raise RequestError(f"data.path: {place}: expected an archive with deu.txt.")
            text = decode_text(contents[0], str(place))
        else:
            text = read_text(place, "data.path")
        pairs = []
        for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
            cells = line.split("\t")
            if len(cells) == 2 or (len(cells) == 3 and cells[2].startswith("CC-BY")):
                pairs.append(Pair(cells[0], cells[1]))
            elif line:
                raise RequestError(
                    f"data.path: {place}, line {number}: expected English, a tab, German, and at "
                    f"most a tab and an attribution (CC-BY ...), got {line[:60]!r}."
                )
        return {"train": pairs}


@dataclass(kw_only=True, eq=False)
class Files(OwnFiles, DividedPairs):
    """The user's own pairs: a folder with two files per part, or a table.

    A folder has `train.LANGUAGE` for both languages, whose lines translate each other, and
    optionally such files named `validation` and `test`. A table is a TSV or CSV file; `columns`
    names the source and the target, or numbers them from 1. It may be null if there are no others.
    """

    name = "files"
    origin = "your own files"
    license = "yours"
    needs = "data.path=FOLDER or data.path=FILE.tsv"

    source_language: str = "en"
    target_language: str = "de"
    columns: list[str | int] | None = None

    def read(self, place: Path) -> Mapping[str, Any]:
        """Return the pairs of each part with files; see `Corpus.read`."""
        if not place.is_dir():
            return super().read(place)
        if others := [path for path in (self.validation_path, self.test_path) if path]:
            raise RequestError(
                f"data.validation_path, data.test_path: expected null, because data.path is a "
                f"folder with files for all parts, got {', '.join(others)}."
            )
        parts = {part: self.aligned_files(place, part, optional=part != "train") for part in PARTS}
        return {part: files for part, files in parts.items() if files}

    def read_file(self, path: Path, key: str) -> list[Pair]:
        """Return the pairs of a table; see `OwnFiles.read_file`."""
        if not path.name.removesuffix(".gz").endswith((".tsv", ".csv")):
            raise RequestError(f"{key}: expected a folder, or a .tsv or .csv file, got {path}.")
        if self.columns is None:
            rows, _ = read_rows(path, key, "\t")
            if len(rows[0]) != 2:
                raise RequestError(
                    f"{key}: {path}: expected a source, a tab and a target, got {len(rows[0])} "
                    "columns; data.columns=[SOURCE,TARGET] chooses two."
                )
            return [Pair(*row) for row in rows]
        if len(self.columns) != 2:
            raise RequestError(f"data.columns: expected two columns, got {len(self.columns)}.")
        source, target = self.columns
        columns = {"data.columns (source)": source, "data.columns (target)": target}
        return [Pair(*row) for row in read_table(path, key, columns)]


@dataclass(kw_only=True, eq=False)
class PublishedFiles(ParallelCorpus):
    """English and German files of train, validation and one of several test sets.

    `validation_set` and `test_set` are the starts of these files' names.
    """

    base: ClassVar[str]  # the URL of their folder
    ending: ClassVar[str] = ""
    digests: ClassVar[dict[str, str]] = {}  # SHA-256 by file
    validation_set: ClassVar[str]

    path: str | None = None
    test_set: str
    limit: int | None = None
    reverse: bool = False

    @property
    def published(self) -> tuple[Published, ...]:  # type: ignore[override]
        """The files to download."""
        sets = dict.fromkeys(["train", self.validation_set, self.test_set])
        names = [f"{name}.{side}{self.ending}" for name in sets for side in ("en", "de")]
        return tuple(Published(f"{self.base}/{name}", self.digests.get(name)) for name in names)

    def read(self, place: Path) -> dict[str, Any]:
        """Return the files of each part; see `Corpus.read`."""
        parts = {"train": "train", "validation": self.validation_set, "test": self.test_set}
        if self.test_set == self.validation_set:
            del parts["validation"]
            self.note(f"The test part is {self.test_set}, and validation is held out from train.")
        return {part: self.aligned_files(place, name) for part, name in parts.items()}


@dataclass(kw_only=True, eq=False)
class Multi30k(PublishedFiles):
    """29,000 descriptions of pictures, translated by people, with their own division.

    If the test sets aren't available, `test_set="val"` tests on the validation part instead. Then
    as many pairs of `train` are held out for validation.
    """

    name = "multi30k"
    origin = "github.com/multi30k/dataset, task 1; cite Elliott et al. 2016 (arXiv 1605.00459)"
    license = "research use; the pictures' descriptions come from Flickr30k"
    base = (
        "https://raw.githubusercontent.com/multi30k/dataset/"
        "a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw"
    )
    ending = ".gz"
    digests = {
        "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
        "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
        "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
        "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
        f"{_FLICKR}.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
        f"{_FLICKR}.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    }
    validation_set = "val"
    validation = 0.035  # 1,015 of 29,000 pairs

    test_set: str = _FLICKR


@dataclass(kw_only=True, eq=False)
class Wmt14(PublishedFiles):
    """4.47 million training pairs of WMT14, 1.4 GB; newstest2013 validates.

    They are Europarl v7, Common Crawl and News Commentary as Stanford's NLP group tokenized them;
    compound words are divided by `##AT##-##AT##`. No digests of these files are published.

    Source: Luong et al. 2015 (arXiv 1508.04025), nlp.stanford.edu/projects/nmt.
    """

    name = "wmt14"
    origin = "nlp.stanford.edu/projects/nmt; cite Luong et al. 2015 (arXiv 1508.04025)"
    license = "research use; the texts are from the European Parliament, news and web pages"
    base = "https://nlp.stanford.edu/projects/nmt/data/wmt14.en-de"
    validation_set = "newstest2013"

    test_set: str = "newstest2014"
