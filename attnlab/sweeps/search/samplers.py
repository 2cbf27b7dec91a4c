"""Optuna's samplers and pruners, as the settings of a search ask for them.

Imports Optuna: to be imported where a search is under way.
"""

from __future__ import annotations

import warnings

import numpy as np
from optuna import pruners, samplers

from attnlab.sweeps.search.settings import SearchSettings

# Of `asha` and `hyperband`: one run in three goes on to three times as many epochs.
REDUCTION = 3


def make_sampler(settings: SearchSettings, number: int) -> samplers.BaseSampler:
    """The sampler that suggests the values of one trial.

    Each trial has a sampler of its own, seeded by the search's seed and its number, which goes by
    what the storage knows. A search that was killed so goes on as it would have, and processes
    that share a storage don't suggest the same values.
    """
    seed = int(np.random.SeedSequence([settings.seed, number]).generate_state(1)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna calls some arguments experimental
        if settings.sampler == "grid":
            return samplers.GridSampler(settings.space.grid(), seed=settings.seed)
        if settings.sampler == "random":
            return samplers.RandomSampler(seed=seed)
        if settings.sampler == "nsgaii":
            return samplers.NSGAIISampler(population_size=settings.population or 50, seed=seed)
        if settings.sampler == "cmaes":
            return samplers.CmaEsSampler(
                n_startup_trials=settings.startup_trials,
                independent_sampler=samplers.RandomSampler(seed=seed),
                warn_independent_sampling=False,
                consider_pruned_trials=settings.pruner != "none",
                popsize=settings.population,
                seed=seed,
            )
        return samplers.TPESampler(
            n_startup_trials=settings.startup_trials, constant_liar=True, seed=seed
        )


def make_pruner(settings: SearchSettings) -> pruners.BasePruner:
    """Who decides, after an epoch, whether a run is hopeless."""
    if settings.pruner == "median":
        return pruners.MedianPruner(
            n_startup_trials=settings.prune_after_trials,
            n_warmup_steps=settings.prune_after_epochs,
        )
    if settings.pruner == "asha":
        return pruners.SuccessiveHalvingPruner(
            min_resource=settings.prune_after_epochs, reduction_factor=REDUCTION
        )
    if settings.pruner == "hyperband":
        # The most epochs that a run can have: known as soon as one has completed.
        return pruners.HyperbandPruner(
            min_resource=settings.prune_after_epochs,
            max_resource="auto",
            reduction_factor=REDUCTION,
        )
    return pruners.NopPruner()
