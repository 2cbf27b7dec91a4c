"""Search with real models: a translation doesn't depend on the other sentences of its batch."""

from __future__ import annotations

import numpy as np
import pytest
from small_translators import QUERYING, small_translator

from attnlab.tasks.translation.search import Search
from attnlab.text.tokenizers import END, START

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

LENGTHS, LONGEST, EXTRA = (2, 7, 1, 4, 5, 5, 3), 7, 6
SIZES = {"source_size": 17, "target_size": 13, "max_source": LONGEST, "max_target": LONGEST}
SMALL = {
    "rnn": {"units": 8, "embedding": 6, "maxout_units": 5},
    "transformer": {"units": 8, "layers": 1, "heads": 2, "feed_forward": 11},
}
# Every mechanism, the two models in turn; by default those of the papers that the models are of.
# The plain search of `test_search` has beams of one.
CASES = [
    pytest.param(*case, marks=() if case[1] in ("bahdanau", "multi_head") else pytest.mark.slow)
    for case in [
        ("rnn", "none", 3),
        *((("rnn", "transformer")[place % 2], name, 3) for place, name in enumerate(QUERYING)),
    ]
]


def build(model: str, attention: str, **settings):
    """An untrained model with clearly different logits."""
    return small_translator(model, attention, {**SMALL[model], **settings}, by=0.7, **SIZES)


def rows() -> list[np.ndarray]:
    draw = np.random.default_rng(1)
    return [np.array([*draw.integers(4, 17, n - 1), END], np.int32) for n in LENGTHS]


def scored(model, row: np.ndarray, tokens: np.ndarray) -> float:
    """The log-probability of a translation, by the whole model at once."""
    target = np.array([[START, *tokens, END]], np.int32)
    logits = np.array(model((row[None], target[:, :-1])), np.float64)[0]
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return float(np.take_along_axis(logs, target[0, 1:, None], 1).sum())


@pytest.mark.parametrize("name, attention, beam", CASES)
def test_a_translation_does_not_depend_on_its_batch(name, attention, beam):
    model = build(name, attention)
    search = Search(model, beam=beam, n_best=beam, extra_length=EXTRA)
    for row, best in zip(rows(), search(rows()), strict=True):
        (alone,) = search([row])
        assert len(best) == beam
        for one, other in zip(best, alone, strict=True):
            np.testing.assert_array_equal(one.tokens, other.tokens)
            assert one.score == pytest.approx(other.score, abs=1e-4)
        truth = scored(model, row, best[0].tokens)
        assert best[0].log_probability == pytest.approx(truth, abs=1e-3)
