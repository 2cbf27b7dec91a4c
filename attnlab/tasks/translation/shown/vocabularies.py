"""Maps of the vocabularies that a translator learned."""

from __future__ import annotations

from typing import Any

from attnlab.tasks.shown.run_figures import run_title, vocabulary_figure
from attnlab.views.records import Figure


def vocabulary_maps(trained: Any, words: int) -> dict[str, Figure]:
    """A map of the most frequent words of each side, by file name; see `vocabulary_figure`."""
    task, figures = trained.task, {}
    for side, table in trained.model.embeddings().items():
        tokenizer = task.source_tokenizer if side == "source" else task.target_tokenizer
        ids = tokenizer.most_frequent(words)
        vectors, labels = table[ids.start : ids.stop], [tokenizer.pieces([id])[0] for id in ids]
        title = f"{run_title(trained.config.names)}: {side} embeddings, epoch {trained.epoch}"
        figures[f"embeddings_{side}.png"] = vocabulary_figure(vectors, labels, title=title)
    return figures
