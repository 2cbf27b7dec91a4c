"""Anybody's images, a file each: a folder for each class."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from attnlab.errors import RequestError
from attnlab.tasks.base import Progress
from attnlab.tasks.classification.images.corpora.image_corpus import ImageCorpus, LabelledImage
from attnlab.tasks.classification.images.corpora.image_files import SUFFIXES, read_image
from attnlab.tasks.text_corpus import PARTS
from attnlab.text.reading import is_hidden, is_utf8

_REPORT_EVERY = 64
_OTHER_IMAGES = (".avif", ".bmp", ".gif", ".heic", ".tif", ".tiff", ".webp")

log = logging.getLogger("attnlab")


@dataclass(kw_only=True, eq=False)
class ImageFolder(ImageCorpus):
    """Images in the user's own files: `path/CLASS/NAME.png`, also .jpg and .jpeg.

    Where `path` has a folder `train`, parts lie in folders of their own: `train/CLASS/NAME.png` and
    so on for `test` and `validation`; a part that has none is a share of train. Images are resized
    to `size` x `size` pixels; see `read_image`.
    """

    name = "image_folder"
    origin = "your own images, a folder for each class"
    license = "yours"
    needs = "data.path=FOLDER"

    path: str | None = None
    size: int = 32
    grey: bool = False
    limit: int | None = None
    validation: float = 0.1
    test: float = 0.1

    @property
    def shape(self) -> tuple[int, int, int]:
        """As the settings have it."""
        return self.size, self.size, 1 if self.grey else 3

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Read the files; see `Corpus.open`."""
        folder = Path(self.path).expanduser() if self.path else None
        if not (folder and folder.is_dir()):
            raise RequestError(
                f"data.path: expected a folder with one for each class, got {self.path or 'null'}."
            )
        files = {part: _files(place) for part, place in _parts(folder).items()}
        for part, classes in files.items():
            if not classes:
                where = folder / part if (folder / "train").is_dir() else folder
                raise RequestError(
                    "data.path: expected a folder for each class with .png or .jpg files, got "
                    f"{where}, which has none."
                )
        parts: dict[str, list[LabelledImage]] = {part: [] for part in files}
        places = [(part, *each) for part in files for each in _by_turns(files[part])]
        for done, (part, label, path) in enumerate(places, 1):
            name = path.relative_to(folder).as_posix()
            if not is_utf8(name):
                raise RequestError(f"data.path: expected names of files in UTF-8, got {name!a}.")
            parts[part].append(LabelledImage(name, read_image(path, self.shape), label))
            if progress and (done % _REPORT_EVERY == 0 or done == len(places)):
                progress(done, len(places), folder.name)
        self.set_items(parts)


def _by_turns(classes: Mapping[str, list[Path]]) -> Iterator[tuple[str, Path]]:
    """An image of each class, then the next of each: the first ones are of all classes."""
    columns = [[(label, path) for path in paths] for label, paths in classes.items()]
    for row in itertools.zip_longest(*columns):
        yield from filter(None, row)


def _parts(folder: Path) -> dict[str, Path]:
    """Where each part lies that has a folder of its own; else all of them in one."""
    if not (folder / "train").is_dir():
        return {"train": folder}
    return {part: folder / part for part in PARTS if (folder / part).is_dir()}


def _files(folder: Path) -> dict[str, list[Path]]:
    """The images of each class, in the order of their names; none that are hidden."""
    found, others = {}, list[Path]()
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        seen = [
            path for path in sorted(place.rglob("*")) if not is_hidden(path.relative_to(folder))
        ]
        files = [path for path in seen if path.suffix.lower() in SUFFIXES and path.is_file()]
        others += [path for path in seen if path.suffix.lower() in _OTHER_IMAGES]
        if files:
            found[place.name] = files
    if others:
        log.warning(
            "data.path: %d images that are neither .png nor .jpg are left out, such as %s",
            len(others),
            others[0].relative_to(folder),
        )
    return found
