"""Greedy and beam search, compared with exhaustive search and plain loops over Python lists."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.tasks.translation.search import Hypothesis, Search, largest, plan_batches
from attnlab.text.tokenizers import END, PAD, START

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

STORIES, SOURCES = 101, 7


class Memory(NamedTuple):
    source: tf.Tensor


class TableModel:
    """Logits from a table by (source, target so far), so that all hypotheses can be computed.

    A hypothesis that continues with another one's state, or another one's memory, gets other
    logits.
    """

    fixed_length = max_positions = None

    def __init__(self, size: int, seed: int = 0) -> None:
        self.target_size = size
        self.table = tf.Variable(tf.zeros((SOURCES, STORIES, size)))
        self.become(seed)

    def become(self, seed: int) -> None:
        """Draw other logits; compiled functions stay valid."""
        shape = self.table.shape
        self.table.assign(np.random.default_rng(seed).normal(size=shape, scale=2).astype("f"))

    def prefer(self, token: int, by: float) -> None:
        """Make a token likelier everywhere."""
        self.table.assign_add(tf.zeros_like(self.table) + by * tf.one_hot(token, self.target_size))

    def encode(self, source, training=None):
        return Memory(tf.reduce_sum(source, 1) % SOURCES)

    def initial_state(self, memory, length):
        return {"story": tf.zeros_like(memory.source)}

    def step(self, tokens, index, memory, state):
        story = (state["story"] * 13 + tokens * 5 + index) % STORIES
        logits = tf.gather_nd(self.table.read_value(), tf.stack([memory.source, story], 1))
        return logits, {"story": story}

    # The same, one hypothesis at a time.

    def story(self, prefix: Sequence[int]) -> int:
        story = 0
        for index, token in enumerate([START, *prefix]):
            story = (story * 13 + token * 5 + index) % STORIES
        return story

    def log_probabilities(self, row: np.ndarray, prefix: Sequence[int]) -> np.ndarray:
        logits = self.table.numpy()[int(row.sum()) % SOURCES, self.story(prefix)].astype(float)
        return logits - np.log(np.exp(logits).sum())


class Option(NamedTuple):
    """A hypothesis of the plain searches: tokens with END if it ended, log-probability."""

    tokens: tuple[int, ...]
    log: float

    def score(self, alpha: float) -> float:
        return self.log / ((5 + len(self.tokens)) / 6) ** alpha

    @property
    def ended(self) -> bool:
        return END in self.tokens


def continuations(model: TableModel, row: np.ndarray, option: Option, limit: int) -> list[Option]:
    """All continuations, best first; at the longest length only END."""
    logs = model.log_probabilities(row, option.tokens)
    allowed = [token for token in range(model.target_size) if token not in (PAD, START)]
    allowed = [END] if len(option.tokens) == limit - 1 else allowed
    options = [Option((*option.tokens, token), option.log + logs[token]) for token in allowed]
    return sorted(options, key=lambda option: -option.log)


def plain_beam(model, row, limit: int, beam: int, n_best: int, alpha: float) -> list[Option]:
    """Beam search over Python lists."""
    alive, ended = [Option((), 0.0)], []
    while alive and len(ended) < beam:
        options = [new for option in alive for new in continuations(model, row, option, limit)]
        options = sorted(options, key=lambda option: -option.log)
        ended += [option for option in options[:beam] if option.ended]
        alive = [option for option in options if not option.ended][:beam]
        ended = sorted(ended, key=lambda option: -option.score(alpha))
        hope = [Option((0,) * limit, option.log).score(alpha) for option in alive[:1]]
        if len(ended) >= n_best and hope <= [ended[n_best - 1].score(alpha)]:
            break
    return ended[:n_best]


def assert_same(best: list[Hypothesis], expected: list[Option], alpha: float) -> None:
    for hypothesis, option in zip(best, expected, strict=True):
        assert tuple(hypothesis.tokens) == tuple(t for t in option.tokens if t != END)
        assert hypothesis.log_probability == pytest.approx(option.log, abs=1e-4)
        assert hypothesis.score == pytest.approx(option.score(alpha), abs=1e-4)


def rows_of(lengths: Sequence[int], size: int = 23, seed: int = 0) -> list[np.ndarray]:
    """Source rows of random words, with END last."""
    rng = np.random.default_rng(seed)
    return [np.array([*rng.integers(4, size, n - 1), END], np.int32) for n in lengths]


# --- against plain searches --------------------------------------------------------------------


@pytest.mark.parametrize(
    "beam, n_best, alpha", [(1, 1, 0.6), (2, 1, 0.0), (3, 3, 0.6), (5, 2, 0.6), (5, 5, 0.0)]
)
def test_beam_search_equals_a_plain_implementation(beam, n_best, alpha):
    model, rows = TableModel(11), rows_of([1, 6, 2, 9, 4, 4, 3])
    search = Search(model, beam=beam, n_best=n_best, extra_length=5, length_penalty=alpha)
    for seed in range(4):
        model.become(seed)
        for row, best in zip(rows, search(rows), strict=True):
            expected = plain_beam(model, row, len(row) + 5, beam, n_best, alpha)
            assert_same(best, expected, alpha)


# --- what a translation may be -----------------------------------------------------------------


@pytest.mark.parametrize("beam", [1, 4])
def test_padding_and_start_are_never_chosen(beam):
    model = TableModel(6)
    model.prefer(PAD, 50)
    model.prefer(START, 50)
    rows = rows_of(range(1, 30))
    hypotheses = [*itertools.chain(*Search(model, beam=beam, n_best=beam)(rows))]
    assert {int(token) for best in hypotheses for token in best.tokens} == {1, 4, 5}
    assert all(math.isfinite(best.score) for best in hypotheses)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_translation_that_never_ends_is_closed_at_its_own_longest_length(beam):
    model, rows = TableModel(9), rows_of([4, 1, 11])
    model.prefer(END, -50)
    search = Search(model, beam=beam, n_best=beam, extra_length=5)
    assert [{len(h.tokens) for h in best} for best in search(rows)] == [{8}, {5}, {15}]
    model.max_positions = 8
    assert [len(best[0].tokens) for best in search(rows)] == [7, 5, 7]


@pytest.mark.parametrize("beam", [1, 3])
def test_empty_translations_empty_batches_and_a_diverged_model_end(beam):
    model = TableModel(9)
    model.prefer(END, 50)
    ((best, *_),) = Search(model, beam=beam)(rows_of([2]))
    assert (len(best.tokens), best.log_probability) == (0, pytest.approx(0.0, abs=1e-5))
    assert Search(model, beam=beam)([]) == []
    model.table.assign(tf.fill((SOURCES, STORIES, 9), float("nan")))
    for (best,) in Search(model, beam=beam, extra_length=3)(rows_of([2, 4])):
        assert not set(best.tokens.tolist()) - set(range(9))


# --- batches -----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.integers(0, 3000), max_size=300), st.integers(1, 200), st.sampled_from([1, 5, 40])
)
def test_batches_hold_each_row_once_within_bounded_memory(lengths, batch_size, beam):
    batches = [list(places) for places in plan_batches(lengths, batch_size, beam)]
    assert sorted(itertools.chain(*batches)) == list(range(len(lengths)))
    for places in batches:
        width = max(lengths[place] for place in places)
        assert len(places) == 1 or len(places) * beam <= batch_size
        assert len(places) == 1 or len(places) * width * max(beam, width / 123) <= 16_384


def test_one_trace_serves_every_shape_and_changed_weights():
    model, traces = TableModel(11), []
    step = model.step
    model.step = lambda *inputs: traces.append(1) or step(*inputs)
    for beam in (1, 3):
        search = Search(model, beam=beam)
        before = search(rows_of([3, 5]))
        assert len(traces) == 1
        model.table.assign(tf.reverse(model.table, [1]))
        after = search(rows_of([3, 5]))
        assert search(rows_of([2, 7, 9]))
        assert len(traces) == 1
        assert before[0][0].score != after[0][0].score
        traces.clear()


@pytest.mark.parametrize("beam", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_xla_finds_the_same(beam):
    model, rows = TableModel(11, 2), rows_of([3, 20, 1, 7, 6])
    plain, compiled = (Search(model, beam=beam, jit=jit)(rows) for jit in (False, True))
    for (one,), (other,) in zip(plain, compiled, strict=True):
        np.testing.assert_array_equal(one.tokens, other.tokens)
        assert one.score == pytest.approx(other.score, abs=1e-4)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 3000), st.integers(1, 14), st.integers(0, 99))
def test_the_largest_logits_are_found_in_blocks(size, count, seed):
    """Also for ties: greedy decoding takes the first maximum."""
    count = min(count, size)
    logits = np.random.default_rng(seed).integers(0, 2000, (3, size)).astype(np.float32)
    values, tokens = largest(tf.constant(logits), count)
    np.testing.assert_array_equal(values, np.sort(logits, 1)[:, ::-1][:, :count])
    np.testing.assert_array_equal(np.take_along_axis(logits, np.array(tokens), 1), values)
    np.testing.assert_array_equal(np.array(tokens)[:, 0], logits.argmax(1))
    assert all(len(set(row)) == count for row in np.array(tokens).tolist())
