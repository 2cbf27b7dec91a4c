"""Maps of the vocabularies that a translator learned."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from attnlab.figures.style import run_title
from attnlab.figures.word_map import word_map


def vocabulary_maps(trained: Any, words: int) -> dict[str, Figure]:
    """A map of the most frequent words of each side, by file name; see `word_map`."""
    task, figures = trained.task, {}
    for side, table in trained.model.embeddings().items():
        tokenizer = task.source_tokenizer if side == "source" else task.target_tokenizer
        ids = tokenizer.most_frequent(words)
        labels = [tokenizer.pieces([id])[0] for id in ids]
        title = f"{run_title(trained.config.names)}: {side} embeddings, epoch {trained.epoch}"
        figures[f"embeddings_{side}.png"] = word_map(
            table[ids.start : ids.stop], labels, title=title
        )
    return figures
