"""The statistics of `attnlab data`: counts and lengths of each part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from attnlab.tasks.catalog import Row, corpus_catalog
from attnlab.tasks.classification.corpora.corpus import Corpus, Labelled
from attnlab.tasks.classification.corpora.division import class_names, divided
from attnlab.tasks.classification.images.corpora.image_corpus import ImageCorpus, LabelledImage
from attnlab.text.words import split_words

_LISTED = 30  # classes and groups with a line of their own


def describe(corpus: Corpus, seed: int) -> dict[str, dict[str, Any]]:
    """Return the numbers of each part of an opened corpus, as a run with this seed divides it.

    Raises:
        RequestError: the corpus can't be read or divided.
    """
    parts = divided(corpus, seed)
    classes = class_names(parts)
    if isinstance(corpus, ImageCorpus):
        return {part: _image_counts(images, classes) for part, images in parts.items()}
    known = {word for each in parts["train"] for word in split_words(each.text)}
    return {part: _counts(texts, classes, known) for part, texts in parts.items()}


def _counts(texts: Sequence[Labelled], classes: Sequence[str], known: set[str]) -> dict[str, Any]:
    words = [split_words(each.text) for each in texts]
    labels, groups = Counter(each.label for each in texts), Counter(each.group for each in texts)
    total = sum(map(len, words))
    unknown = sum(word not in known for each in words for word in each)
    return {
        "texts": len(texts),
        "words": total / len(texts),  # mean; words are those of `split_words`
        "longest": max(map(len, words)),
        "unknown": unknown / max(total, 1),  # share of words that aren't in train
        "classes": {label: labels[label] for label in classes},
        "groups": {group: groups[group] for group in sorted(groups) if group},
    }


def _image_counts(images: Sequence[LabelledImage], classes: Sequence[str]) -> dict[str, Any]:
    labels = Counter(each.label for each in images)
    return {
        "images": len(images),
        "pixels": " x ".join(map(str, images[0].pixels.shape)),
        "classes": {label: labels[label] for label in classes},
        "groups": {},
    }


def _lines(row: Row) -> Iterator[tuple[str, ...]]:
    parts = [*row["parts"].values()]
    yield row["items"], *(f"{part[row['items']]:,}" for part in parts)
    if row["items"] == "texts":
        yield "words, mean", *(f"{part['words']:,.2f}" for part in parts)
        yield "words, most", *(f"{part['longest']:,}" for part in parts)
        yield "words not in train", *(f"{100 * part['unknown']:.2f} %" for part in parts)
    else:
        yield "pixels", *(part["pixels"] for part in parts)
    for title, word in (("classes", "class"), ("groups", "group")):
        names = [*dict.fromkeys(name for part in parts for name in part[title])]
        for name in names[:_LISTED]:
            label = f"{word} {name}"
            yield label, *(f"{part[title].get(name, 0):,}" for part in parts)
        if len(names) > _LISTED:
            yield f"and {len(names) - _LISTED:,} more {title}", *("" for _ in parts)


CATALOG = corpus_catalog(Corpus, "with classes", describe, _lines)
