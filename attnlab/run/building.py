"""From a checked configuration to its task and its model, and whether they fit into memory."""

from __future__ import annotations

import math
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlab.config.options import option_class
from attnlab.config.rules import lookup
from attnlab.config.sections import Option, RunConfig
from attnlab.errors import RequestError
from attnlab.run.command import spent
from attnlab.tasks.base import Learner, Task, TaskData
from attnlab.tasks.declaration import load
from attnlab.tasks.kinds import kind_of
from attnlab.training import tensorflow_internals

if TYPE_CHECKING:
    import keras


def make_task(config: RunConfig) -> Task:
    """Return the task of a configuration, without its data; needs no TensorFlow.

    Raises `RequestError` if there is no such task or corpus, or the settings don't fit it.
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
    """Check that the model's parts fit together, before data are read; see `Task.check`.

    Without a corpus only a Transformer is checked: its positions don't fit every mechanism, and the
    settings of an RNN have rules. So a wrong file is reported without waiting for TensorFlow.

    Raises:
        RequestError: the parts don't fit; the message is that of `Task.build`.
    """
    if not task.kind.data.takes_corpus and config.model.name != "transformer":
        return
    import_tensorflow()
    from attnlab.training.keras_internals import shapes_alone

    with shapes_alone():
        task.check(partial(_construct, "attention", config.attention), config.option("model"))


def check_devices(config: RunConfig, *, resumed: bool = False) -> None:
    """Check that the machine has the run's devices, before TensorFlow computes.

    A new run on several devices can't ask for XLA; a resumed one may have trained with it.

    Raises:
        RequestError: it hasn't, or the settings don't fit several devices.
    """
    if config.trainer.devices != 1:
        import_tensorflow()
        from attnlab.training import devices

        check = devices.devices_for if resumed else devices.check_devices
        check(config.trainer)


def make_model(config: RunConfig, task: Task) -> keras.Model:
    """Return the model with initial weights; Keras's global state doesn't change."""
    import_tensorflow()
    import keras

    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(config.trainer.precision)
    try:
        model = config.option("model")
        return task.build(partial(_construct, "attention", config.attention), model)
    finally:
        keras.config.set_dtype_policy(before)


@spent("building")
def make_learner(config: RunConfig, task: Task) -> Learner:
    """Return the learner of the task's kind with a new model; the task's data are loaded."""
    return load(task.kind.models.learner)(config, task, make_model(config, task))


def counted_model(config: RunConfig, task: Task) -> keras.Model:
    """The model without its weights' values, which take no memory: for its shapes."""
    import_tensorflow()
    from attnlab.training.keras_internals import shapes_alone

    with shapes_alone():
        return make_model(config, task)


def start_afresh(seed: int) -> None:
    """Make results depend on the seed alone, not on what this process did before.

    Clears Keras's session and makes TensorFlow deterministic, which suits only processes of this
    project. Programs that were compiled earlier still work.
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
    """Import TensorFlow without its notices; the time counts as the phase `imports`."""
    tensorflow_internals.import_tensorflow()


def _construct(group: str, option: Option, **parts: Any) -> Any:
    try:
        return option_class(group, option.name)(**option.settings, **parts)
    except TypeError as error:
        raise RequestError(f"{group}={option.name}: {error}.") from error


# Models whose sizes are all at most this large fit on any machine, so they aren't counted.
_ALWAYS_FITS, _ALWAYS_FIT_TOGETHER = 2048, 256
# Arrays of a weight's size that the optimizer stores.
_STATES = {"adam": 2, "adamw": 2, "muon": 2, "adadelta": 2, "rmsprop": 2}
_BYTES, _GIB = 4, 2**30
_CGROUP = Path("/sys/fs/cgroup/memory.max")


class Needs(NamedTuple):
    """The least memory that training takes, in bytes."""

    weights: int  # with gradients and the optimizer's states
    batch: int  # values between layers, stored for the gradient of one step


def refuse_what_does_not_fit(config: RunConfig, task: Task, data: TaskData) -> None:
    """Refuse a run that doesn't fit into memory.

    Raises:
        RequestError: weights, optimizer and a batch need more memory than there is; the text says
            what would fit.
    """
    if _largest(config) <= _ALWAYS_FITS:
        return
    needs, there = _needs(config, task, data), memory()
    if there is None or sum(needs) <= there:
        return
    key = "model.units" if needs.weights > needs.batch else "trainer.batch_size"
    fits = _what_fits(config, task, data, key, there)
    advice = f" {key}={fits} would fit." if fits else ""
    has, total, weights, batch = (size / _GIB for size in (there, sum(needs), *needs))
    raise RequestError(
        f"{key}: the run needs at least {total:,.1f} GiB of memory ({weights:,.1f} for weights, "
        f"gradients and optimizer, {batch:,.1f} for a batch), but this machine has {has:.1f} GiB."
        f"{advice}"
    )


def most_that_fit(config: RunConfig, wanted: int, extra: int = 0) -> int:
    """Return how many equal runs, at most `wanted`, fit into half of the memory; at least 1.

    The number is `wanted` or a power of two. Each run takes `extra` bytes in addition to training.
    """
    small = _largest(config) <= _ALWAYS_FIT_TOGETHER
    there = memory()
    if wanted == 1 or (small and not extra) or there is None:
        return wanted
    needs = extra
    try:
        if not small:
            task = make_task(config)
            needs += sum(_needs(config, task, task.load(config.seed)))
    except RequestError:  # the run itself will raise it
        return wanted
    fitting = there // 2 // needs
    return wanted if fitting >= wanted else 1 << max(0, fitting.bit_length() - 1)


def _largest(config: RunConfig) -> int:
    settings = [*config.model.settings.values(), *config.attention.settings.values()]
    return max(size for size in [*settings, config.trainer.batch_size] if isinstance(size, int))


def _needs(config: RunConfig, task: Task, data: TaskData) -> Needs:
    shapes = [weight.shape for weight in counted_model(config, task).weights]
    copies = 2 + _STATES.get(config.optimizer.name, 1)
    weights = sum(math.prod(shape) for shape in shapes) * copies * _BYTES
    # For each step of an item, a matrix computes as many values as it has columns.
    values = sum(shape[-1] for shape in shapes if len(shape) == 2)
    size, longest = config.trainer.batch_size, data.longest
    steps = size if config.trainer.batch_by == "tokens" else size * longest
    steps = min(steps, data.counts()["train"] * longest)
    return Needs(weights, steps * values * _BYTES)


def _what_fits(config: RunConfig, task: Task, data: TaskData, key: str, there: int) -> int | None:
    """Return the largest power of two below the setting that fits; None if even 1 does not."""
    size = lookup(config.document, key)
    while isinstance(size, int) and size > 1:
        size = 2 ** ((size - 1).bit_length() - 1)
        if sum(_needs(config.with_values({key: size}), task, data)) <= there:
            return size
    return None


def memory() -> int | None:
    """Return the bytes of memory of this machine or container; None if the system doesn't say."""
    if not hasattr(os, "sysconf"):  # Windows
        return None
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = _CGROUP.read_text("utf-8").strip() if _CGROUP.is_file() else "max"
    return min(there, int(limit)) if limit.isdigit() else there
