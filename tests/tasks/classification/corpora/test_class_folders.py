"""Folders of classes, with and without parts, and each mistake in them."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from attnlab.errors import RequestError
from attnlab.tasks.classification.corpora.class_folders import find_files, part_of
from attnlab.text.reading import is_text_name

TEXTS = ("text", is_text_name)


def made(folder: Path, names: str) -> Path:
    """A folder with these files; a name that ends in `/` is an empty folder."""
    for name in names.split():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        else:
            (folder / name).write_text(name)
    return folder


def found_in(folder: Path, allow_empty: bool = False) -> dict[str, dict[str, list[str]]]:
    found = find_files(folder, "data.path", *TEXTS, allow_empty=allow_empty)
    return {
        part: {label: [path.name for path in paths] for label, paths in classes.items()}
        for part, classes in found.parts.items()
    }


def notes_of(folder: Path) -> list[str]:
    return [*find_files(folder, "data.path", *TEXTS, allow_empty=True).notes]


@pytest.mark.parametrize(
    ("train", "validation", "test"),
    [
        ("train", "val", "test"),
        ("Train", "VALID", "Test"),
        ("training_set", "dev-set", "test_set"),
        ("TRAINING", "Validation", "testing"),
        ("train data", "development split", "Test.set"),
    ],
)
def test_folders_of_parts_are_known_by_their_names(tmp_path, train, validation, test):
    for part in (train, validation, test):
        for label in ("cat", "dog"):
            made(tmp_path / part / label, f"{part[:2]}.txt")
    expected = {"train": train, "validation": validation, "test": test}
    assert found_in(tmp_path) == {
        part: dict.fromkeys(("cat", "dog"), [f"{name[:2]}.txt"]) for part, name in expected.items()
    }
    assert notes_of(tmp_path)[0].startswith(f"Parts of {tmp_path.name}: ")


@pytest.mark.parametrize("name", ["set", "trainer", "contest", "train2", "value", "latest", ""])
def test_other_folder_names_are_not_parts(name):
    assert part_of(name) is None


def test_a_class_may_be_named_like_a_part(tmp_path):
    folder = made(tmp_path, "train/1.txt plane/2.txt car/3.txt")
    assert found_in(folder) == {"train": {"car": ["3.txt"], "plane": ["2.txt"], "train": ["1.txt"]}}


def test_parts_may_be_missing_and_classes_may_have_folders(tmp_path):
    folder = made(tmp_path, "Train/a/x/1.txt Train/a/y/2.txt Train/b/x/3.txt Train/b/0.txt")
    made(folder, "Train/b/4.txt notes/about.json")
    assert found_in(folder) == {
        "train": {"a": ["1.txt", "2.txt"], "b": ["0.txt", "4.txt", "3.txt"]}
    }


def test_folders_that_differ_in_more_than_a_part_are_classes(tmp_path):
    folder = made(tmp_path, "test_tube/1.txt train_station/2.txt bird/owl/3.txt bird/hen/4.txt")
    assert [*found_in(folder)["train"]] == ["bird", "test_tube", "train_station"]
    assert notes_of(folder) == ["Folders in a class's folder count as that class: bird (hen, owl)."]


def test_a_part_may_have_a_folder_of_its_own_name_around_it(tmp_path):
    made(tmp_path, "test_set/test_set/a/3.txt test_set/test_set/b/4.txt")
    folder = made(tmp_path, "training_set/training_set/a/1.txt training_set/training_set/b/2.txt")
    assert found_in(folder) == {
        "train": {"a": ["1.txt"], "b": ["2.txt"]},
        "test": {"a": ["3.txt"], "b": ["4.txt"]},
    }


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            "fold1/a/1 fold1/b/1 fold2/a/1 fold2/b/1",
            "the folders fold1, fold2 in .* all have .*a, b",
        ),
        ("fold1/a/1 fold1/b/1 fold2/a/1", "the folders fold1, fold2 in .* all have the folders a,"),
        ("a/train/1 a/test/1 b/train/1 b/test/1", "the folders a, b .* all have .* test, train,"),
        ("s_tr/s_tr/a/1 s_tr/s_tr/b/1 s_te/s_te/a/1 s_te/s_te/b/1", "s_te, s_tr .* folders a, b,"),
        (
            "train/f1/a/1 train/f1/b/1 train/f2/a/1 train/f2/b/1",
            "the folders f1, f2 in .*train all",
        ),
        (
            "data/train/a/1 data/test/a/1",
            "the only folder in .* is 'data', .*data.path=.*/data may",
        ),
        ("data/a/1 data/b/1", "the only folder in .* is 'data', which has the folders a, b:"),
        ("train/a/1 train/b/1 car/1", r"folders of parts \(train\) and others with texts \(car\)"),
        ("train/a/1 train/b/1 test/1", r"parts \(train\), but test has no folder for each class"),
        ("train/1 test/1", "test, train in .* could be parts or classes: they hold texts"),
        ("train/1 test/1 car/1", "test, train in .* could be parts or classes"),
        ("train/1", "train in .* could be parts or classes"),
        ("train_images/1 test_images/1", "test_images, train_images .* could be parts or classes"),
        ("trainA/1 trainB/1 testA/1 testB/1", "could be parts or classes"),
        ("trainval/1 test/1", "test, trainval in .* could be parts or classes"),
        ("train_im/a/1 train_im/b/1 test_im/1", "test_im, train_im in .* could be parts or"),
        ("data/train/a/1 data/test/a/1 notes/1", "'data' doesn't look like a class: .*/data may"),
        ("images/1 masks/1", "the folders images, masks in .* look like images with their masks"),
        ("train/img/1 train/Labels/1 test/img/1", "folders Labels, img in .*train look like im"),
        ("train/a/1 Train/b/1", "has several folders for train: Train, train"),
        ("train/a/1 val/a/1 dev/b/1", "has several folders for validation: dev, val"),
        ("test/a/1 test/b/1", "has test, but no folder train"),
        ("1.txt 2.txt", "has 2 texts, but no folders with them"),
        ("a/1.gif b/", "has no folder with texts, only .gif"),
        ("x/", "has no folder with texts"),
    ],
)
def test_a_folder_without_classes_is_refused_with_its_content(tmp_path, names, message):
    with pytest.raises(
        RequestError, match=rf"^data\.path: .*{message}.*Expected FOLDER/CLASS/FILE"
    ):
        found_in(made(tmp_path, names))


def test_a_folder_without_a_usable_file_is_named_and_refused_unless_that_is_allowed(tmp_path):
    folder = made(tmp_path, "a/1.txt b/2.txt c/3.png c/3.PNG d/ .e/ val/")
    with pytest.raises(
        RequestError, match=r"c \(\.png\), d \(empty\), val \(empty\) .*allow_empty="
    ):
        found_in(folder)
    assert found_in(folder, allow_empty=True) == {"train": {"a": ["1.txt"], "b": ["2.txt"]}}
    assert notes_of(folder) == [
        "Folders without texts are left out: c (.png), d (empty), val (empty).",
        "Files not named like texts are left out: .png (2), such as c/3.PNG.",
    ]
    divided = made(tmp_path / "divided", "train/a/1 train/b/1 train/c/x.pdf val/")
    with pytest.raises(RequestError, match=r"in val \(empty\), train/c \(\.pdf\) of"):
        found_in(divided)


def test_left_out_files_are_counted_except_system_files(tmp_path):
    hidden = "a/.DS_Store a/Thumbs.db b/desktop.ini __MACOSX/a/1.txt .git/x/1.txt b/._2.txt"
    hidden += " lost+found/ train/__pycache__/"
    folder = made(tmp_path, f"train/a/1.txt train/b/2.txt {hidden} b/ a/")
    assert notes_of(folder)[1:] == ["Folders without texts are left out: a (empty), b (empty)."]
    made(folder, "README.md train/urls.txt train/a/x.html train/b/y.json train/b/z.json")
    assert notes_of(folder)[2:] == [
        "Files not named like texts are left out: .json (2), .html (1), such as train/a/x.html.",
        "2 texts are in no class's folder and left out, such as README.md.",
    ]


def test_links_are_followed_and_a_loop_ends(tmp_path):
    folder = made(tmp_path / "data", "a/1.txt")
    made(tmp_path / "elsewhere", "deep/2.txt")
    (folder / "b").symlink_to(tmp_path / "elsewhere")
    (folder / "b/again").symlink_to(folder / "b")
    (folder / "a/gone.txt").symlink_to(tmp_path / "nowhere")  # is named when it is read
    os.mkfifo(folder / "a/pipe.txt")
    assert found_in(folder) == {"train": {"a": ["1.txt", "gone.txt"], "b": ["2.txt"]}}


def test_names_of_classes_may_have_spaces_umlauts_and_another_case(tmp_path):
    for label in ("two words", unicodedata.normalize("NFD", "Größe"), "Cat", "cat"):
        made(tmp_path / label, "1.txt")
    assert [*found_in(tmp_path)["train"]] == ["Cat", "Größe", "cat", "two words"]


def test_an_archive_must_be_unpacked(tmp_path):
    archive = tmp_path / "images.zip"
    archive.write_bytes(b"PK")
    with pytest.raises(RequestError, match=r"images\.zip: is a file; unpack an archive first"):
        found_in(archive)


@pytest.mark.parametrize(
    "name", ["a.txt", "A.TXT", "b.md", "c.text", "53068", "msg.17", "1.0a1b2c3d4e5"]
)
def test_names_of_text_files(name):
    assert is_text_name(name)


@pytest.mark.parametrize("name", ["a.html", "b.PDF", "c.json", "d.feat", "e.py"])
def test_names_of_other_files(name):
    assert not is_text_name(name)
