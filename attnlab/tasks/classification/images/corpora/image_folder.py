"""The user's own images: a file per image, a folder per class."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attnlab.errors import RequestError
from attnlab.tasks.classification.corpora.class_folders import find_files
from attnlab.tasks.classification.images.corpora.image_corpus import ImageCorpus, LabelledImage
from attnlab.tasks.classification.images.corpora.image_files import is_image_name, read_image_file
from attnlab.tasks.declaration import Progress
from attnlab.tasks.text_corpus import shown

_REPORT_EVERY = 64


@dataclass(kw_only=True, eq=False)
class ImageFolder(ImageCorpus):
    """Images in the user's own files: `path/CLASS/NAME.png`, in any format that Pillow reads.

    Parts may have folders of their own, `path/train/CLASS/NAME.png` and so on; a part without one
    is a share of train. Images are resized to `size` x `size` pixels; see `find_files` for the
    folders, `read_image_file` for the files.
    """

    name = "image_folder"
    origin = "your own images, a folder for each class"
    license = "yours"
    needs = "data.path=FOLDER"

    path: str | None = None
    size: int = 32
    grey: bool = False
    allow_empty: bool = False
    limit: int | None = None
    validation: float = 0.1
    test: float = 0.1

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape that the settings `size` and `grey` give."""
        return self.size, self.size, 1 if self.grey else 3

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Read the files; see `Corpus.open`."""
        if not self.path:
            raise RequestError("data.path: expected a folder with a folder per class, got null.")
        folder = Path(self.path).expanduser()
        found = find_files(
            folder, "data.path", "image", is_image_name, allow_empty=self.allow_empty
        )
        places = [(part, *each) for part in found.parts for each in found.by_turns(part)]
        parts: dict[str, list[LabelledImage]] = {part: [] for part in found.parts}
        several = 0  # images of several frames
        for done, (part, label, path) in enumerate(places, 1):
            pixels, frames = read_image_file(path, self.shape)
            several += frames > 1
            parts[part].append(LabelledImage(shown(path, folder), pixels, label))
            if progress and (done % _REPORT_EVERY == 0 or done == len(places)):
                progress(done, len(places), folder.name)
        self.notes = (*found.notes, *_about_frames(several))
        self.set_items(parts)


def _about_frames(count: int) -> list[str]:
    files = "1 file has" if count == 1 else f"{count:,} files have"
    return [f"{files} several images, of which the first is read."] if count else []
