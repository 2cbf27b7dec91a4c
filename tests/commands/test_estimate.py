"""`attnlab estimate`: what a run takes, from a few measured steps."""

import json

import pytest

FORECASTER = ("task=fib", "task.count=60", "model.units=3", "trainer.epochs=4")
OTHERS = {
    "translate": ("task=translate", "data.pairs=300", "model.units=8", "task.score_every=4"),
    "classify": ("task=digits", "data.limit=200", "model.units=8", "model.layers=1"),
    "language": ("task=language", "data.sentences=100", "model.units=8", "attention.heads=2"),
}


def estimated(here, *words):
    """Return the numbers of `attnlab estimate`, and check that it stores no run."""
    outcome = here.run("estimate", *words, "--json")
    assert not here.runs.exists()
    return json.loads(outcome.out)


def test_numbers_are_those_of_the_run(here, no_figures):
    numbers = estimated(here, *FORECASTER)
    assert numbers["epochs"] == 4 and numbers["step"] > 0
    epoch = numbers["steps_per_epoch"] * numbers["step"] + numbers["validation"]
    assert numbers["seconds"] == pytest.approx(numbers["preparing"] + 4 * epoch)
    assert here("-v", *FORECASTER, "tracking.enabled=false").code == 0
    (folder,) = here.runs.glob("fib/*/*")
    assert json.loads((folder / "metrics.json").read_text())["parameters"] == numbers["parameters"]
    assert numbers["steps_per_epoch"] == 6
    assert (folder / "checkpoint" / "step_000000024.ckpt").exists()  # four epochs


@pytest.mark.slow
@pytest.mark.parametrize("kind", OTHERS)
def test_other_kinds_are_measured(here, kind):
    numbers = estimated(here, *OTHERS[kind])
    assert numbers["step"] > 0 and numbers["validation"] > 0


def test_a_device_out_of_memory_is_one_sentence(here):
    words = (*FORECASTER, "model.cell=simple", "tracking.enabled=false")
    for verb in (["estimate"], []):
        outcome = here(*verb, *words, "model.units=20_000_000")  # no address space has its weights
        assert outcome.code == 2
        last = outcome.err.splitlines()[-1]
        assert last.startswith("attnlab: trainer.batch_size=4: the device is out of memory: use a ")


def test_a_table_has_units(here):
    out = here("estimate", *FORECASTER).out
    assert "4 epochs of 6" in out and "without scoring the test part" in out
