"""Figures of mechanisms that look at their own past: what a layer recalls of a text.

    python scripts/draw_recall.py

For each mechanism one layer learns to say the newest value of a key, half a minute on two cores.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
FIGURES = ROOT / "docs/explanation/figures"
NAMES = ("delta", "gated_delta", "forgetting", "differential")
KEYS, VALUES = "abcd", "123456"
TEXT = "a 3 b 1 c 5 a 2 d 4 b 6 a b c d".split()
PAIRS, TEXTS = 6, 20_000


def make_texts() -> tuple[np.ndarray, np.ndarray]:
    """Return texts (N, 16) of pairs and then all keys, and the newest values of these; -1: none."""
    draw, half = np.random.default_rng(0), 2 * PAIRS
    texts = np.zeros((TEXTS, half + len(KEYS)), "int32")
    texts[:, :half:2] = draw.integers(len(KEYS), size=(TEXTS, PAIRS))
    texts[:, 1:half:2] = len(KEYS) + draw.integers(len(VALUES), size=(TEXTS, PAIRS))
    texts[:, half:] = np.arange(len(KEYS))
    answers = np.full_like(texts, -1)
    for at in range(0, half, 2):
        asked = texts[:, half:] == texts[:, at, None]
        answers[:, half:] = np.where(asked, texts[:, at + 1, None], answers[:, half:])
    return texts, answers


def draw_recall(name: str, path: Path) -> None:
    """Train a layer of two heads, and draw its weights on TEXT."""
    import keras

    from attnlab.config.options import option_class
    from attnlab.views.png.figure import save
    from attnlab.views.records import Axis, Maps, figure

    keras.utils.set_random_seed(0)
    texts, answers = make_texts()
    attention = option_class("attention", name)(heads=2, units=32, short_convolution=2)
    tokens = keras.Input(texts.shape[1:], dtype="int32")
    vectors = keras.layers.Embedding(len(KEYS + VALUES), 32)(tokens)
    output = attention(vectors, vectors, causal=True)
    model = keras.Model(tokens, keras.layers.Dense(len(KEYS + VALUES))(output.context))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1)
    model.compile(keras.optimizers.Adam(0.01), loss=loss)
    model.fit(texts[1000:], answers[1000:], batch_size=100, epochs=5, verbose=0)
    found = np.argmax(model.predict(texts[:1000], verbose=0), -1)
    share = (found == answers[:1000])[answers[:1000] >= 0].mean()
    shown = np.array([[(KEYS + VALUES).index(word) for word in TEXT]])
    weights = np.array(keras.Model(tokens, output.weights)(shown))[0, :, 2 * PAIRS :]
    most = float(np.abs(weights).max())
    signed = attention.weights_are == "signed"
    record = Maps(
        ["head 1", "head 2"],
        weights,
        Axis("text", [*enumerate(TEXT)]),
        Axis("asked for", [*enumerate(KEYS)]),
        limits=(-most, most) if signed else (0.0, most),
        signed=signed,
    )
    title = f"{name}: the newest value of each key"
    subtitle = (
        f"one layer after 950 steps of training; {share:.0%} of 1,000 texts' answers are right"
    )
    save(figure(title, subtitle, [[record]], (10, 2.6)), path)


if __name__ == "__main__":
    for mechanism in NAMES:
        draw_recall(mechanism, FIGURES / f"{mechanism}.png")
