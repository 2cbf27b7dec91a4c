"""Draw the figures of the pages on mechanisms, and the moment when an induction head appears.

    python scripts/draw_figures.py [mechanisms] [positions] [recall] [heads]

It trains the runs of TRAINING, unless the runs folder has them, in ten minutes on two cores.
"""

from __future__ import annotations

import sys
from pathlib import Path

import keras
import numpy as np

from attnlab.attention.functional import rotate
from attnlab.cli import main
from attnlab.commands.options import listed_runs
from attnlab.config.options import option_class
from attnlab.layers.positional_encoding import buckets, slopes
from attnlab.records.sweep_runs import runs_of_last_command
from attnlab.views.png.figure import save
from attnlab.views.records import BLUE, ORANGE, Axis, Curve, Curves, Maps, figure, head_maps

DOCS = Path(__file__).resolve().parents[1] / "docs"
FIGURES = DOCS / "explanation/figures"
SENTENCE = "I know that the boy can help him."
TRANSLATION = "task=translate model=rnn trainer.epochs=6"
TRAINING = {  # sweep -> its command
    "mechanism_pages": f"{TRANSLATION} attention=bahdanau,luong_global,scaled_dot_product",
    "mechanism_pages_heads": f"{TRANSLATION} attention=multi_head,linear",
    "mechanism_pages_local": f"{TRANSLATION} attention=luong_local attention.window=2",
    "mechanism_pages_pooling": "task=sunspots attention=pooling model.readout=context",
    "induction_head": "task=language data=copy data.rows=2000 model.positions=rope model.units=64 "
    "attention.heads=2 optimizer.learning_rate=0.003 trainer.batch_size=64 trainer.epochs=16",
}
KEYS, VALUES, PAIRS = "abcd", "123456", 6
TEXT = "a 3 b 1 c 5 a 2 d 4 b 6 a b c d".split()


def train(sweep: str) -> list:
    """Return the runs of a sweep, trained if they are missing."""
    words = ["-m", *TRAINING[sweep].split(), f"sweep.name={sweep}", "tracking.enabled=false"]
    if code := main(words):
        sys.exit(code)
    return [entry.run for entry in runs_of_last_command(listed_runs(None), sweep)]


def mechanisms() -> None:
    """Draw how each mechanism translates SENTENCE; `pooling`, which has no query, forecasts."""
    words = SENTENCE.split()
    zeros = head_maps(np.zeros((1, 1, len(words), len(words))), words, words)
    save(figure("none: no attention", "all weights are 0", [[zeros]]), FIGURES / "none.png")
    for sweep in [name for name in TRAINING if name.startswith("mechanism_pages")]:
        for run in train(sweep):
            path = FIGURES / f"{run.read_config()['attention']['name']}.png"
            all_heads = ["--all-heads"] * (sweep == "mechanism_pages_heads")
            if sweep == "mechanism_pages_pooling":
                path.write_bytes((run.plots / "attention.png").read_bytes())
            else:
                main(["translate", str(run.path), "--attention", str(path), *all_heads, SENTENCE])


def positions() -> None:
    """Draw what ALiBi, T5 and rotary positions make of the distance between key and query."""
    apart = np.arange(-150, 151, dtype="int32")
    vector = np.full((1, 32), 32**-0.5, "float32")
    turned = np.concatenate([rotate(vector, int(distance)) for distance in apart])
    alibi = [Curve(f"m = {m}", -m * np.abs(apart), number) for number, m in enumerate(slopes(4))]
    t5 = [
        Curve("encoder", np.array(buckets(apart, causal=False)), BLUE),
        Curve("decoder", np.array(buckets(apart, causal=True)), ORANGE),
    ]
    panels = [
        Curves("alibi: bias of four heads", "s - p", "", apart, alibi),
        Curves("t5: number of the bucket", "s - p", "", apart, t5),
        Curves("rope: score of equal vectors", "s - p", "", apart, [Curve("", turned @ vector[0])]),
    ]
    drawing = figure("Positions by distance", "key minus query", [panels], (13, 4))
    save(drawing, FIGURES / "positions.png")


def recall() -> None:
    """Train a layer to say the newest value of each key, and draw its weights on TEXT."""
    draw, half = np.random.default_rng(0), 2 * PAIRS
    texts = np.tile(np.arange(len(TEXT)) - half, (20_000, 1))  # the last four tokens are all keys
    texts[:, :half:2] = draw.integers(len(KEYS), size=(len(texts), PAIRS))
    texts[:, 1:half:2] = len(KEYS) + draw.integers(len(VALUES), size=(len(texts), PAIRS))
    answers = np.full_like(texts, -1)
    for at in range(0, half, 2):
        is_key = texts[:, half:] == texts[:, at, None]
        answers[:, half:] = np.where(is_key, texts[:, at + 1, None], answers[:, half:])
    for name in ("delta", "gated_delta", "forgetting", "differential"):
        keras.utils.set_random_seed(0)
        attention = option_class("attention", name)(heads=2, units=32, short_convolution=2)
        tokens = keras.Input(texts.shape[1:], dtype="int32")
        vectors = keras.layers.Embedding(len(KEYS + VALUES), 32)(tokens)
        output = attention(vectors, vectors, causal=True)
        model = keras.Model(tokens, keras.layers.Dense(len(KEYS + VALUES))(output.context))
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1)
        model.compile(keras.optimizers.Adam(0.01), loss)
        model.fit(texts, answers, batch_size=100, epochs=5, verbose=0)
        numbers = np.array([[(KEYS + VALUES).index(word) for word in TEXT]])
        weights = np.array(keras.Model(tokens, output.weights)(numbers))[0, :, half:]
        x, y = Axis("text", [*enumerate(TEXT)]), Axis("key", [*enumerate(KEYS)])
        maps, title = Maps(["head 1", "head 2"], weights, x, y), f"{name}: newest value of each key"
        save(figure(title, "one layer, trained", [[maps]], (10, 2.6)), FIGURES / f"{name}.png")


def heads() -> None:
    """Draw the induction score of each head over epochs."""
    folder, picture = str(train("induction_head")[0].path), str(DOCS / "gallery/heads.png")
    main(["heads", folder, "--epochs", "--plot", picture])


if __name__ == "__main__":
    drawings = (mechanisms, positions, recall, heads)
    for function in drawings:
        if function.__name__ in sys.argv[1:] or not sys.argv[1:]:
            function()
