"""Find the files of each class, and of each part, in a folder of folders."""

from __future__ import annotations

import itertools
import os
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from attnlab.errors import RequestError
from attnlab.tasks.text_corpus import PARTS, left_out, listed, shown
from attnlab.text.reading import is_hidden, is_utf8

# Names of a part's folder, in lower case, without separators and without a last word such as `set`.
_PART_NAMES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev", "development"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}
_LAST_WORD = re.compile(r"(?<=.)(set|data|split)$")
# A word in a longer name that indicates a part: `train_images`, `testA`.
_PART_WORD = re.compile(
    r"(?<![a-z])(train(?:ing|val)?|val(?:id|idation)?|dev|test(?:ing)?)(?![a-z])"
)
# Folders of a segmentation data set, with images and their masks, which aren't classes.
_IMAGES = re.compile(r"(ima?ge?s?|pictures?|photos?|inputs?)")
_MARKED = re.compile(r"(masks?|labels?|annotations?|segmentations?|ground_?truths?|gt)")
_EXPECTED = "FOLDER/CLASS/FILE, or FOLDER/train/CLASS/FILE with validation and test like train"


@dataclass(frozen=True)
class ClassFiles:
    """The files of a folder by part and class, and notes on the files left out."""

    parts: Mapping[str, Mapping[str, Sequence[Path]]]
    notes: tuple[str, ...]
    is_divided: bool  # whether the folder contains folders of parts

    def by_turns(self, part: str) -> Iterator[tuple[str, Path]]:
        """Yield (class, file): the first file of each class, then the second of each, and so on."""
        columns = [[(label, path) for path in own] for label, own in self.parts[part].items()]
        for row in itertools.zip_longest(*columns):
            yield from filter(None, row)


def find_files(
    folder: Path, key: str, noun: str, is_usable: Callable[[str], bool], *, allow_empty: bool
) -> ClassFiles:
    """Find the files of each part and class below a folder, following links.

    A folder named like a part (see `part_of`) is a part if it contains folders with files. Without
    such a folder, all files belong to `train`.

    Args:
        folder: the path that the user gave.
        key: the setting that names the folder, for messages.
        noun: what a file is, such as `image` or `text`, for messages.
        is_usable: whether a file is one, by its name.
        allow_empty: leave out folders without a usable file; otherwise they are refused.

    Raises:
        RequestError: there is no such folder, it contains no class, or it isn't clear which folders
            are parts and which are classes.
    """
    if not folder.is_dir():
        what = "is a file; unpack an archive first" if folder.is_file() else "doesn't exist"
        raise RequestError(f"{key}={folder}: {what}. Expected {_EXPECTED}.")
    return _Reader(folder, key, noun, is_usable, allow_empty).read()


def part_of(name: str) -> str | None:
    """Return the part that a folder's name means, in any case; None for other names.

    For example `Train`, `training_set`, `val`, `dev`, `Test data`.
    """
    word = re.sub(r"[\s_.-]", "", name.casefold())
    return _PART_NAMES.get(_LAST_WORD.sub("", word))


def _like_parts(names: Iterable[str]) -> list[str]:
    """Return names that differ only in the word for a part: `train_images`, `test_images`."""
    words: defaultdict[str, dict[str, str]] = defaultdict(dict)  # rest of the name -> name -> word
    for name in names:
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
        if match := _PART_WORD.search(spaced):
            rest = re.sub(r"[\W\d_]", "", spaced.replace(match[1], "", 1))
            words["" if part_of(name) else rest][name] = match[1]
    alone = words[""]
    groups = [alone | own for own in words.values()]
    return [name for own in groups if len({*own.values()}) > 1 for name in own]


@dataclass(eq=False)
class _Tree:
    """A folder and everything below it."""

    path: Path
    folders: dict[str, _Tree] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)  # usable files directly in it
    others: list[Path] = field(default_factory=list)

    def all_files(self) -> Iterator[Path]:
        yield from self.files
        for folder in self.folders.values():
            yield from folder.all_files()

    def all_others(self) -> Iterator[Path]:
        yield from self.others
        for folder in self.folders.values():
            yield from folder.all_others()

    def inner(self) -> Counter[str]:
        """Count the usable files in folders below this one, by the name of their folder."""
        found: Counter[str] = Counter()
        for name, folder in self.folders.items():
            found[name.casefold()] += len(folder.files)
            found += folder.inner()
        return +found

    @property
    def is_empty(self) -> bool:
        return next(self.all_files(), None) is None


@dataclass
class _Reader:
    folder: Path
    key: str
    noun: str
    is_usable: Callable[[str], bool]
    allow_empty: bool

    def read(self) -> ClassFiles:
        root = self._scan(self.folder, ())
        places = self._parts(root)
        is_divided = root not in places.values()
        empty = self._empty(root, places)
        parts = {part: self._classes(tree) for part, tree in places.items() if not tree.is_empty}
        loose = [
            *(root.files if is_divided else ()),
            *(f for t in places.values() for f in t.files),
        ]
        notes = [
            *(self._about_parts(places) if is_divided else ()),
            *self._about_empty(empty),
            *left_out([*root.all_others()], self.folder, self.noun),
            *self._about_loose(loose),
            *_about_inner(places["train"]),
        ]
        return ClassFiles(parts, tuple(notes), is_divided)

    def _scan(self, path: Path, above: tuple[tuple[int, int], ...]) -> _Tree:
        tree = _Tree(path)
        try:
            status = path.stat()
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except OSError as error:
            raise self._refused(f"{path} can't be read ({error.strerror})") from error
        here = (status.st_dev, status.st_ino)
        if here in above:  # a link to a folder that contains it
            return tree
        for entry in entries:
            if is_hidden(PurePath(entry.name)):
                continue
            if entry.is_dir():
                tree.folders[entry.name] = self._scan(path / entry.name, (*above, here))
            elif entry.is_file() or entry.is_symlink():  # no pipes; reading reports a broken link
                usable = self.is_usable(entry.name)
                (tree.files if usable else tree.others).append(path / entry.name)
        return tree

    def _parts(self, root: _Tree) -> dict[str, _Tree]:
        """Return the folder of each part; only `train` if there are no folders of parts."""
        filled = {name: tree for name, tree in root.folders.items() if not tree.is_empty}
        named = {name: part for name in filled if (part := part_of(name))}
        parts = {name: part for name, part in named.items() if filled[name].inner()}
        classes = [name for name in filled if name not in parts]
        if not parts:
            flat = [*named]
            if len(flat) > 1 or (flat and len(filled) == 1):
                raise self._refused(
                    f"{listed(flat)} in {root.path} could be parts or classes: they hold "
                    f"{self.noun}s, not a folder for each class"
                )
            if alike := _like_parts(filled):
                raise self._refused(
                    f"{listed(alike)} in {root.path} could be parts or classes: rename them to "
                    "train, validation and test, with a folder for each class, if they are parts"
                )
            return {"train": root}
        if flat := [name for name in classes if name in named]:
            raise self._refused(
                f"{root.path} has folders of parts ({listed(parts)}), but {listed(flat)} has no "
                f"folder for each class, only {self.noun}s: move it away, or sort them"
            )
        if classes:
            raise self._refused(
                f"{root.path} has folders of parts ({listed(parts)}) and others with "
                f"{self.noun}s ({listed(classes)}), which are not named like a part: "
                "rename them or move them away"
            )
        for part in parts.values():
            if len(same := [name for name, other in parts.items() if other == part]) > 1:
                raise self._refused(f"{root.path} has several folders for {part}: {listed(same)}")
        if "train" not in parts.values():
            raise self._refused(f"{root.path} has {listed(parts)}, but no folder train")
        return {part: _unwrapped(filled[name], part) for name, part in parts.items()}

    def _empty(self, root: _Tree, places: Mapping[str, _Tree]) -> list[str]:
        """Return folders without a usable file; refuse them for classes unless allowed.

        Folders next to those of parts, such as `annotations`, may be empty.
        """
        is_divided = root not in places.values()
        beside = [*root.folders.values()]
        trees = [tree for tree in beside if not is_divided or part_of(tree.path.name)]
        trees += [each for tree in places.values() if is_divided for each in tree.folders.values()]
        found = [_with_content(tree, self.folder) for tree in trees if tree.is_empty]
        if all(tree.is_empty for tree in places.values()):
            raise self._refused(f"{root.path} has no folder with {self.noun}s{_but(root)}")
        if found and not self.allow_empty:
            raise RequestError(
                f"{self.key}: no {self.noun} that can be read in {listed(found)} of "
                f"{root.path}: data.allow_empty=true leaves such folders out."
            )
        aside = [tree for tree in beside if tree.is_empty and tree not in trees]
        return found + [_with_content(tree, self.folder) for tree in aside]

    def _classes(self, tree: _Tree) -> dict[str, list[Path]]:
        filled = {name: each for name, each in tree.folders.items() if not each.is_empty}
        self._require_classes(tree, filled)
        found: defaultdict[str, list[Path]] = defaultdict(list)
        for name, each in filled.items():
            if not is_utf8(name):
                raise RequestError(
                    f"{self.key}: expected names of classes in UTF-8, got "
                    f"{shown(each.path, self.folder)}: rename the folder."
                )
            found[unicodedata.normalize("NFC", name)] += each.all_files()
        return dict(sorted(found.items()))

    def _require_classes(self, tree: _Tree, filled: Mapping[str, _Tree]) -> None:
        """Refuse folders that don't look like classes, such as those with equal inner folders."""
        if not filled:
            raise self._refused(
                f"{tree.path} has {len(tree.files):,} {self.noun}s, but no folders with them"
            )
        names = [name.casefold() for name in filled]
        if any(map(_IMAGES.fullmatch, names)) and any(map(_MARKED.fullmatch, names)):
            raise self._refused(
                f"the folders {listed(filled)} in {tree.path} look like images with their masks, "
                "not like classes"
            )
        inner = {name: each.inner() for name, each in filled.items()}
        direct = sum(len(each.files) for each in filled.values())
        if len(filled) == 1:
            ((name, only),) = filled.items()
            if not direct:
                raise self._refused(
                    f"the only folder in {tree.path} is {name!r}, which has the folders "
                    f"{listed(only.folders)}: {self.key}={tree.path / name} may be the right one"
                )
            return
        common = set.intersection(*map(set, inner.values()))
        nested = sum(names[name] for names in inner.values() for name in common)
        if any(len(names) > 1 for names in inner.values()) and nested > direct:
            raise self._refused(
                f"the folders {listed(filled)} in {tree.path} all have the folders "
                f"{listed(sorted(common))}, so they don't look like classes, and their names are "
                "not those of parts"
            )
        for name, each in filled.items():
            parts = [own for own, below in each.folders.items() if part_of(own) and below.inner()]
            if len({*map(part_of, parts)}) > 1:
                raise self._refused(
                    f"{each.path} has folders of parts ({listed(parts)}), so {name!r} doesn't look "
                    f"like a class: {self.key}={each.path} may be the right one"
                )

    def _refused(self, what: str) -> RequestError:
        return RequestError(f"{self.key}: {what}. Expected {_EXPECTED}.")

    def _about_parts(self, places: Mapping[str, _Tree]) -> Iterator[str]:
        found = [f"{part} from {places[part].path.name}" for part in PARTS if part in places]
        missing = [part for part in PARTS if part not in places]
        rest = f"; {' and '.join(missing)} from shares of train" if missing else ""
        yield f"Parts of {self.folder.name}: {', '.join(found)}{rest}."

    def _about_empty(self, empty: Sequence[str]) -> Iterator[str]:
        if empty:
            yield f"Folders without {self.noun}s are left out: {listed(empty)}."

    def _about_loose(self, loose: Sequence[Path]) -> Iterator[str]:
        if loose:
            yield (
                f"{len(loose):,} {self.noun}{'s are' if len(loose) > 1 else ' is'} in no "
                f"class's folder and left out, such as {shown(loose[0], self.folder)}."
            )


def _unwrapped(tree: _Tree, part: str) -> _Tree:
    """Return the inner folder of a part that is nested: `test_set/test_set/CLASS`."""
    while not tree.files:
        filled = [each for each in tree.folders.values() if not each.is_empty]
        if len(filled) != 1 or part_of(filled[0].path.name) != part or not filled[0].inner():
            break
        (tree,) = filled
    return tree


def _about_inner(tree: _Tree) -> Iterator[str]:
    """Yield a note on folders inside classes that might have been meant as classes."""
    inner = [
        f"{name} ({listed(each.folders)})"
        for name, each in tree.folders.items()
        if sum(not below.is_empty for below in each.folders.values()) > 1
    ]
    if inner:
        yield f"Folders in a class's folder count as that class: {listed(inner)}."


def _with_content(tree: _Tree, folder: Path) -> str:
    """Describe a folder without usable files by the extensions of its other files."""
    kinds = sorted({path.suffix.lower() or path.name for path in tree.all_others()})
    return f"{shown(tree.path, folder)} ({listed(kinds) if kinds else 'empty'})"


def _but(root: _Tree) -> str:
    kinds = sorted({path.suffix.lower() or path.name for path in root.all_others()})
    return f", only {listed(kinds)}" if kinds else ""
