"""The plan of a run: the rows and the learning rate of each step, the best epoch, early stopping.

All of it follows from the seed, the number of the epoch or step, and the history, so a resumed run
needs no saved iterator.

A schedule gives shares of the peak, `optimizer.learning_rate`: `rate = peak * schedule(step)`.
Steps count from 1, as in Vaswani et al. (2017): at step 0 an inverse square root has no value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

_LENGTH_BINS = 16  # of `similar_plan`


@dataclass(frozen=True)
class BatchPlan:
    """The steps of one epoch, all of one shape.

    Attributes:
        indices: (steps, batch) rows of the data, int32, or int64 if a number needs it; an
            incomplete batch is padded with row 0.
        weights: (steps, batch) float32, 1 for a real row and 0 for padding.
    """

    indices: np.ndarray
    weights: np.ndarray

    @property
    def steps(self) -> int:
        """The number of gradient steps."""
        return len(self.indices)

    @property
    def sizes(self) -> np.ndarray:
        """(steps,) number of real rows in each step."""
        return self.weights.sum(axis=1)

    def first(self, steps: int) -> BatchPlan:
        """Return the first steps."""
        return BatchPlan(self.indices[:steps], self.weights[:steps])


class StepLosses(NamedTuple):
    """The losses of some gradient steps."""

    values: np.ndarray  # (steps,) mean loss of each step, before its update
    sizes: np.ndarray  # (steps,) number of items or tokens over which each mean is taken


def shuffled_plan(rows: np.ndarray, batch_size: int, seed: int, epoch: int) -> BatchPlan:
    """Return a plan with each of `rows` once, in an order drawn from (seed, epoch).

    Args:
        rows: (N,) row numbers of the training windows.
        batch_size: rows per step, at most N.
        seed: the run's seed.
        epoch: the epoch's number, from 1.
    """
    order = np.random.default_rng([seed, epoch]).permutation(np.asarray(rows))
    return plan_in_order(order, min(batch_size, len(order)))


def similar_plan(
    rows: np.ndarray, lengths: np.ndarray, batch_size: int, seed: int, epoch: int
) -> BatchPlan:
    """Return a plan like `shuffled_plan`'s, with rows of similar lengths in each batch.

    The batches are in random order. Lengths (N,) that differ by less than a 16th of the longest
    count as equal, so that batches differ between epochs.
    """
    bins = np.asarray(lengths) // max(1, int(np.max(lengths)) // _LENGTH_BINS)
    size = min(batch_size, len(rows))
    batches = token_plan(bins, bins, size=size, by="items", seed=seed, epoch=epoch)
    indices = np.zeros((len(batches), size), np.int32)
    weights = np.zeros((len(batches), size), np.float32)
    for step, places in enumerate(batches):
        indices[step, : len(places)] = np.asarray(rows)[places]
        weights[step, : len(places)] = 1.0
    return BatchPlan(indices, weights)


def plan_in_order(rows: np.ndarray, batch_size: int) -> BatchPlan:
    """Return a plan with `rows` in their order; the last batch is padded."""
    steps = -(-len(rows) // batch_size)
    is_large = np.max(rows, initial=0) > np.iinfo(np.int32).max
    indices = np.zeros(steps * batch_size, np.int64 if is_large else np.int32)
    indices[: len(rows)] = rows
    weights = np.zeros(steps * batch_size, np.float32)
    weights[: len(rows)] = 1.0
    return BatchPlan(indices.reshape(steps, -1), weights.reshape(steps, -1))


def token_plan(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    *,
    size: int,
    by: str = "tokens",
    seed: int,
    epoch: int,
    multiple: int | None = None,
) -> list[np.ndarray]:
    """Return batches of pairs of similar lengths, each pair once, drawn from (seed, epoch).

    Pairs of the same two lengths are shuffled, so that batches differ between epochs, and the
    batches are in random order. Every epoch of the same pairs has the same number of batches.

    Args:
        source_lengths: (N,) tokens of each source.
        target_lengths: (N,) tokens of each target, or steps of the decoder.
        size: for `items`, the pairs per batch. For `tokens`, the most tokens of a batch on its
            longer side, including padding; a longer pair becomes a batch of its own.
        by: `tokens` or `items`.
        seed: the run's seed.
        epoch: the epoch's number, from 1.
        multiple: for XLA, lengths are rounded up to multiples of it, and all batches of one length
            have the same number of rows, padded with -1. None: no padding.

    Returns:
        The row numbers of each batch, int64.

    Raises:
        ValueError: an unknown `by`.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(source_lengths))
    batches = _batches(order, source_lengths, target_lengths, size, by, multiple)
    return [batches[at] for at in random.permutation(len(batches))]


def length_plan(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    *,
    size: int,
    multiple: int | None = None,
) -> list[np.ndarray]:
    """Return batches like `token_plan`'s by tokens, sorted by length instead of drawn."""
    order = np.arange(len(source_lengths))
    return _batches(order, source_lengths, target_lengths, size, "tokens", multiple)


def _batches(
    order: np.ndarray,
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    size: int,
    by: str,
    multiple: int | None,
) -> list[np.ndarray]:
    if by not in ("tokens", "items"):
        raise ValueError(f"by: expected tokens or items, got {by!r}")
    if not len(order):
        return []
    unit = multiple or 1
    source, target = (
        -(-np.asarray(lengths, np.int64)[order] // unit)
        for lengths in (source_lengths, target_lengths)
    )
    longest = np.maximum(source, target)
    rows = np.argsort(_similarity(source, target), kind="stable")
    order, longest = order[rows], longest[rows] * unit
    if multiple is not None:
        return _equal_shapes(order, longest, size, by)
    ends = range(size, len(order), size) if by == "items" else _ends(longest, size)
    return np.split(order, list(ends))


def _similarity(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return a sort key with which neighbouring pairs need little padding.

    The longer side decides, then the difference of both sides, ascending and descending in turn.
    """
    longest = np.maximum(source, target)
    width = int(longest.max()) + 1
    turn = np.where(longest % 2, 1, -1)
    key = longest * (2 * width) + turn * (source - target) + width
    return key.astype(np.min_scalar_type(int(key.max())))  # small types sort faster


def _ends(longest: np.ndarray, size: int) -> list[int]:
    """Return the ends of all batches but the last, if each has as many pairs as possible.

    Args:
        longest: (N,) tokens of the longer side of each pair, ascending.
        size: most tokens of a batch.
    """
    ends, first = [], 0
    while first < len(longest):
        widths = longest[first : first + max(1, size // int(longest[first]))]
        padded = widths * np.arange(1, len(widths) + 1)
        first += max(1, int(np.searchsorted(padded, size, side="right")))
        ends.append(first)
    return ends[:-1]


def _equal_shapes(order: np.ndarray, longest: np.ndarray, size: int, by: str) -> list[np.ndarray]:
    """Return batches with one longest length each, padded with -1."""
    batches = []
    bounds = np.flatnonzero(np.diff(longest)) + 1
    for group, widths in zip(np.split(order, bounds), np.split(longest, bounds), strict=True):
        rows = size if by == "items" else max(1, size // int(widths[0]))
        filled = np.full(-(-len(group) // rows) * rows, -1, np.int64)
        filled[: len(group)] = group
        batches += list(filled.reshape(-1, rows))
    return batches


@dataclass(frozen=True)
class Monitor:
    """A metric, and whether small or large values are better.

    Attributes:
        metric: column of the history, for example `val_loss`.
        mode: `min` or `max`.
        min_delta: the smallest improvement that counts as better.
    """

    metric: str
    mode: str = "min"
    min_delta: float = 0.0

    def better(self, value: float, than: float) -> bool:
        """Return whether `value` is better than `than` by more than `min_delta`; NaN never is."""
        gain = than - value if self.mode == "min" else value - than
        return gain > self.min_delta

    def best_epoch(self, values: Sequence[float], losses: Sequence[float] = ()) -> int:
        """Return the epoch (from 1) with the best value; the last epoch if none has a score.

        Among equal values the smallest loss decides, then the first epoch. Equal values are common:
        BLEU is 0 until four words in a row are right, and accuracy has few values on few items.

        Args:
            values: per epoch; NaN for epochs without a score.
            losses: per epoch, NaN if unknown; empty if there are none.
        """
        best = None
        for epoch, value in enumerate(values, 1):
            if math.isnan(value):
                continue
            if best is None or self.better(value, values[best - 1]):
                best = epoch
            elif value == values[best - 1] and losses and losses[epoch - 1] < losses[best - 1]:
                best = epoch
        return best or len(values)

    def should_stop(
        self, values: Sequence[float], patience: int | None, losses: Sequence[float] = ()
    ) -> bool:
        """Return whether the last `patience` epochs with a score were not better."""
        if patience is None:
            return False
        return len(scored(values[self.best_epoch(values, losses) :])) >= patience


def scored(values: Sequence[float]) -> list[float]:
    """Return the values that are not NaN."""
    return [value for value in values if not math.isnan(value)]


def learning_rates(
    name: str,
    settings: Mapping[str, Any],
    *,
    peak: float,
    first_step: int,
    steps: int,
    total_steps: int,
    monitored: Sequence[float] = (),
    monitor: Monitor,
) -> np.ndarray:
    """Return the learning rates of consecutive steps.

    Args:
        name: constant, cosine, plateau, noam or inverse_square_root.
        settings: of that schedule.
        peak: the highest rate.
        first_step: number of steps taken before.
        steps: number of rates to return.
        total_steps: steps of the whole run.
        monitored: for `plateau`, the monitored value per epoch; NaN for epochs without a score.
        monitor: compares those values.

    Returns:
        (steps,) rates.
    """
    step = np.arange(first_step + 1, first_step + steps + 1, dtype=np.float64)
    if name not in _FLAT:
        return peak * _OF_STEPS[name](step, total_steps, **settings)
    options = dict(settings)
    rise = max(round(options.pop("warmup", 0.0) * total_steps), 1)  # some tasks set a warm-up
    if name == "plateau":
        share = np.full(steps, plateau(monitored, monitor, **options))
    else:
        share = constant(step, total_steps, **options)
    return peak * share * np.minimum(step / rise, 1.0)


def depends_on_length(name: str, settings: Mapping[str, Any]) -> bool:
    """Return whether learning rates depend on the number of steps of the whole run."""
    if name in _FLAT:
        return settings.get("warmup", 0.0) > 0
    return not settings.get("warmup_steps")


def constant(step: np.ndarray, total_steps: int) -> np.ndarray:
    """Return 1 for every step."""
    return np.ones_like(step)


def cosine(step: np.ndarray, total_steps: int, *, warmup: float, final: float) -> np.ndarray:
    """Linear warm-up, then half a cosine from 1 down to `final`.

    Source: Loshchilov and Hutter (2017), SGDR, equation 5, one period.

    Args:
        step: (n,) steps from 1.
        total_steps: steps of the run.
        warmup: share of the run that the warm-up takes.
        final: share of the peak at the last step; the only step of a run has the peak.
    """
    rise = max(round(warmup * total_steps), 1 if total_steps == 1 else 0)
    progress = np.clip((step - rise) / max(total_steps - rise, 1), 0.0, 1.0)
    fall = final + (1.0 - final) * 0.5 * (1.0 + np.cos(np.pi * progress))
    return np.where(step <= rise, step / max(rise, 1), fall)


def noam(
    step: np.ndarray, total_steps: int, *, warmup: float, warmup_steps: int | None = None
) -> np.ndarray:
    """Linear warm-up, then the inverse square root: min(step / w, sqrt(w / step)).

    Source: Vaswani et al. (2017), equation 3. Difference: the paper fixes the peak to
    (d_model * w) ** -0.5; set `optimizer.learning_rate` to that for the paper's own rates.

    Args:
        step: (n,) steps from 1.
        total_steps: steps of the run.
        warmup: share of the run that the warm-up takes; w = warmup * total_steps, at least 1.
        warmup_steps: w itself, independent of the length of the run; None: use `warmup`.
    """
    rise = warmup_steps or max(round(warmup * total_steps), 1)
    return np.minimum(step / rise, np.sqrt(rise / step))


def inverse_square_root(
    step: np.ndarray, total_steps: int, *, warmup: float, initial: float, final: float
) -> np.ndarray:
    """Linear warm-up from `initial`, then sqrt(w / step), never below `final` after it.

    Source: `inverse_sqrt` of Ott et al. 2019 (arXiv 1904.01038), fairseq, which adds `initial` to
    Vaswani et al.'s schedule. Difference: the warm-up is a share of the run; `final` is new.

    Args:
        step: (n,) steps from 1.
        total_steps: steps of the run.
        warmup: share of the run that the warm-up takes; w = warmup * total_steps, at least 1.
        initial: share of the peak at the start of the warm-up.
        final: smallest share of the peak after the warm-up.
    """
    rise = max(round(warmup * total_steps), 1)
    rising = initial + (1.0 - initial) * step / rise
    return np.where(step <= rise, rising, np.maximum(np.sqrt(rise / step), final))


def plateau(
    monitored: Sequence[float], monitor: Monitor, *, factor: float, patience: int, minimum: float
) -> float:
    """Return the share of the peak, which each plateau so far has multiplied by `factor`.

    A plateau is `patience` consecutive epochs with a score and no better monitored value; counting
    restarts after each. It depends only on the history, so a resumed run needs no extra state.
    """
    share, best, waited = 1.0, None, 0
    for value in scored(monitored):
        if best is None or monitor.better(value, best):
            best, waited = value, 0
        else:
            waited += 1
        if waited >= patience:
            share, waited = max(share * factor, minimum), 0
    return share


_FLAT = ("constant", "plateau")  # schedules without a warm-up of their own
_OF_STEPS = {
    "cosine": cosine,
    "noam": noam,
    "inverse_square_root": inverse_square_root,
}
