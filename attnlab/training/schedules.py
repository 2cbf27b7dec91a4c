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
    """A metric and its good direction.

    Attributes:
        metric: column of the history, for example `val_loss`.
        mode: `min` or `max`.
        min_delta: how much better counts as better.
    """

    metric: str
    mode: str = "min"
    min_delta: float = 0.0

    def better(self, value: float, than: float) -> bool:
        """Whether `value` beats `than` by more than `min_delta`; NaN beats nothing."""
        gain = than - value if self.mode == "min" else value - than
        return gain > self.min_delta

    def best_epoch(self, values: Sequence[float], losses: Sequence[float] = ()) -> int:
        """The epoch (from 1) with the best value; the last if none is scored.

        Of equal values the one with the smallest loss counts, and of those the first: BLEU is 0
        until four words in a row are right, and accuracy has few values on few items.

        Args:
            values: of each epoch; NaN where it was not scored.
            losses: of each epoch; NaN or none at all where they aren't known.
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
        """Whether the last `patience` epochs that were scored brought nothing better."""
        if patience is None:
            return False
        return len(scored(values[self.best_epoch(values, losses) :])) >= patience


def scored(values: Sequence[float]) -> list[float]:
    """The values of epochs that were scored: all but NaN."""
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
    """Learning rates of consecutive steps.

    Args:
        name: constant, cosine, plateau, noam or inverse_square_root.
        settings: of that schedule.
        peak: the highest rate.
        first_step: steps taken before these.
        steps: how many rates are wanted.
        total_steps: steps of the whole run.
        monitored: for `plateau`, the monitored value of each epoch so far; NaN where not scored.
        monitor: says which of those values are better.

    Returns:
        (steps,) rates.
    """
    step = np.arange(first_step + 1, first_step + steps + 1, dtype=np.float64)
    if name not in _FLAT:
        return peak * _OF_STEPS[name](step, total_steps, **settings)
    own = dict(settings)
    rise = max(round(own.pop("warmup", 0.0) * total_steps), 1)  # of tasks that bring a warm-up
    if name == "plateau":
        share = np.full(steps, plateau(monitored, monitor, **own))
    else:
        share = constant(step, total_steps, **own)
    return peak * share * np.minimum(step / rise, 1.0)


def depends_on_length(name: str, settings: Mapping[str, Any]) -> bool:
    """Whether the rate at a step depends on how many steps the whole run has."""
    if name in _FLAT:
        return settings.get("warmup", 0.0) > 0
    return not settings.get("warmup_steps")


def constant(step: np.ndarray, total_steps: int) -> np.ndarray:
    """1 at every step."""
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
        warmup_steps: w itself, whatever the length of the run; None leaves it to `warmup`.
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
        initial: share of the peak where the warm-up begins.
        final: share of the peak below which the rate does not fall.
    """
    rise = max(round(warmup * total_steps), 1)
    rising = initial + (1.0 - initial) * step / rise
    return np.where(step <= rise, rising, np.maximum(np.sqrt(rise / step), final))


def plateau(
    monitored: Sequence[float], monitor: Monitor, *, factor: float, patience: int, minimum: float
) -> float:
    """Share of the peak after the epochs seen: times `factor` at each plateau.

    A plateau is `patience` scored epochs in a row without a better monitored value; the count
    starts anew after each cut. A function of the history, so a resumed run needs no extra state.
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


_FLAT = ("constant", "plateau")  # what has no warm-up of its own
_OF_STEPS = {
    "cosine": cosine,
    "noam": noam,
    "inverse_square_root": inverse_square_root,
}
