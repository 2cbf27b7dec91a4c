"""Draw the moment when an induction head appears, docs/gallery/heads.png.

    python scripts/draw_heads.py

It trains a Transformer of two layers on `data=copy`, unless the runs folder has it: one to two
minutes on two cores.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from draw_mechanisms import lighten

PICTURE = Path(__file__).resolve().parents[1] / "docs/gallery/heads.png"
TRAINING = (
    "task=language data=copy data.rows=2000 model.positions=rope model.units=64 attention.heads=2 "
    "optimizer.learning_rate=0.003 trainer.batch_size=64 trainer.epochs=16"
)


def draw() -> None:
    """Train the model, and draw the induction score of its heads over epochs."""
    from attnlab.cli import main

    sweep = "sweep.name=induction_head"
    if code := main(["-m", *shlex.split(TRAINING), sweep, "tracking.enabled=false"]):
        sys.exit(code)
    if code := main(["heads", "latest", "--epochs", "all", "--plot", str(PICTURE)]):
        sys.exit(code)
    lighten(PICTURE)


if __name__ == "__main__":
    draw()
