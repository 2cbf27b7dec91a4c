"""What is composed quickly is what Hydra composes for the command."""

import pytest

from attnlab.cli import train
from attnlab.config import composing
from attnlab.errors import RequestError
from attnlab.sweeps.composer import configuration


def by_hydra(*words):
    found = []
    train(list(words), lambda cfg: found.append(composing.from_hydra(cfg)) or 0)
    return found[0]


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("task=fib", "attention=bahdanau", "seed=4", "trainer.patience=null"),
        ("task=sunspots", "model=transformer", "attention=multi_head", "model.units=64"),
        ("task=translate", "data=files", "data.path=x.tsv", "optimizer=sgd"),
    ],
)
def test_it_is_the_same(words):
    expected = by_hydra(*words)
    for _ in range(2):
        found = configuration(words)
        assert (found.document, found.digest) == (expected.document, expected.digest)


@pytest.mark.parametrize(
    "word",
    [
        *("-q", "+seed=1", "~data", "hydra.verbose=true", "experiment=book_fib", "search=fast"),
        *("sweep.name=x", "attention._target_=os.system", "attention=no", "model.units=-1", "seed"),
    ],
)
def test_what_is_special_or_wrong_is_left_to_hydra(word):
    assert configuration(["task=fib", word]) is None


def test_a_changed_file_is_read_again(tmp_path, monkeypatch):
    (tmp_path / "optimizer").mkdir()
    file = tmp_path / "optimizer" / "mine.yaml"
    monkeypatch.setenv("ATTNLAB_CONFIG_DIR", str(tmp_path))
    shipped = by_hydra("optimizer=sgd")
    assert configuration(["optimizer=mine"]) is None
    with pytest.raises(RequestError):
        by_hydra("optimizer=mine")
    for rate in (0.25, 0.5):
        file.write_text(f"defaults: [sgd]\nlearning_rate: {rate}\n")
        found = configuration(["optimizer=mine"])
        assert found.optimizer.settings == {**shipped.optimizer.settings, "learning_rate": rate}
