"""The task of translating: its saved files, and its baselines."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from pair_lists import Listed

from attnlab.errors import RequestError
from attnlab.tasks.data.tokens import Tokens
from attnlab.tasks.translation.report import nearest_rows
from attnlab.tasks.translation.task import Translate
from attnlab.tasks.translation.tokenized import pad_pairs
from attnlab.text.tokenizers import END, PAD, START

PAIRS = [
    ("the dog sleeps", "der Hund schläft"),
    ("the cat sleeps", "die Katze schläft"),
    ("the dog eats", "der Hund frisst"),
    ("a bird sings", "ein Vogel singt"),
    ("the old cat eats", "die alte Katze frisst"),
    ("we see a bird", "wir sehen einen Vogel"),
]


def translate(cache, pairs=PAIRS, **settings) -> Translate:
    corpus = Listed(train=pairs[:4], validation=pairs[4:5], test=pairs[5:])
    return Translate(corpus=corpus, cache=cache, **settings)


def ragged(*rows: list[int]) -> Tokens:
    return Tokens(np.concatenate(rows), np.cumsum([0, *map(len, rows)]))


def test_the_output_bias_starts_at_the_word_frequencies(tmp_path):
    """The biases of START, padding and words that don't occur are those of the rarest."""
    import keras

    from attnlab.attention import LuongGlobalAttention

    task = translate(tmp_path)
    task.load(0)
    settings = {"units": 4, "embedding": 3, "maxout_units": 2}
    model = task.build(LuongGlobalAttention, SimpleNamespace(name="rnn", settings=settings))
    rows = task.tokenizers[1].encode([target for _, target in PAIRS[:4]])
    written = [token for row in rows for token in [*row, END]]
    counts = np.bincount(written, minlength=task.tokenizers[1].size) + 1
    shares = keras.ops.softmax(model.vocabulary.bias)
    np.testing.assert_allclose(shares, counts / counts.sum(), rtol=1e-5)
    assert counts[START] == counts[PAD] == 1 and counts[END] == 5


@pytest.mark.parametrize("shared", [False, True])
def test_the_saved_files_are_enough_to_translate(tmp_path, shared):
    from attnlab.attention import BahdanauAttention
    from attnlab.config.sections import Option

    task = translate(tmp_path, shared_vocabulary=shared, lowercase=True)
    task.load(0)
    folder = tmp_path / "assets"
    folder.mkdir()
    task.save(folder)
    again = translate(tmp_path / "nowhere", shared_vocabulary=shared, lowercase=True)
    again.load_from(folder)
    assert again.longest == task.longest == (4, 5)
    text = "THE dog sings"
    assert again.tokenizers[0].encode([text]) == task.tokenizers[0].encode([text])
    assert (again.tokenizers[0] is again.tokenizers[1]) == shared
    option = Option("rnn", {"units": 6, "embedding": 4})
    model = again.build(BahdanauAttention, option)
    assert len(again.serve(model, ["the dog", ""])) == 2


def test_other_settings_than_the_saved_ones_are_refused(tmp_path):
    task = translate(tmp_path)
    task.load(0)
    task.save(tmp_path)
    with pytest.raises(RequestError, match=r"text.json: expected the text settings"):
        translate(tmp_path, lowercase=True).load_from(tmp_path)
    (tmp_path / "text.json").write_text("{")
    with pytest.raises(RequestError, match=r"text.json: damaged or missing: "):
        translate(tmp_path).load_from(tmp_path)


@pytest.mark.parametrize("multiple", [1, 4])
def test_no_batch_is_wider_than_the_model_reaches(multiple):
    part = SimpleNamespace(
        source=ragged([5, 6, 7, 8, END], [5, END]),
        target=ragged([START, 9, END], [START, *[9] * 7]),
    )
    rows = np.array([0, 1])
    reaching = SimpleNamespace(fixed_length=3, max_positions=5)
    source, target = pad_pairs(reaching, part, rows, multiple)
    assert source.tolist() == [[5, 6, END], [5, END, PAD]]
    assert target.tolist() == [[START, 9, END, PAD, PAD], [START, 9, 9, 9, 9]]
    source, target = pad_pairs(reaching, part, rows[:1], multiple)
    assert source.tolist() == [[5, 6, END]] and target[:, :3].tolist() == [[START, 9, END]]
    free = SimpleNamespace(fixed_length=None, max_positions=None)
    source, target = pad_pairs(free, part, rows, multiple)
    assert source.shape == (2, -(-5 // multiple) * multiple)
    assert target.shape == (2, -(-7 // multiple) * multiple + 1)


def test_translations_may_be_as_much_longer_as_in_training(tmp_path):
    """Fixed: a translation of many more tokens than its source was cut at 50 more."""
    pairs = [("a b", " ".join(["x"] * 70))] * 6
    task = translate(tmp_path, pairs)
    task.load(0)
    assert task.extra_length == 69  # START, 70 words and END, against two words and END
    task.save(tmp_path)
    again = translate(tmp_path, pairs)
    again.load_from(tmp_path)
    assert again.extra_length == 69


def test_the_nearest_pair_is_the_one_of_the_largest_cosine():
    draw = np.random.default_rng(3)
    train = [draw.integers(4, 17, draw.integers(1, 9)).tolist() for _ in range(41)]
    queries = [draw.integers(4, 19, draw.integers(1, 9)).tolist() for _ in range(23)]

    def counted(row):
        return np.bincount(row, minlength=19).astype(float)

    table = np.array([counted(row) for row in train])
    frequencies = (table > 0).sum(0)
    idf = np.where(frequencies > 0, 1 + np.log(41 / np.maximum(frequencies, 1)), 0)
    vectors = table * idf / np.linalg.norm(table * idf, axis=1, keepdims=True)
    for row, place in enumerate(nearest_rows(ragged(*train), ragged(*queries), 20, 19)):
        similar = vectors @ (counted(queries[row]) * idf)
        assert similar[place] == pytest.approx(similar.max(), rel=1e-5)
