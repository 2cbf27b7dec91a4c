"""Learning rates, the best epoch and early stopping: functions of the step and of the history.

A schedule gives shares of the peak, `optimizer.learning_rate`: `rate = peak * schedule(step)`.
Steps count from 1, as in Vaswani et al. (2017): at step 0 an inverse square root has no value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


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
