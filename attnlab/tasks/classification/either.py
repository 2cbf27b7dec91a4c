"""Texts or images: what the kind states once, by the task that a run has."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attnlab.config.options import option_class

if TYPE_CHECKING:
    import keras

    from attnlab.config.sections import RunConfig
    from attnlab.tasks.base import Learner


def make_learner(config: RunConfig, task: Any, model: keras.Model) -> Learner:
    """What learns a task; see `Learner`."""
    from attnlab.tasks.classification.images.task import Images

    if isinstance(task, Images):
        from attnlab.tasks.classification.images.learner import ImageLearner

        return ImageLearner(config, task, model)
    from attnlab.tasks.classification.learner import ClassificationLearner

    return ClassificationLearner(config, task, model)


def served_example(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """An input and an output of the model that MLflow serves, by a run's configuration."""
    from attnlab.tasks.classification import task as texts
    from attnlab.tasks.classification.images import task as images

    kind = images if has_images(document["task"]["name"]) else texts
    return kind.served_example(document)


def has_images(task: str) -> bool:
    """Whether a task of this kind, by its name, is one of images."""
    from attnlab.tasks.classification.images.task import Images

    return issubclass(option_class("task", task), Images)


def has_texts(task: str) -> bool:
    """Whether a task of this kind, by its name, is one of texts."""
    return not has_images(task)


def is_named_as_image(text: str) -> bool:
    """Whether a word of a command ends as the name of an image does."""
    return (mimetypes.guess_type(text)[0] or "").startswith("image/")
