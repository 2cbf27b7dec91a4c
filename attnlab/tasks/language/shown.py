"""Views of language models: learning, loss by position, attention on the start of the test part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.base import ReportedRun, Views
from attnlab.tasks.language.kind import KIND
from attnlab.tasks.shown.attention_by_epoch import (
    attention_by_epoch,
    attention_by_run,
    map_names,
    mean_and_heads,
    records_by_run,
)
from attnlab.tasks.shown.run_figures import (
    learning_figure,
    read_attention,
    result_line,
    run_title,
)
from attnlab.views.records import (
    BLUE,
    GREY,
    ORANGE,
    AttentionMap,
    AttentionMaps,
    Curve,
    Curves,
    Figure,
    Mark,
    Record,
    Slider,
    Table,
    Text,
    figure,
)

_PANELS = {
    "loss (nats per token)": {
        "train_loss": ("train, with dropout if any", ORANGE),
        "val_loss": ("validation, without", BLUE),
    },
    "validation (bits per byte)": {"val_bits_per_byte": ("validation", BLUE)},
    "validation (share of right answers)": {"val_accuracy": ("answers", BLUE)},
}
_NAMES = ("earlier tokens", "", "token after which the next one is predicted")
_NOTE = (
    "Each row is a token, after which the model predicts the next one; columns are the tokens that "
    "it looks at, itself included. ↵ is a line break."
)
_WRITTEN = "The model of the best epoch wrote this text, except for its first 8 tokens."
_START_NOTE = (
    "The first 8 tokens of each text are those of the test part; the model drew the others."
)
_MOST_SAMPLES = 10  # epochs


# Figures


def figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of a run by file name.

    Raises:
        RequestError: A file of the run is missing or damaged.
        KeyError: Something is missing in one of them.
    """
    result = result_line(metrics, KIND, "loss")
    found = {"loss.png": _learning(run.history.read(), metrics, result)}
    if "by_position" in metrics:
        position = _positions([Curve("mean", metrics["by_position"])], metrics["tokens_before"])
        found["position.png"] = figure(
            f"{run_title(metrics)}: loss by position", result, [[position]], (7.0, 4.0)
        )
    if "by_length" in metrics:
        title = f"{run_title(metrics)}: results by length"
        found["length.png"] = figure(title, result, [[_lengths(metrics)]], (7.0, 4.0))
    if kept := read_attention(run):
        title = f"{run_title(metrics)}: attention of the last layer"
        labels = [str(each) for each in kept["tokens"]]
        found["attention.png"] = text_figure(kept["weights"][None], labels, title)
    return found


def _learning(
    history: Mapping[str, list[float]], metrics: Mapping[str, Any], result: str
) -> Figure:
    """Draw learning curves, with the baselines' test values as lines."""
    found = learning_figure(history, metrics, _PANELS, result)
    (row,) = found.grids[0].rows
    panels = [_with_baselines(each, metrics) if isinstance(each, Curves) else each for each in row]
    return figure(found.title, found.subtitle, [panels], found.size)


def _with_baselines(panel: Curves, metrics: Mapping[str, Any]) -> Curves:
    from dataclasses import replace

    wanted = {"bits per byte": "bits_per_byte", "right answers": "accuracy"}
    name = next((name for text, name in wanted.items() if text in panel.y_label), None)
    known = {label: each.get(name) for label, each in metrics["baselines"].items()}
    marks = [
        Mark(y=value, label=f"{label} (test) {value:.3g}", colour=GREY, dashes="--")
        for label, value in known.items()
        if value is not None and not label.startswith("kneser_ney_") or label == _best_count(known)
    ]
    return replace(panel, marks=[*panel.marks, *marks])


def _best_count(known: Mapping[str, float | None]) -> str | None:
    """Return the best order of Kneser-Ney, which stands for all."""
    counts = {k: v for k, v in known.items() if k.startswith("kneser_ney_") and v is not None}
    return min(counts, key=lambda name: counts[name], default=None)


def _positions(curves: Sequence[Curve], tokens_before: Sequence[int]) -> Curves:
    """Return a chart of mean test losses at places of a window."""
    axes = "tokens before the predicted one in the window", "test loss (nats per token)"
    return Curves("", *axes, tokens_before, curves, legend="none")


def _lengths(metrics: Mapping[str, Any]) -> Curves:
    """Return the accuracy and the share of rows without a fault at each length of a row."""
    known = metrics["by_length"]
    curves = [
        Curve("answers", known["accuracy"], form="line and dots"),
        Curve("rows without a fault", known["whole_rows"], ORANGE, form="line and dots"),
    ]
    return _length_chart(known["length"], curves, known)


def _length_chart(
    lengths: Sequence[int], curves: Sequence[Curve], known: Mapping[str, Any]
) -> Curves:
    """Return curves over lengths, with a line at the longest one of train."""
    first = next(
        (n for n, longer in zip(known["length"], known["longer"], strict=True) if longer), 0
    )
    marks = [Mark(x=first - 0.5, label="longer than in train", dashes="--")] if first else []
    axes = "length of a row", "share of right answers"
    return Curves("", *axes, lengths, curves, marks=marks, y_limits=(0.0, 1.02))


def text_figure(weights: np.ndarray, labels: Sequence[str], title: str) -> Figure:
    """Draw where each token of a text looks: weights (L, H, T, T), a row of maps per layer."""
    layers, heads, *size = weights.shape
    item = AttentionMap(labels, labels, weights.reshape(-1, *size).astype(np.float64))
    names = [f"head {number}" for number in range(1, heads + 1)]
    maps = AttentionMaps([item], names, _NAMES, layers=layers)
    return figure(title, "rows: tokens; columns: those that they look at", [[maps]])


def _map(weights: np.ndarray, labels: Sequence[str]) -> AttentionMap:
    """Return the map of weights (H, T, T) on tokens."""
    return AttentionMap(labels, labels, mean_and_heads(np.asarray(weights, np.float64)))


# On a page


def position_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return charts of the loss by position, one per length of windows."""
    charts: dict[tuple[int, ...], list[Curve]] = {}
    for run in runs:
        if "by_position" in run.metrics:
            curve = Curve(run.label, run.metrics["by_position"], run.colour)
            charts.setdefault(tuple(run.metrics["tokens_before"]), []).append(curve)
    return [_positions(curves, places) for places, curves in charts.items()]


def sample_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return what the model of each run on texts writes, epoch by epoch."""
    runs = [run for run in runs if "sample" in run.metrics]
    return [*records_by_run(runs, _samples, "Samples", named=len(runs) > 1)]


def _samples(run: ReportedRun) -> list[Record]:
    from attnlab.tasks.language.generation import Generator, sample

    task: Any = run.task()
    run.load_data()
    generator, texts = None, {}
    for epoch, model in run.models(_MOST_SAMPLES):
        generator = generator or Generator(model)
        tokens = sample(generator, task, int(run.metrics["seed"]))
        texts[epoch] = " ".join(task.vocabulary.decode(tokens).split())
    notes = run.epochs([*texts]).notes
    rows = [
        [str(epoch), text, note] for (epoch, text), note in zip(texts.items(), notes, strict=True)
    ]
    table = Table("", ["epoch", "text", "validation"], rows, words=3, prose=True)
    return [Text(_START_NOTE, "note"), table, *run.problems()]


def length_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return the accuracy by length of all runs of tasks with rows of several lengths."""
    known = [(run, run.metrics["by_length"]) for run in runs if "by_length" in run.metrics]
    if not known:
        return []
    lengths = sorted({length for _, own in known for length in own["length"]})
    curves = []
    for run, own in known:
        shares = dict(zip(own["length"], own["accuracy"], strict=True))
        values = [shares.get(length) for length in lengths]
        curves.append(Curve(run.label, values, run.colour, form="line and dots"))
    return [_length_chart(lengths, curves, known[0][1])]


def attention_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a slider over the epochs for each run."""
    return attention_by_run(runs, _run_records)


def _run_records(run: ReportedRun) -> list[Record]:
    kept = read_attention(run.run)
    if kept is None:
        raise RequestError(f"{run.run.name}: its model has no attention weights.")
    task: Any = run.task()
    labels, numbers, frames = task.vocabulary.labels(kept["ids"]), [], []
    for epoch, _, weights in attention_by_epoch(run, kept["ids"][None]):
        numbers.append(epoch)
        frames.append([_map(weights[0], labels)])
    names = map_names(len(weights[0]), len(frames[0][0].weights))
    records = [[AttentionMaps(maps, names, _NAMES)] for maps in frames]
    notes = f"{_NOTE} {_WRITTEN}" if "sample" in run.metrics else _NOTE
    return [Text(notes, "note"), Slider(run.epochs(numbers), records), *run.problems()]


VIEWS = Views(
    figures,
    {
        "Positions": position_records,
        "Lengths": length_records,
        "Samples": sample_records,
        "Attention": attention_records,
    },
)
