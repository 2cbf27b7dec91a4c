"""Draw the figures of the pages on mechanisms, in docs/explanation/figures.

    python scripts/draw_mechanisms.py

It trains the runs of TRAINING, unless the runs folder has them: about ten minutes on two cores.
All mechanisms but `pooling` translate the same sentence; `pooling` has no query, so it forecasts.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

FIGURES = Path(__file__).resolve().parents[1] / "docs/explanation/figures"
TRANSLATION = "task=translate model=rnn trainer.epochs=6"
TRAINING = {
    "mechanism_pages": (
        f"{TRANSLATION} attention=none,bahdanau,luong_global,scaled_dot_product,multi_head"
    ),
    "mechanism_pages_heads": f"{TRANSLATION} attention=linear",
    "mechanism_pages_local": f"{TRANSLATION} attention=luong_local attention.window=2",
    "mechanism_pages_pooling": "task=sunspots attention=pooling model.readout=context",
}
SENTENCE = "I know that the boy can help him."


def draw() -> None:
    """Train what is missing, and draw a figure for each run."""
    from attnlab.cli import main
    from attnlab.commands.options import listed_runs
    from attnlab.records.sweep_runs import runs_of_last_command

    draw_positions(FIGURES / "positions.png")
    for sweep, words in TRAINING.items():
        code = main(["-m", *shlex.split(words), f"sweep.name={sweep}", "tracking.enabled=false"])
        if code:
            sys.exit(code)
        for entry in runs_of_last_command(listed_runs(None), sweep):
            folder, name = entry.run.path, entry.run.read_config()["attention"]["name"]
            path = FIGURES / f"{name}.png"
            if name == "none":
                draw_zeros(entry.run, path)
            elif name == "pooling":
                shutil.copyfile(folder / "plots/attention.png", path)
            else:
                heads = ["--all-heads"] if name in ("multi_head", "linear") else []
                main(["translate", str(folder), "--attention", str(path), *heads, SENTENCE])
            lighten(path)


def draw_positions(path: Path) -> None:
    """Draw what ALiBi, T5 and rotary positions make of the distance between key and query."""
    import numpy as np

    from attnlab.attention.functional import rotated
    from attnlab.layers.positional_encoding import buckets, slopes
    from attnlab.views.png.figure import save
    from attnlab.views.records import BLUE, ORANGE, Curve, Curves, figure

    reach, width = 150, 32
    apart = np.arange(-reach, reach + 1, dtype="int32")
    kept = slice(reach - 40, reach + 41)
    panels = [
        Curves(
            "alibi: bias of four heads",
            "s - p",
            "",
            apart[kept],
            [
                Curve(f"m = 1/{round(1 / slope)}", -slope * np.abs(apart[kept]), number)
                for number, slope in enumerate(slopes(4))
            ],
        ),
        Curves(
            "t5: number of the bucket",
            "s - p",
            "",
            apart,
            [
                Curve("encoder", np.array(buckets(apart, causal=False)), BLUE, form="steps"),
                Curve("decoder", np.array(buckets(apart, causal=True)), ORANGE, form="steps"),
            ],
        ),
        Curves(
            f"rope: score of two equal vectors, width {width}",
            "s - p",
            "",
            apart,
            [Curve("", _turned_products(rotated, apart, width))],
            legend="none",
        ),
    ]
    subtitle = "s is the position of the key, p that of the query: left of 0 is the past"
    save(figure("Positions by distance", subtitle, [panels], (13, 4)), path)
    lighten(path)


def _turned_products(rotated, apart, width: int):
    """Return the dot product of a vector of length 1 with itself, turned by each distance."""
    import numpy as np

    vector = np.full((1, width), width**-0.5, "float32")
    turned = np.concatenate([rotated(vector, int(distance)) for distance in apart])
    return turned @ vector[0]


def draw_zeros(run, path: Path) -> None:
    """Draw the zero weights of `none`, with the translation that its model writes."""
    import numpy as np

    from attnlab.attention import NoAttention
    from attnlab.runner.loading import TrainedRun
    from attnlab.tasks.translation.shown import maps_figure
    from attnlab.views.png.figure import save

    trained = TrainedRun.load(run)
    translator = trained.task.translator(trained.model)
    ((best, *_),) = translator.translate([SENTENCE])
    source, target = (labels[:-1] for labels in translator.pieces(best))  # without END
    vectors = [np.zeros((1, len(side), 1), "float32") for side in (target, source)]
    weights = np.array(NoAttention()(*vectors).weights)
    title = f"translate · none · seed 0: no attention, epoch {trained.epoch}"
    save(maps_figure(weights, source, target, title=title), path)


def lighten(path: Path) -> None:
    """Store a figure with 64 colours, a third of the size."""
    from PIL import Image

    Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)


if __name__ == "__main__":
    draw()
