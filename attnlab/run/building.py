"""From a checked configuration to its task and its model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.config.options import option_class
from attnlab.config.sections import Option, RunConfig
from attnlab.errors import RequestError
from attnlab.run.profile import spent
from attnlab.tasks.base import Task
from attnlab.tasks.kinds import kind_of
from attnlab.training import importing

if TYPE_CHECKING:
    import keras


def make_task(config: RunConfig) -> Task:
    """The task of a configuration, without its data. Needs no TensorFlow.

    Raises `RequestError` where there is no such task or corpus here, or the settings don't fit it.
    """
    if not kind_of(config.task.name).data.takes_corpus:
        task = _construct("task", config.option("task"))
        task.cache = Path(config.paths.data)
        return task
    if config.data is None:
        raise RequestError(f"data: expected a corpus, which task={config.task.name} needs.")
    corpus = _construct("data", config.option("data"))
    return _construct("task", config.option("task"), corpus=corpus, cache=Path(config.paths.data))


def check_model(config: RunConfig, task: Task) -> None:
    """Refuse a model whose parts don't fit together before a corpus is read; see `Task.check`.

    Raises:
        RequestError: as of `Task.build`.
    """
    if not task.kind.data.takes_corpus:
        return
    import_tensorflow()
    from attnlab.training.keras_internals import shapes_alone

    with shapes_alone():
        task.check(lambda: _construct("attention", config.attention), config.option("model"))


def make_model(config: RunConfig, task: Task) -> keras.Model:
    """The model of a configuration, with initial weights; Keras's global state stays as it is."""
    import_tensorflow()
    import keras

    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(config.trainer.precision)
    try:
        model = config.option("model")
        return task.build(lambda: _construct("attention", config.attention), model)
    finally:
        keras.config.set_dtype_policy(before)


def counted_model(config: RunConfig, task: Task) -> keras.Model:
    """The model without its weights' values, which take no memory: for its shapes."""
    import_tensorflow()
    from attnlab.training.keras_internals import shapes_alone

    with shapes_alone():
        return make_model(config, task)


def start_afresh(seed: int) -> None:
    """Make results depend on the seed alone, not on what this process did before.

    For a process of our own: it clears Keras's session and makes TensorFlow deterministic. What
    was compiled before goes on working.
    """
    import_tensorflow()
    import keras
    import tensorflow as tf

    from attnlab.training.tensorflow_internals import forget_gradients

    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()
    forget_gradients()


@spent("imports")
def import_tensorflow() -> None:
    """Import TensorFlow, without its notices; see `attnlab.training.importing`."""
    importing.import_tensorflow()


def _construct(group: str, option: Option, **parts: Any) -> Any:
    try:
        return option_class(group, option.name)(**option.settings, **parts)
    except TypeError as error:
        raise RequestError(f"{group}={option.name}: {error}.") from error
