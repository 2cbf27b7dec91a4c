"""Private interfaces of libraries that sweeps use: an upgrade that breaks them fails here.

Seen in hydra-core 1.3.8, hydra-joblib-launcher 1.2.0, hydra-submitit-launcher 1.2.0, joblib 1.6.0,
submitit 1.5.4 and Optuna 5.0.0.
"""

from __future__ import annotations

import os
import pickle

import optuna
import pytest
from command_line import CONF
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import HydraContext, RunMode
from omegaconf import OmegaConf

from attnlab.config import composing
from attnlab.sweeps import internals, plugin
from attnlab.sweeps.grid import parse


@pytest.fixture
def hydra():
    """Hydra's context, and the configuration of a sweep with some overrides of Hydra's own."""
    composing.register_schema()
    plugin.register([])
    with initialize_config_dir(str(CONF), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        words = [*composing.HYDRA_SETTINGS, "hydra/sweeper=attnlab"]

        def load(*overrides):
            found = loader.load_configuration("config", [*words, *overrides], RunMode.MULTIRUN)
            OmegaConf.set_readonly(found.hydra, None)
            return found

        from hydra._internal.callbacks import Callbacks

        yield HydraContext(config_loader=loader, callbacks=Callbacks()), load


def test_hydra_finds_a_sweeper_by_the_name_under_which_it_is_registered(hydra):
    from hydra.core.plugins import Plugins

    context, load = hydra
    found = Plugins.instance().instantiate_sweeper(
        hydra_context=context, task_function=print, config=load()
    )
    assert isinstance(found, plugin.AttnlabSweeper)


def test_hydra_applies_overrides_to_a_configuration_that_is_composed(hydra):
    context, load = hydra
    composed = load()
    overrides = parse(["trainer.epochs=7", "++search.space={a.b: 3}"], context.config_loader)
    internals.apply_overrides(overrides, composed)
    assert composed.trainer.epochs == 7 and composed.search.space == {"a.b": 3}


def work(cfg):
    if cfg.seed == 1:
        raise ValueError("one")
    return cfg.seed, os.getpid()


@pytest.mark.parametrize("launcher", ["basic", "joblib"])
def test_hydras_launcher_returns_the_result_of_each_call(hydra, tmp_path, launcher):
    context, load = hydra
    more = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=1"] if launcher == "joblib" else []
    composed = internals.in_folder(load(*more), tmp_path)
    found = internals.launch(context, work, composed, [["seed=0"], ["seed=1"], ["seed=2"]])
    assert [each[0] for each in (found[0], found[2])] == [0, 2]
    assert isinstance(found[1], ValueError)


class Large:
    """Work that is large when pickled."""

    def __init__(self):
        self.data = os.urandom(50_000)

    def __call__(self, cfg):
        return cfg.seed, len(self.data)


def test_jobs_read_their_work_from_a_file(hydra, tmp_path, monkeypatch):
    context, load = hydra
    sent = []

    def launch(context, work, composed, overrides):
        sent.append(len(pickle.dumps(work)))
        return original(context, work, composed, overrides)

    original = internals.launch
    monkeypatch.setattr(internals, "launch", launch)
    composed = internals.in_folder(load(), tmp_path)
    for keep in (True, False):
        words = [["seed=4"], ["seed=5"]]
        found = internals.launch_stored(context, Large(), composed, words, keep=keep)
        assert found == [(4, 50_000), (5, 50_000)]
        assert len([*tmp_path.glob(".jobs/*")]) == 1
    assert max(sent) < 500


def test_joblibs_workers_are_ended():
    import joblib
    from joblib.externals.loky import get_reusable_executor

    pids = set(joblib.Parallel(n_jobs=2)(joblib.delayed(os.getpid)() for _ in range(2)))
    assert os.getpid() not in pids
    executor = get_reusable_executor()
    internals.end_workers()
    assert executor is not get_reusable_executor()
    internals.end_workers()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_job_of_submitit_without_a_result_has_an_error_instead():
    from submitit import Job
    from submitit.core.utils import UncompletedJobError

    class Ended(Job):
        def __init__(self):
            self._sub_jobs = []
            self._cancel_at_deletion = False

        def wait(self):
            raise UncompletedJobError("taken away")

    before = Job.results
    with internals.every_result():
        (found,) = Ended().results()
    assert internals.was_ended(found._return_value)
    assert not internals.was_ended(ValueError("x"))
    assert Job.results is before


def test_optuna_opens_a_trial_that_exists(recwarn):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    template = optuna.trial.create_trial(state=optuna.trial.TrialState.RUNNING)
    study.add_trial(template)
    (known,) = study.get_trials()
    trial = optuna.trial.Trial(study, known._trial_id)
    assert 0 <= trial.suggest_float("x", 0, 1) <= 1
    trial.report(0.5, 1)
    (told,) = study.get_trials()
    assert list(told.params) == ["x"] and told.intermediate_values == {1: 0.5}
    assert trial.should_prune() is False
