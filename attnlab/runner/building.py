"""From a checked configuration to its task, its model and its learner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.config.options import option_class
from attnlab.config.sections import Option, RunConfig
from attnlab.errors import RequestError
from attnlab.tasks.base import Learner, Task
from attnlab.tasks.declaration import load
from attnlab.tasks.kinds import kind_of
from attnlab.training.tensorflow_internals import forget_gradients, import_tensorflow

if TYPE_CHECKING:
    import keras


def make_task(config: RunConfig) -> Task:
    """Return the task of a configuration, without its data; needs no TensorFlow.

    Raises `RequestError` if there is no such task or corpus, or the settings don't fit it.
    """
    if not kind_of(config.task.name).takes_corpus:
        task = _construct("task", config.task)
        task.cache = Path(config.paths.data)
        return task
    if config.data is None:
        raise RequestError(f"data: expected a corpus, which task={config.task.name} needs.")
    corpus = _construct("data", config.data)
    return _construct("task", config.task, corpus=corpus, cache=Path(config.paths.data))


def check_model(config: RunConfig, task: Task) -> None:
    """Check that the model's parts fit together, before data are read; see `Task.check`.

    Without a corpus only a Transformer is checked: its positions don't fit every mechanism, and the
    settings of an RNN have rules. So a wrong file is reported without waiting for TensorFlow.

    Raises:
        RequestError: the parts don't fit; the message is that of `Task.build`.
    """
    if not task.kind.takes_corpus and config.model.name != "transformer":
        return
    import_tensorflow()
    from attnlab.training.keras_internals import shapes_alone

    with shapes_alone():
        task.check(partial(_construct, "attention", config.attention), config.model)


def check_devices(config: RunConfig, *, resumed: bool = False) -> None:
    """Check that the machine has the run's devices, before TensorFlow computes.

    A new run on several devices can't ask for XLA; a resumed one may have trained with it.

    Raises:
        RequestError: it hasn't, or the settings don't fit several devices.
    """
    trainer = config.trainer
    if trainer.devices == 1:
        return
    if trainer.jit is True and not resumed:
        raise RequestError(
            f"trainer.devices={trainer.devices}: XLA computes on one device: leave "
            "trainer.jit=true out, or use trainer.devices=1."
        )
    import_tensorflow()
    from attnlab.training.devices import devices_for

    devices_for(trainer)


def make_model(config: RunConfig, task: Task) -> keras.Model:
    """Return the model with initial weights; Keras's global state doesn't change."""
    import_tensorflow()
    import keras

    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(config.trainer.precision)
    try:
        model = config.model
        return task.build(partial(_construct, "attention", config.attention), model)
    finally:
        keras.config.set_dtype_policy(before)


def make_learner(config: RunConfig, task: Task) -> Learner:
    """Return the learner of the task's kind with a new model; the task's data are loaded."""
    return load(task.kind.models.learner)(config, task, make_model(config, task))


@contextmanager
def memory_errors_explained(config: RunConfig) -> Iterator[None]:
    """Turn TensorFlow's error about memory in the body into a `RequestError`."""
    try:
        yield
    except RequestError:
        raise
    except Exception as error:
        from tensorflow.errors import ResourceExhaustedError

        if not isinstance(error, ResourceExhaustedError):
            raise
        raise RequestError(
            f"trainer.batch_size={config.trainer.batch_size}: the device is out of memory: use a "
            "smaller batch, with a larger trainer.accumulate for the same result, or a smaller "
            "model."
        ) from error


def start_afresh(seed: int) -> None:
    """Make results depend on the seed alone, not on what this process did before.

    Clears Keras's session and makes TensorFlow deterministic, which suits only processes of this
    project. Programs that were compiled earlier still work.
    """
    import_tensorflow()
    import keras
    import tensorflow as tf

    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()
    forget_gradients()


def _construct(group: str, option: Option, **parts: Any) -> Any:
    try:
        return option_class(group, option.name)(**option.settings, **parts)
    except TypeError as error:
        raise RequestError(f"{group}={option.name}: {error}.") from error
