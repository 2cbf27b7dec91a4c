"""Runs that share compiled programs give the results of separate runs; which compiler is used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import CONF, ROOT, some_pairs
from same_runs import assert_same_run

from attnlab.internals import import_tensorflow
from attnlab.runner.resume import run
from attnlab.training import compilation
from attnlab.training.compilation import XlaLimit, is_faster_with_xla, trains_with_xla

import_tensorflow()

FIB = (
    *("task=fib", "task.count=61", "task.history=5", "model.units=3", "trainer.batch_size=7"),
    "model.cell=simple",
)
DROPPING = ("attention=bahdanau", "attention.dropout=0.2", "model.dropout=0.3")


pytestmark = pytest.mark.usefixtures("no_figures")


@pytest.fixture(autouse=True)
def nothing_kept():
    compilation._cache.clear()
    yield
    compilation._cache.clear()


def assert_equal(first: list, second: list) -> None:
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def translation(folder: Path) -> tuple[str, ...]:
    lines = [f"{pair.source}\t{pair.target}\n" for pair in some_pairs(100)]
    (folder / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    return (
        *("task=translate", "data=files", f"data.path={folder / 'pairs.tsv'}"),
        # So small a vocabulary is full whatever the seed, so that all runs have the same shapes.
        *(f"paths.data={folder}", "task.vocabulary=40", "attention=multi_head"),
        *("attention.heads=2", "model=transformer", "model.units=8", "model.heads=2"),
        *("model.feed_forward=8", "model.layers=1", "model.dropout=0.2", "trainer.batch_size=300"),
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["forecast", "translation"])
def test_a_run_in_a_shared_process_equals_a_separate_one(compose, attnlab, tmp_path, kind):
    quick = (*FIB, *DROPPING, "trainer.jit=false")  # compiled by XLA: in tests/test_runner.py
    settings = quick if kind == "forecast" else translation(tmp_path)
    wanted = (*settings, "trainer.epochs=2", "seed=5")
    attnlab.run(*wanted, "tracking.enabled=false")
    (alone,) = attnlab.run_folders()
    run(compose(*settings, "trainer.epochs=1", "seed=7", "optimizer.learning_rate=0.1"))
    run(compose(*settings, "trainer.epochs=1", "seed=11", "schedule=constant"))
    third = run(compose(*wanted))
    assert_same_run(third, alone)
    assert len(compilation._cache) == 1


def test_settings_outside_the_program_need_no_compilation(learner_of):
    compiled = learner_of(*FIB, "trainer.jit=false").compiled
    for other in (
        *("seed=3", "optimizer.learning_rate=0.1", "schedule=constant", "trainer.epochs=7"),
        *("trainer.patience=3", "trainer.min_delta=0.1", "tracking.weights=none"),
    ):
        assert learner_of(*FIB, "trainer.jit=false", other).compiled is compiled, other


@pytest.mark.slow
def test_settings_inside_the_program_are_compiled_again(learner_of, monkeypatch):
    monkeypatch.setattr(compilation, "_MOST", 99)
    compiled = learner_of(*FIB, "trainer.jit=false").compiled
    for other in (
        *("trainer.jit=true", "trainer.batch_size=11", "trainer.precision=mixed_bfloat16"),
        *("task.history=7", "task.validation=0.3", "attention=luong_global", "model.dropout=0.1"),
        *("attention.dropout=0.1", "optimizer.beta_1=0.8", "optimizer=sgd", "model.units=5"),
    ):
        assert learner_of(*FIB, "trainer.jit=false", other).compiled is not compiled, other
    assert learner_of(*FIB, "trainer.jit=false").compiled is compiled


def test_two_learners_at_once_share_no_variables(learner_of):
    first, second = (learner_of(*FIB, "trainer.jit=false", f"seed={seed}") for seed in (1, 2))
    assert first.model is not second.model
    before = second.model.get_weights()
    (chunk,) = first.chunks(1)
    first.train(chunk, np.full(chunk.steps, 0.1), 0)
    assert_equal(second.model.get_weights(), before)
    third = learner_of(*FIB, "trainer.jit=false", "seed=2")  # a reused program starts anew
    assert third.compiled is first.compiled and third.optimizer.iterations == 0
    assert_equal(third.model.get_weights(), before)


@pytest.mark.slow
def test_few_programs_and_no_data_are_cached(learner_of, monkeypatch):
    monkeypatch.setattr(compilation, "_MOST", 2)
    for units in (2, 3, 4):
        learner_of(*FIB, "trainer.jit=false", f"model.units={units}")
    assert len(compilation._cache) == 2
    assert not any(hasattr(program, "inputs") for program, _ in compilation._cache.values())
    monkeypatch.setattr(compilation, "_MOST_BYTES", 1)
    learner_of(*FIB, "trainer.jit=false", "model.units=2")
    assert len(compilation._cache) == 1  # the one in use, however large


def test_a_long_epoch_comes_in_chunks_that_change_nothing(learner_of, monkeypatch):
    settings = (*FIB, *DROPPING, "trainer.batch_size=1", "trainer.jit=false")
    whole, states = learner_of(*settings), []
    (plan,) = whole.chunks(2)
    losses = whole.train(plan, np.linspace(0.1, 0.01, plan.steps), 3)
    states.append(whole.model.get_weights())
    monkeypatch.setattr("attnlab.tasks.in_memory._CHUNK", 13)
    parts = learner_of(*settings)
    chunks, done, losses_of_chunks = parts.chunks(2), 0, []
    assert [chunk.steps for chunk in chunks[:-1]] == [13] * (len(chunks) - 1)
    assert 0 < chunks[-1].steps < 13
    rates = np.linspace(0.1, 0.01, plan.steps)
    for chunk in chunks:
        losses_of_chunks.append(parts.train(chunk, rates[done : done + chunk.steps], 3 + done))
        done += chunk.steps
    assert done == plan.steps
    assert_equal([np.concatenate(values) for values in zip(*losses_of_chunks, strict=True)], losses)
    assert_equal(parts.model.get_weights(), states[0])


MANY = """
import gc, sys
from pathlib import Path
from command_line import without_figures
from hydra import compose, initialize_config_dir
from attnlab.config import composing as config
from attnlab.runner.resume import run

config.register_schema()
conf, runs, *words = sys.argv[1:]
with without_figures(), initialize_config_dir(conf, version_base="1.3"):
    for job in range(15):
        mechanism = ("bahdanau", "luong_global", "multi_head")[job % 3]
        words_of_job = [f"paths.runs={runs}", f"seed={job}", f"attention={mechanism}", *words]
        run(config.from_hydra(compose("config", words_of_job)))
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        print(pages, file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory from /proc")
def test_memory_stays_as_it_is_over_15_jobs(tmp_path):
    # Figures are drawn by another process, whose memory is not looked at.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    words = [str(CONF), str(tmp_path), *FIB, "model.units=4", "trainer.epochs=2"]
    done = subprocess.run(
        [sys.executable, "-c", MANY, *words], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    # The programs of three mechanisms are compiled by then.
    pages = [int(line) for line in done.stderr.splitlines() if line.isdecimal()]
    assert len(pages) == 15
    assert pages[-1] <= 1.2 * pages[4]


# The compiler

WIDE, NARROW = "flags\t\t: fpu avx2 avx512f avx512_vnni", "flags\t\t: fpu avx avx2 fma"


@pytest.fixture
def processor(monkeypatch, tmp_path):
    """Replace the processor's description; None: it has none."""

    def say(flags):
        path = tmp_path / "cpuinfo"
        if flags is not None:
            path.write_text(f"processor\t: 0\n{flags}\nbugs\t\t: avx512f\n")
        monkeypatch.setattr(compilation, "_CPUINFO", path)
        compilation.has_avx512.cache_clear()

    yield say
    compilation.has_avx512.cache_clear()


@pytest.mark.parametrize(("flags", "wide"), [(WIDE, True), (NARROW, False), (None, False)])
def test_the_vectors_of_the_processor_decide(processor, flags, wide):
    processor(flags)
    assert compilation.has_avx512() is wide
    assert is_faster_with_xla(256, XlaLimit.RECURRENT_TRANSLATOR) is wide
    assert not is_faster_with_xla(257, XlaLimit.RECURRENT_TRANSLATOR)


@pytest.mark.parametrize("faster", [True, False])
def test_the_setting_decides_and_auto_takes_the_faster_one(monkeypatch, faster):
    monkeypatch.setattr(compilation, "has_gpu", lambda: False)
    assert trains_with_xla(True, faster) and not trains_with_xla(False, faster)
    assert trains_with_xla("auto", faster) is faster
    monkeypatch.setattr(compilation, "has_gpu", lambda: True)
    assert trains_with_xla("auto", faster) and not trains_with_xla(False, faster)
