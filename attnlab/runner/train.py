"""One run from top to bottom: its task, its model, its epochs, its result, and their files."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.config.options import failure, option_class
from attnlab.config.sections import Option, RunConfig
from attnlab.errors import CannotResume, Pruned, RequestError, RunFailed, check_for_interrupt
from attnlab.internals import forget_gradients, import_tensorflow, shapes_only
from attnlab.records import files
from attnlab.records.environment import differences, environment
from attnlab.records.files import Checkpoints
from attnlab.records.logs import in_words, logging_to
from attnlab.records.run_directory import RunDirectory
from attnlab.runner.console import Screen
from attnlab.tasks import attention
from attnlab.tasks.base import Learner, Task, TaskData, assign
from attnlab.tasks.kinds import kind_of, load
from attnlab.training.plan import Monitor, learning_rates

if TYPE_CHECKING:
    import keras

    from attnlab.training.stacking import StackScheduler
    from attnlab.training.weights_file import WeightsFiles

log = logging.getLogger("attnlab")
OnEpoch = Callable[[Mapping[str, float]], None]
_disk = ThreadPoolExecutor(8, "disk")  # each run writes one epoch at a time
# The next checkpoint waits until training took this many times as long as saving the last one.
_TRAINING_PER_SAVING = 20.0


@dataclass(frozen=True)
class SweepMember:
    """A run's place in a sweep."""

    name: str
    # called with each row of the history, also those before a resumption; may raise `Pruned`
    on_epoch: OnEpoch | None = None
    retry_failed: bool = False  # whether a failed run is repeated
    stack: StackScheduler | None = None  # of the runs that train together in this process


@dataclass
class TrainingState:
    """The progress of a run's training, as checkpoints store it, JSON-ready."""

    history: list[dict[str, float]] = field(default_factory=list)  # a row per finished epoch
    steps_taken: int = 0  # gradient steps of the finished epochs
    steps_an_epoch: int = 0  # steps of the first epoch, which the schedule uses; 0 before it
    chunks_done: int = 0  # of the current epoch
    seconds: float = 0.0  # spent on the run by earlier processes
    epoch_seconds: float = 0.0  # spent on the current epoch by earlier processes
    losses: list[float] = field(default_factory=list)  # of this epoch, one per step
    sizes: list[float] = field(default_factory=list)  # items or tokens that each loss averages

    def scores(self, metric: str) -> tuple[list[float], list[float]]:
        """Return the monitored value and the validation loss per epoch.

        NaN stands for epochs without one. Without validation data there are no monitored values.
        """
        values = [row[metric] for row in self.history if metric in row]
        return values, [row.get("val_loss", math.nan) for row in self.history]

    def best_epoch(self, monitor: Monitor) -> int:
        """Return the best epoch so far; without validation data the last one."""
        return monitor.best_epoch(*self.scores(monitor.metric)) or len(self.history)


def train(
    config: RunConfig,
    task: Task,
    data: TaskData,
    folder: RunDirectory,
    shown: Screen,
    started: float,
    sweep: SweepMember | None = None,
    resumed: bool = False,
) -> dict[str, Any]:
    """Train a run, choose its best epoch and evaluate it; returns its metrics.json.

    Everything is in the run's folder, its end included: completed, failed or killed.

    Args:
        config: the configuration.
        task: its task.
        data: the task's loaded data.
        folder: the run's folder, whose lock this process holds.
        shown: shows the progress.
        started: `time.perf_counter()` when the run started in this process.
        sweep: the sweep that the run belongs to.
        resumed: whether the folder already has part of the run.
    """
    trainer, on_epoch = config.trainer, sweep.on_epoch if sweep else None
    monitor = Monitor(*task.monitor, trainer.min_delta)
    checkpoints, recorder = Checkpoints(folder.checkpoint), Recorder(folder)
    with logging_to(folder.path / "run.log"), _end_recorded(config, recorder):
        recorder.write_request(config, task, data)
        shown.say(data.notes)

        # Build the model, with the compiler and the stack width that the run started with
        checkpoint, status = checkpoints.newest() if resumed else None, folder.status.read()
        start_afresh(config.seed)
        compiler = {"trainer.jit": status["xla"]} if "xla" in status else {}
        learner = make_learner(config.with_values(compiler), task)
        learner.progress = shown.working
        learner.stack = sweep.stack if sweep else None
        width = status.get("together", 1 if checkpoint else None)
        if width is None:
            width = learner.stack.width_of(learner.stackable) if learner.stack else 1
        elif width > 1 and learner.stack is None:  # alone, with the rounding of its stack
            from attnlab.training.stacking import StackScheduler

            learner.stack = StackScheduler()
        learner.width = min(width, learner.stackable)
        with recorder.writing("status.json"):
            folder.status.write(xla=learner.jit, together=width)

        # Resume from the newest checkpoint, or start again
        state = TrainingState(**checkpoint.state) if checkpoint else TrainingState()
        if resumed:
            recorder.rewind(state.history)
        best_values = learner.values()
        if checkpoint:
            variables = learner.trained_variables()
            shapes = [tuple(variable.shape) for variable in variables]
            if [array.shape for array in checkpoint.arrays] != shapes:
                raise CannotResume(
                    f"{folder.checkpoint}: the variables of the checkpoint and of the model have "
                    "different shapes, because the code has changed: train the run again."
                )
            if state.history:
                path = folder.weights_path(state.best_epoch(monitor))
                load_weights(learner.model, [path], "the best weights so far")
                best_values = learner.values()
            assign(variables, checkpoint.arrays)
            log.info("resumed after epoch %d, chunk %d", len(state.history), state.chunks_done)
        shown.training(trainer.epochs, len(state.history), task.kind.scoring.bars)
        for row in state.history if on_epoch else ():
            on_epoch(row)
        saved_step, saving_took = (-1, -1), 0.0
        saved_at = epoch_started = time.perf_counter()

        def save_checkpoint() -> None:
            """Save everything that the next step depends on, at most once per step."""
            nonlocal saved_step, saved_at, saving_took
            step, now = state.steps_taken + len(state.losses), time.perf_counter()
            if (len(state.history), step) == saved_step:
                return
            content = asdict(state)
            content["seconds"] += now - started
            if state.chunks_done:
                content["epoch_seconds"] += now - epoch_started
            with recorder.writing("a checkpoint"):
                checkpoints.save(step, content, learner.trained_values())
            saved_step, saved_at = (len(state.history), step), time.perf_counter()
            saving_took = saved_at - now

        while len(state.history) < trainer.epochs:
            # Early stopping
            values, val_losses = state.scores(monitor.metric)
            if monitor.should_stop(values, trainer.patience, val_losses):
                shown.say([f"early stopping after epoch {len(state.history)}"])
                break

            # The batches and learning rates of an epoch; rates assume epochs of equal length
            epoch, epoch_started = len(state.history) + 1, time.perf_counter()
            chunks = learner.chunks(epoch)
            steps = sum(chunk.steps for chunk in chunks)
            state.steps_an_epoch = state.steps_an_epoch or steps
            rates = learning_rates(
                config.schedule.name,
                config.schedule.settings,
                peak=config.optimizer.settings["learning_rate"],
                first_step=state.steps_taken,
                steps=steps,
                total_steps=trainer.epochs * state.steps_an_epoch,
                monitored=values,
                monitor=monitor,
            )

            # Compiled gradient steps, a chunk at a time
            for chunk in chunks[state.chunks_done :]:
                done = len(state.losses)
                chunk_rates = rates[done : done + chunk.steps]
                losses = learner.train(chunk, chunk_rates, state.steps_taken + done)
                if not np.isfinite(losses.values).all():
                    step = np.argmin(np.isfinite(losses.values))
                    raise RunFailed(
                        f"epoch {epoch}, step {done + step + 1}: the loss is {losses.values[step]}."
                        " A smaller optimizer.learning_rate or optimizer.clip_norm=1 may help."
                    )
                state.losses += np.asarray(losses.values).tolist()
                state.sizes += np.asarray(losses.sizes).tolist()
                state.chunks_done += 1
                shown.within(len(state.losses) / steps)
                check_for_interrupt()
                every = trainer.checkpoint_every_seconds
                if every is not None and time.perf_counter() - saved_at >= every:
                    save_checkpoint()

            # Validation
            shown.within(1.0, "validating")
            row = {"epoch": epoch, "seconds": 0.0, "learning_rate": float(rates[-1])}
            row["train_loss"] = float(np.average(state.losses, weights=state.sizes))
            row |= learner.validate(epoch)
            row["seconds"] = round(state.epoch_seconds + time.perf_counter() - epoch_started, 6)
            state.history.append(row)
            state.steps_taken += len(state.losses)
            state.chunks_done, state.epoch_seconds, state.losses, state.sizes = 0, 0.0, [], []
            if state.best_epoch(monitor) == epoch:
                best_values = learner.values()

            # Weights, history and a checkpoint
            recorder.write_epoch(learner, row, trainer.epochs)
            runs = learner.stack.runs if learner.stack else 1
            trained_for = (time.perf_counter() - saved_at) / runs
            if trained_for >= _TRAINING_PER_SAVING * saving_took:
                save_checkpoint()
            shown.advance(row)
            if on_epoch:
                on_epoch(row)
        save_checkpoint()

        # The test part, with the weights of the best epoch
        assign(learner.model.variables, best_values)
        shown.working(0, None, "scoring the test part")
        report, best_epoch = learner.report(), state.best_epoch(monitor)
        scores, notes = report.scores(), [*report.notes]
        monitored, _ = state.scores(monitor.metric)
        if not monitored:
            notes.append("There are no validation data, so the result is of the last epoch.")
        if config.earlier_epochs:
            earlier = " and ".join(map(str, config.earlier_epochs))
            notes.append(
                f"The run was first trained with trainer.epochs={earlier}, then longer. A run with "
                "all epochs from the start may have other learning rates, or be scored in other "
                "epochs."
            )
        metrics = {
            "task": config.task.name,
            "attention": config.attention.name,
            "model": config.model.name,
            "seed": config.seed,
            "monitor": monitor.metric if monitored else None,
            "best_epoch": best_epoch,
            "best_value": monitored[best_epoch - 1] if monitored else None,
            "epochs": len(state.history),
            "test": scores.pop("metrics"),
            **scores,
            "extra": learner.extra_reports(),
            "parameters": learner.model.count_params(),
            "seconds": state.seconds + time.perf_counter() - started,
            "notes": notes,
        }

        # Result, predictions and attention; another process draws the figures
        with recorder.writing("the result"):
            folder.write_json("metrics.json", metrics)
        with recorder.writing("the predictions"):
            folder.write_predictions(report.predictions)
        recorder.write_attention(learner, best_epoch)
        with recorder.writing("the checkpoints"):
            checkpoints.keep(1)  # `resume` may train the run longer
        log.info("best epoch %d; test: %s", best_epoch, in_words(metrics["test"]))
    return metrics


# Settings to task, model and learner


def make_task(config: RunConfig) -> Task:
    """Return the task of a configuration, without its data; needs no TensorFlow.

    Raises `RequestError` if there is no such task or corpus, or the settings don't fit it.
    """
    cache = Path(config.paths.data)
    if kind_of(config.task.name).takes_corpus:
        if config.data is None:
            raise RequestError(f"data: expected a corpus, which task={config.task.name} needs.")
        return _construct("task", config.task, corpus=_construct("data", config.data), cache=cache)
    task = _construct("task", config.task)
    task.cache = cache
    return task


def make_model(config: RunConfig, task: Task) -> keras.Model:
    """Return the model with initial weights; Keras's global state doesn't change."""
    import_tensorflow()
    import keras

    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(config.trainer.precision)
    try:
        return task.build(partial(_construct, "attention", config.attention), config.model)
    finally:
        keras.config.set_dtype_policy(before)


def make_learner(config: RunConfig, task: Task) -> Learner:
    """Return the learner of the task's kind with a new model; the task's data are loaded."""
    return load(task.kind.models.learner)(config, task, make_model(config, task))


def _construct(group: str, option: Option, **parts: Any) -> Any:
    try:
        return option_class(group, option.name)(**option.settings, **parts)
    except TypeError as error:
        raise RequestError(f"{group}={option.name}: {error}.") from error


def prepare(config: RunConfig, shown: Screen) -> tuple[Task, TaskData]:
    """Return the task and its data; refuse settings that don't fit before a folder is made."""
    task = make_task(config)
    if config.trainer.jit is True and config.trainer.devices != 1:
        raise RequestError(
            f"trainer.devices={config.trainer.devices}: XLA computes on one device: leave "
            "trainer.jit=true out, or use trainer.devices=1."
        )
    check_devices(config)
    # Before data are read: without a corpus only the positions of a Transformer may not fit. So a
    # wrong file is reported without waiting for TensorFlow.
    if task.kind.takes_corpus or config.model.name == "transformer":
        import_tensorflow()
        with shapes_only():
            task.check(partial(_construct, "attention", config.attention), config.model)
    data = task.load(config.seed, shown.working)
    if not data.counts().get("validation"):
        patience, schedule = config.trainer.patience, config.schedule.name
        if patience is not None or schedule == "plateau":
            key = "schedule=plateau" if patience is None else f"trainer.patience={patience}"
            raise RequestError(
                f"{key} needs validation data, and these data have none: add a validation part, or "
                "leave the setting out."
            )
    config.require_same_files()  # the files just read have the hashes in the digest
    return task, data


def check_devices(config: RunConfig) -> None:
    """Raise `RequestError` unless the machine has the run's devices; TensorFlow has not computed.

    The message is that of `training.step.strategy_for`.
    """
    if config.trainer.devices != 1:
        import_tensorflow()
        from attnlab.training.step import strategy_for

        strategy_for(config.trainer)


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


@contextmanager
def memory_errors_explained(config: RunConfig) -> Iterator[None]:
    """Turn TensorFlow's error about memory in the body into a `RequestError`."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "ResourceExhaustedError":  # wrong requests need no TensorFlow
            raise
        raise RequestError(
            f"trainer.batch_size={config.trainer.batch_size}: the device is out of memory: use a "
            "smaller batch, with a larger trainer.accumulate for the same result, or a smaller "
            "model."
        ) from error


# Files of the run's folder


def load_weights(model: keras.Model, paths: Sequence[Path], what: str) -> None:
    """Load a weights file into a built model, or the element-wise mean of several.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 6.1, average their last checkpoints.
    Difference: the caller chooses the epochs. The mean is summed in float64.

    Raises `RequestError`, with `what` in its message, if a file isn't one of this model.
    """
    sums = [np.zeros(weight.shape) for weight in model.weights]
    for path in paths:
        try:
            model.load_weights(path)
        except (OSError, RuntimeError, ValueError, KeyError) as error:  # HDF5 has several kinds
            reason = str(error).strip().splitlines()[0]
            raise RequestError(f"{path}: can't read {what}: {reason}") from error
        sums = [total + value for total, value in zip(sums, model.get_weights(), strict=True)]
    if len(paths) > 1:
        means = zip(sums, model.get_weights(), strict=True)
        model.set_weights([(total / len(paths)).astype(last.dtype) for total, last in means])


class Recorder:
    """Writes a run's folder; an epoch is written while the next one trains.

    An error of writing is one warning, so that a full disk doesn't end the run.
    """

    def __init__(self, folder: RunDirectory) -> None:
        self.folder = folder
        self._write_failed = False
        self._writing: Future[None] | None = None  # writes the last epoch
        self._weights_files: WeightsFiles | None = None
        self._attention: dict[int, attention.Arrays] = {}  # epoch -> the learner's examples

    @contextmanager
    def writing(self, what: str) -> Iterator[None]:
        """Turn errors of writing into the warning, after the last epoch is written."""
        self.settle()
        with self._errors_reported(what):
            yield

    def settle(self) -> None:
        """Wait until the last epoch is written."""
        if (writing := self._writing) is not None:
            wait([writing])  # after an interrupt here, the next call waits for it
            self._writing = None
            writing.result()

    @contextmanager
    def _errors_reported(self, what: str) -> Iterator[None]:
        try:
            yield
        except (OSError, RequestError) as error:
            if not self._write_failed:
                log.warning(
                    "%s: could not write %s (%s); the run continues, its folder is incomplete",
                    self.folder.path,
                    what,
                    getattr(error, "strerror", None) or error,
                )
            self._write_failed = True

    def write_request(self, config: RunConfig, task: Task, data: TaskData) -> None:
        """Write configuration, environment and the task's assets, before training starts."""
        log.info("configuration %s", config.digest)
        log.info("data: %s", in_words(data.describe()))
        now, earlier = environment(), self.folder.read_environment()
        if earlier is not None:  # each resume appends its environment
            if changes := differences(earlier, now):
                log.warning(
                    "the environment has changed since the run started (%s): the result may "
                    "differ from that of an uninterrupted run",
                    "; ".join(changes),
                )
            now = {**earlier, "resumed": [*earlier.get("resumed", []), now]}
        with self.writing("config.yaml"):
            self.folder.write_config(config.document)
            self.folder.write_json("environment.json", now)
            self.folder.status.write(
                config_hash=config.digest,
                data_digest=data.digest,
                data={"name": data.name, "source": data.source, "counts": data.counts()},
            )
            task.save(self.folder.assets)
            example = {}
            for name, value in zip(("input", "output"), task.served, strict=True):
                array = np.array([value])
                kind = str(array.dtype) if array.dtype.kind in "fi" else "object"
                example[name] = {"values": array.tolist(), "dtype": kind}
            self.folder.write_json("served.json", example)

    def rewind(self, history: Sequence[Mapping[str, float]]) -> None:
        """Remove later epochs, and incomplete files, from the folder."""
        with self.writing("history.csv"):
            self.folder.discard_after(len(history))
            self.folder.history.replace(history)
            self.folder.status.write(epoch=len(history))
        with suppress(RequestError):  # a damaged file is written again
            if recorded := attention.read_attention(self.folder):
                epochs = recorded.by_epoch.items()
                self._attention = {epoch: one for epoch, one in epochs if epoch <= len(history)}

    def write_epoch(self, learner: Learner, row: Mapping[str, float], epochs: int) -> None:
        """Write an epoch's weights, history row and attention, while the next epoch trains."""
        from attnlab.training.weights_file import WeightsFiles

        epoch, content = int(row["epoch"]), None
        path = self.folder.weights_path(epoch)
        with self.writing(path.name):
            self._weights_files = self._weights_files or WeightsFiles(learner.model)
            content = self._weights_files.next(learner.values(), files.temporary(path))
        if epoch in attention.epochs_to_record(epochs):
            self._record_attention(learner, epoch)

        def write() -> None:
            if content is not None:
                with self._errors_reported(path.name), files.replacing(path) as temporary:
                    temporary.write_bytes(content)
            with self._errors_reported("history.csv"):
                self.folder.history.append(row)
                self.folder.status.write(epoch=epoch)
            if epoch in self._attention:
                with self._errors_reported(attention.FILE):
                    recorded = attention.Recorded(self._attention, epoch)
                    attention.write_attention(self.folder, recorded)

        # In a copy of this context, so that log records go to this run's log.
        self._writing = _disk.submit(copy_context().run, write)

    def write_attention(self, learner: Learner, best: int) -> None:
        """Write attention.npz with the best epoch, whose weights the learner's model has."""
        if best not in self._attention:
            self._record_attention(learner, best)
        if self._attention:
            with self.writing(attention.FILE):
                recorded = attention.Recorded(self._attention, best)
                attention.write_attention(self.folder, recorded)

    def _record_attention(self, learner: Learner, epoch: int) -> None:
        if (examples := learner.examples()) is not None:
            self._attention = dict(sorted({**self._attention, epoch: examples}.items()))


@contextmanager
def _end_recorded(config: RunConfig, recorder: Recorder) -> Iterator[None]:
    """Record whether the body completed the run, failed, or was interrupted."""
    folder = recorder.folder

    def write(state: str, error: str | None = None, **entries: Any) -> None:
        with recorder.writing("status.json"):
            folder.status.write(state, error=error, **entries)

    try:
        with memory_errors_explained(config):
            yield
    except KeyboardInterrupt as stop:
        write("killed", "interrupted")
        epoch = folder.status.read()["epoch"]
        raise KeyboardInterrupt(
            f"{f'after epoch {epoch}' if epoch else 'in the first epoch'}; run folder "
            f"{folder.path}; attnlab resume {folder.word} continues it"
        ) from stop
    except Pruned as pruned:
        write("killed", f"pruned: {pruned}", pruned=True)
        raise
    except Exception as error:
        log.info("the run failed", exc_info=True)
        write("failed", failure(error))
        raise
    else:
        write("completed")
    finally:
        recorder.settle()
