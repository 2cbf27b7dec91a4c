"""Baselines of classifiers, on simple texts."""

from __future__ import annotations

import numpy as np
import pytest
from labelled import part, some_texts
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from attnlab.tasks.classification import baselines as module
from attnlab.tasks.classification.baselines import baselines, drawn


def test_majority_predicts_the_shares_of_train():
    train = part(["a", "b", "c", "d"], [1, 1, 1, 0])
    found = baselines(train, part(["a", "b"], [0, 0]), 3)["majority"]
    assert found.tolist() == [[0.25, 0.75, 0]] * 2


def test_word_counts_ignore_the_order_of_words():
    train = part(["dog bites man", "man bites dog", "sun shines", "sun sets"] * 5, [0, 0, 1, 1] * 5)
    found = baselines(train, part(["dog dog", "the sun", "man dog bites"], [0, 1, 0]), 2)
    assert found["word_counts"].argmax(axis=1).tolist() == [0, 1, 0]
    swapped = baselines(train, part(["dog bites man", "man bites dog"], [0, 0]), 2)["word_counts"]
    assert np.array_equal(swapped[0], swapped[1])


def test_word_counts_are_scikit_learns_pipeline():
    """Compared with scikit-learn's pipeline on words that both split alike."""
    train, asked = some_texts(80), some_texts(30, seed=1)
    vectorizer = TfidfVectorizer(tokenizer=str.split, token_pattern=None)
    model = LogisticRegression(max_iter=5000, tol=1e-8)
    model.fit(vectorizer.fit_transform(train.texts), train.labels)
    expected = model.predict_proba(vectorizer.transform(asked.texts))
    found = baselines(train, asked, 3)["word_counts"]
    assert found == pytest.approx(expected, abs=1e-2)
    assert np.array_equal(found.argmax(axis=1), expected.argmax(axis=1))


def test_the_nearest_text_is_that_of_the_largest_cosine():
    train, asked = some_texts(80), some_texts(30, seed=1)
    vectorizer = TfidfVectorizer(tokenizer=str.split, token_pattern=None)
    memory = vectorizer.fit_transform(train.texts).toarray()
    queries = vectorizer.transform(asked.texts).toarray()
    found = baselines(train, asked, 3)["nearest"]
    for probabilities, query in zip(found, queries, strict=True):
        similar = memory @ query
        tied = train.labels[similar > similar.max() - 1e-9]
        assert probabilities.argmax() in tied
        assert sorted(probabilities) == pytest.approx([1 / 6, 1 / 6, 4 / 6])


def test_a_text_without_known_words_gets_the_shares_of_train():
    train = part(["a b", "c d", "c e"], [0, 1, 1])
    found = baselines(train, part(["x y", ""], [0, 0]), 2)
    assert found["nearest"].tolist() == found["majority"].tolist()


@pytest.mark.parametrize("texts", [["a", "b"], ["", " "]], ids=["one class", "no word"])
def test_without_words_or_with_one_class_the_shares_are_predicted(texts):
    train = part(texts, [0, 0] if texts[0] else [0, 1])
    found = baselines(train, part(["a", "q"], [0, 1]), 2)
    assert np.array_equal(found["word_counts"], found["majority"])


def test_a_class_that_train_lacks_has_no_probability_of_words():
    found = baselines(part(["a", "b", "a"], [0, 2, 0]), part(["a"], [1]), 3)["word_counts"]
    assert found[0, 1] == 0 and found.sum() == pytest.approx(1)


def test_words_ignore_case_if_the_model_does():
    found = baselines(part(["dogs bark", "SUN"], [0, 1]), part(["Sun", "Dogs"], [1, 0]), 2)
    assert found["nearest"].argmax(axis=1).tolist() == [1, 0]


def test_words_differ_by_case_if_the_model_sees_it():
    train, asked = part(["CCO", "cco"] * 3, [0, 1] * 3), part(["cco", "CCO"], [1, 0])
    for lowercase, right in ((True, 1), (False, 2)):
        found = baselines(train, asked, 2, lowercase=lowercase)["nearest"]
        assert (found.argmax(axis=1) == asked.labels).sum() == right


def test_words_of_one_character_and_of_any_script_count():
    train = part(["a b", "b a", "猫 是", "猫"], [0, 0, 1, 1])
    found = baselines(train, part(["b", "猫"], [0, 1]), 2)
    assert found["nearest"].argmax(axis=1).tolist() == [0, 1]


def test_baselines_are_reproducible_probabilities(monkeypatch):
    train, asked = some_texts(50), some_texts(20, seed=1)
    first = baselines(train, asked, 3)
    monkeypatch.setattr(module, "_known", {})
    again = baselines(train, asked, 3)
    assert tuple(first) == tuple(again) == ("majority", "word_counts", "nearest")
    for name, found in first.items():
        assert found.shape == (20, 3) and found.sum(axis=1) == pytest.approx(1)
        assert np.array_equal(found, again[name])


def test_baselines_are_cached_by_texts_and_labels(monkeypatch):
    monkeypatch.setattr(module, "_known", {})
    train, asked = some_texts(50), some_texts(20, seed=1)
    assert baselines(train, asked, 3) is baselines(train, asked, 3)
    other = part(train.texts, [*train.labels[1:], 0])
    assert baselines(other, asked, 3) is not baselines(train, asked, 3)
    for seed in range(2, 20):
        baselines(train, some_texts(2, seed=seed), 3)
    assert len(module._known) == 8


def test_a_large_training_part_is_sampled_at_random(monkeypatch):
    monkeypatch.setattr(module, "MOST_TEXTS", 40)
    rows = drawn(200, 40)
    assert len(set(rows.tolist())) == 40 and rows.max() < 200
    assert len(set((rows % 5).tolist())) == 5 and np.array_equal(rows, drawn(200, 40))
    assert drawn(40, 40).tolist() == list(range(40))
    train = some_texts(200)
    found = baselines(train, part([train.texts[0]], [0]), 3)
    shares = np.bincount(train.labels) / 200
    assert found["majority"][0] == pytest.approx(shares)  # of all of them
