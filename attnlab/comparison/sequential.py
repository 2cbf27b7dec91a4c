"""Confidence sequences for a mean: intervals that stay valid however often one looks.

A t interval is valid for one look, at a number of seeds fixed in advance. If you look after each of
64 seeds and stop as soon as the interval excludes 0, you find a difference that doesn't exist in a
third of all cases. The intervals C_n here are valid together: P(all C_n contain the mean) >=
1 - alpha.

C_n contains the means m that are not rejected by the test martingale of Wang and Ramdas (2024,
arXiv 2310.03722, the Gaussian mixture of scale-invariant likelihood ratios; after Lai 1976):

    e_n(m) = sqrt(r) ((1 + u) / (1 + r u))^(n / 2)
    u = T^2 / (n - 1),  T = sqrt(n) (mean - m) / s,  r = 1 / (1 + n g)

e_n(m) is the likelihood ratio of T between two hypotheses: the true mean is z standard deviations
away from m, with z drawn from N(0, g); or the true mean is m. It doesn't depend on the standard
deviation. It starts at e_1 = 1. If m is the true mean, the probability that it ever reaches
1 / alpha is at most alpha (Ville's inequality). So

    C_n = mean -+ s sqrt((n - 1) / n (k - 1) / (1 - k r)),  k = (alpha^2 r)^(-1 / n)

if k r < 1; otherwise C_n contains all numbers, which is so below 5 values at alpha 0.05. g = 1 fits
effects about as large as the spread. Any other g is valid, too, with wider intervals at some n and
narrower ones at others. The only difference from the source: it leaves g open.

The method assumes independent differences from one normal distribution, looked at in an order that
doesn't depend on the results. Heavy tails on both sides make false verdicts rarer; skew and
discrete values make them more frequent. In 20,000 simulations of 64 looks at alpha 0.05, this share
had at least one look whose interval excluded the true mean, here and with the t interval: normal
2.6 and 36 %, Laplace 1.6 and 31 %, t with 3 degrees of freedom 1.5 and 31 %, uniform 4.0 and 39 %;
two values of equal probability 8.6 and 63 %, exponential 12 and 47 %, lognormal 23 and 56 %.

With several comparisons, each uses alpha divided by their number (Bonferroni): all their intervals,
and so all verdicts, are valid together at every look with probability 1 - alpha.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike

ALPHA = 0.05  # of all intervals and verdicts
EFFECT_VARIANCE = 1.0  # g


def radius(n: int, alpha: float = ALPHA) -> float:
    """Return half the width of C_n in sample standard deviations s; may be infinite."""
    r = 1 / (1 + n * EFFECT_VARIANCE)
    k = (alpha**2 * r) ** (-1 / n)
    return math.sqrt((n - 1) / n * (k - 1) / (1 - k * r)) if k * r < 1 else math.inf


def first_bounded(alpha: float = ALPHA) -> int:
    """Return the smallest number of values for which C_n is finite."""
    return next(n for n in itertools.count(1) if math.isfinite(radius(n, alpha)))


def sequential_p(differences: ArrayLike) -> float | None:
    """Return 1 / e_n(0), at most 1: a p value valid at every look; None for equal differences."""
    numbers = np.asarray(differences, float)
    n = len(numbers)
    if not np.ptp(numbers):
        return None
    r = 1 / (1 + n * EFFECT_VARIANCE)
    u = n * float(numbers.mean()) ** 2 / (float(numbers.var(ddof=1)) * (n - 1))
    log_e = (math.log(r) + n * (math.log1p(u) - math.log1p(r * u))) / 2
    return math.exp(min(0.0, -log_e))
