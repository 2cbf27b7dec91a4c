"""Texts that a model learns to continue or to fill in; `data=NAME` chooses one."""

from __future__ import annotations

import hashlib
import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from attnlab.errors import RequestError, explained
from attnlab.tasks.data import builtin
from attnlab.tasks.data.corpus import PARTS, Corpus
from attnlab.tasks.data.published import Published
from attnlab.tasks.data.readers import members, read_bytes
from attnlab.tasks.kinds import Progress
from attnlab.text.reading import RawText, is_hidden

MOST_HELD_OUT = 10_000_000  # bytes of validation, and of the test
_GZIP, _MARK = b"\x1f\x8b", b"\xef\xbb\xbf"
_EMPTY_LINE = re.compile(rb"\n[^\S\n]*\n")
_SUFFIXES = (".txt", ".md", ".txt.gz")


class Text(Corpus):
    """A UTF-8 text in three parts, which may be larger than memory; a subclass defines `read`."""

    parts: Mapping[str, RawText]  # type: ignore[assignment]

    @abstractmethod
    def read(self, place: Path) -> Mapping[str, RawText]:  # type: ignore[override]
        """Return the text of each part; see `Corpus.read`."""

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the files, and download missing ones; see `Corpus.open`."""
        self.parts = self.read(self.find(cache, progress))
        for part, text in self.parts.items():
            if not len(text):
                raise RequestError(f"data={self.name}: expected text in {part}, got none.")

    @property
    def has_documents_by_line(self) -> bool:
        """Whether each line is a document; otherwise empty lines end one.

        It is so if the start of train has no empty line between two others.
        """
        start = next(self.parts["train"].blocks())
        return not _EMPTY_LINE.search(start.strip())

    def digest(self) -> str:
        """Return a SHA-256 of the text of all parts."""
        state = hashlib.sha256()
        for part, text in self.parts.items():
            state.update(f"\0{part}\0".encode())
            for block in text.blocks():
                state.update(block)
        return state.hexdigest()


def by_position(text: RawText, validation: float, test: float) -> dict[str, RawText]:
    """Cut a text into train, validation and test by shares of its bytes, between characters."""
    size = len(text)
    ends = [round(size * (1 - validation - test)), round(size * (1 - test))]
    cuts = pairwise([0, *map(text.character_start, ends), size])
    return {part: text.cut(*cut) for part, cut in zip(PARTS, cuts, strict=True)}


@dataclass(kw_only=True, eq=False)
class Sentences(Text):
    """English sentences in which the verb agrees with its subject, a line each.

    They are the right sentences of the grammar of `data=agreement`, and train has none of its
    validation and test parts. So a run on this corpus can be the encoder of a classifier there.
    """

    sentences: int = 20_000

    name: ClassVar[str] = "sentences"
    origin: ClassVar[str] = "a grammar of this project, after Linzen et al. 2016 (arXiv 1611.01368)"
    license: ClassVar[str] = "Apache-2.0, as attnlab"

    def read(self, place: Path) -> dict[str, RawText]:  # type: ignore[override]  # noqa: D102
        parts = builtin.rows("sentences")
        parts = {**parts, "train": parts["train"][: self.sentences]}
        return {
            part: RawText("".join(f"{text}\n" for (text,) in rows).encode())
            for part, rows in parts.items()
        }


@dataclass(kw_only=True, eq=False)
class TextFiles(Text):
    """The user's text: a file, or the files *.txt, *.md and *.txt.gz below a folder, UTF-8.

    The parts follow each other: train, validation, test. Of a long text, at most 10 MB each are
    held out. A line break is between files. A file may be gzipped.
    """

    path: str | None = None
    validation: float = 0.05
    test: float = 0.05

    name: ClassVar[str] = "text"
    origin: ClassVar[str] = "your own texts"
    license: ClassVar[str] = "your own"
    needs: ClassVar[str] = "data.path=FILE.txt"

    def read(self, place: Path) -> dict[str, RawText]:  # type: ignore[override]  # noqa: D102
        files = [place]
        if place.is_dir():
            paths = (file for file in place.rglob("*") if file.name.endswith(_SUFFIXES))
            files = sorted(file for file in paths if not is_hidden(file.relative_to(place)))
        texts: list[RawText] = []
        for file in files:
            with explained(f"data.path: {file} can't be read"), open(file, "rb") as stream:
                start = stream.read(len(_MARK))
            is_gzip = start.startswith(_GZIP)
            text = RawText(read_bytes(file, "data.path") if is_gzip else file)
            text = text.cut(len(_MARK) if start == _MARK else 0, len(text))
            if texts and bytes(texts[-1].cut(len(texts[-1]) - 1, len(texts[-1]))) != b"\n":
                texts.append(RawText(b"\n"))
            texts += [text] if len(text) else []
        whole = RawText.join(texts)
        if not any(block.strip() for block in whole.blocks()):
            expected = "text" if place.is_file() else f"text in files {' or '.join(_SUFFIXES)}"
            raise RequestError(f"data.path: {place}: expected {expected}, got none.")
        if self.validation + self.test >= 1:
            raise RequestError(
                "data.validation + data.test: expected a sum below 1, to leave text to train on, "
                f"got {self.validation:g} + {self.test:g}."
            )
        shares = [self.validation, self.test]
        if max(shares) * len(whole) > MOST_HELD_OUT:
            shares = [min(share, MOST_HELD_OUT / len(whole)) for share in shares]
            self.note(f"At most {MOST_HELD_OUT:,} bytes each are held out to validate and to test.")
        return by_position(whole, *shares)


@dataclass(kw_only=True, eq=False)
class Shakespeare(TextFiles):
    """1,115,394 characters of Shakespeare's plays, 65 different ones.

    With `split=nanogpt` the first 90 % are train and the rest is both validation and test, as in
    nanoGPT, where there is no test part.
    """

    url: str | None = None
    split: str = "three"

    name: ClassVar[str] = "shakespeare"
    origin: ClassVar[str] = "Karpathy 2015, github.com/karpathy/char-rnn"
    license: ClassVar[str] = "public domain"
    needs: ClassVar[str] = ""
    published: ClassVar[tuple[Published, ...]] = (
        Published(
            "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
            "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
        ),
    )

    def read(self, place: Path) -> dict[str, RawText]:  # type: ignore[override]  # noqa: D102
        if self.split == "three":
            return super().read(place)
        whole = RawText(place)
        end = int(len(whole) * 0.9)
        self.note("Validation and test are the same part, as in nanoGPT (data.split=nanogpt).")
        held_out = whole.cut(end, len(whole))
        return {"train": whole.cut(0, end), "validation": held_out, "test": held_out}


@dataclass(kw_only=True, eq=False)
class WikiText2(Text):
    """The tokenized articles of WikiText-2, with its own three parts.

    Words have spaces between them and rare ones are `<unk>`. The parts have 2,088,628, 217,646 and
    245,569 words, 33,278 different ones, if the end of each line counts as a word `<eos>`, as in
    published perplexities; with task.tokenizer=word the perplexity is that of these words.

    The URLs of both are the first author's copies; the SHA-256 of the archives are those of the
    first publication, which many public repositories record.
    """

    path: str | None = None
    url: str | None = None

    name: ClassVar[str] = "wikitext2"
    origin: ClassVar[str] = "Merity et al. 2016 (arXiv 1609.07843), from Wikipedia"
    license: ClassVar[str] = "CC BY-SA 3.0; name Wikipedia and Merity et al. 2016"
    published: ClassVar[tuple[Published, ...]] = (
        Published(
            "https://wikitext.smerity.com/wikitext-2-v1.zip",
            "92675f1d63015c1c8b51f1656a52d5bdbc33aafa60cc47a218a66e7ee817488c",
        ),
    )

    def read(self, place: Path) -> dict[str, RawText]:  # type: ignore[override]  # noqa: D102
        files = members(place, re.compile(r"(^|/)wiki\.(train|valid|test)\.tokens$"))
        texts = {match[2]: RawText(content) for match, content in files}
        if missing := [name for name in ("train", "valid", "test") if name not in texts]:
            raise RequestError(f"{place}: expected wiki.{missing[0]}.tokens in it, got none.")
        return {"train": texts["train"], "validation": texts["valid"], "test": texts["test"]}


class WikiText103(WikiText2):
    """The tokenized articles of WikiText-103; validation and test are those of WikiText-2.

    Train has 103,227,021 words, 267,735 different ones, with the ends of lines; 540 MB.
    """

    name: ClassVar[str] = "wikitext103"
    published: ClassVar[tuple[Published, ...]] = (
        Published(
            "https://wikitext.smerity.com/wikitext-103-v1.zip",
            "242ba0f20b329cfdf1ccc61e9e9e5b59becf189db7f7a81cd2a0e2fc31539590",
        ),
    )
