"""Measures and examples of maps: known maps give known numbers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from attnlab.tasks.translation.attention_maps import attention_details, examples, stacked
from attnlab.tasks.translation.corpora.corpus import Corpus
from attnlab.tasks.translation.pair import Pair
from attnlab.tasks.translation.task import Translate

PAIRS = [("a b c", "x y z", "0-2 1-1 2-0"), ("b a", "y x", "0-1 1-0")]


class Linked(Corpus):
    """Sentences that are translated word by word, in reverse order."""

    name = "linked"
    own_parts = ("train", "test")
    linked = True

    def pairs(self, part=None):
        for source, target, links in PAIRS:
            yield Pair(source, target, links if self.linked else None)

    def digest(self):
        return f"linked {self.linked}"


def task(cache, linked: bool = True) -> Translate:
    corpus = Linked()
    corpus.linked = linked
    found = Translate(corpus=corpus, cache=cache)
    found.load(0)
    return found


def looking(*, late: int = 0, layers: int = 1):
    """A model that attends to the right word, `late` steps after predicting it."""

    def attend(source, target):
        steps = target.shape[1]
        weights = np.full((len(source), layers, 1, steps, source.shape[1]), 1e-3)
        for row, ids in enumerate(source):
            words = np.count_nonzero(ids) - 1
            for step in range(words):
                if step + late < steps:
                    weights[row, -1, 0, step + late, words - 1 - step] = 1.0
        return {"cross": weights}

    parts = {"fixed_length": None, "max_positions": None, "_flatten_layers": list}
    return SimpleNamespace(attend=attend, **parts)


def details(task: Translate, model):
    return attention_details(task.tokenizers, model, task.tokenized.parts["test"])


def test_right_maps_have_no_alignment_error(tmp_path):
    found = details(task(tmp_path), looking())
    assert found["alignment"]["error_rate"] == 0
    assert found["alignment"]["shifted_error_rate"] > 0.3
    assert found["attention_maps"]["sentences"] == 2


def test_maps_that_are_a_step_late_are_right_when_shifted(tmp_path):
    found = details(task(tmp_path), looking(late=1))["alignment"]
    assert found["shifted_error_rate"] == 0
    assert found["error_rate"] > 0.3


def test_each_layer_has_its_own_error(tmp_path):
    found = details(task(tmp_path), looking(layers=2))["alignment"]
    first, second = found["layers"]
    assert (second["error_rate"], found["error_rate"]) == (0, 0)
    assert first["error_rate"] > 0


def test_without_gold_links_there_are_only_measures(tmp_path):
    found = details(task(tmp_path, linked=False), looking())
    assert set(found) == {"attention_maps"}
    assert found["attention_maps"]["largest_weight"] == pytest.approx(0.73, abs=0.1)


def test_a_model_without_attention_has_no_details(tmp_path):
    blind = SimpleNamespace(fixed_length=None, max_positions=None, attend=lambda *_: {})
    assert details(task(tmp_path), blind) == {}


@pytest.mark.parametrize(("linked", "right"), [(True, True), (True, False), (False, True)])
def test_gold_links_are_saved_for_right_translations(tmp_path, linked, right):
    found = task(tmp_path, linked)

    def search(rows):
        (tokens,) = found.target_tokenizer.encode(["y x" if right else "x"])
        return [[SimpleNamespace(tokens=np.array(tokens))]]

    part = found.tokenized.parts["test"]
    (each,) = examples(found.tokenizers, looking(), search, part, 1)  # of the shorter sentence
    assert (each.gold is not None) == (linked and right)
    kept = stacked([each])
    assert ("gold" in kept) == (linked and right)
    if linked and right:
        assert np.argwhere(kept["gold"][0]).tolist() == [[0, 1], [1, 0]]
