"""Attention by epoch: a run's translations of a few test sentences, with their weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import ReportedRun
from attnlab.tasks.shown.attention_by_epoch import attention_by_run, fitting
from attnlab.tasks.translation.kind import KIND
from attnlab.text.unknown import UNNAMED, name_unknown, unknown_notes
from attnlab.views.records import AttentionMap, AttentionMaps, Record, Slider, Text

if TYPE_CHECKING:
    from attnlab.tasks.translation.attention_maps import Example
    from attnlab.tasks.translation.task import Translate

_MOST_EPOCHS, _MOST_SENTENCES = 30, 6
_LONGER = 12  # tokens by which a translation may exceed its source; bad ones would not end
_NOTE = (
    "Point at a word, or reach it by Tab and the arrow keys. A word of the translation lights up "
    "the source words by their weights; a source word lights up the words of the translation. A "
    "row of the map is a word of the translation, a column a word of the source. {links}Dotted: "
    "changed since the previous epoch. Each epoch has its own greedy translation."
)
_ONE = "weights"  # the name of the only map
_LINKS = "A dashed frame is a gold link of the reference. "


class _Chosen(NamedTuple):
    """A test sentence."""

    source: str
    reference: str
    row: np.ndarray  # ids of the source, END included
    links: list[tuple[int, int]]  # gold links between tokens


def attention_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a slider over the epochs for each run with attention."""
    return attention_by_run(runs, _run_records)


def _run_records(run: ReportedRun) -> list[Record]:
    run.task()  # first, since it suppresses TensorFlow's notices
    problems = _with_links(run)
    epochs, sentences, found = _by_epoch(run, linked=not problems)
    if not all(each.maps for examples in found for each in examples):
        raise RequestError(f"{run.run.name}: its model has no attention weights.")
    texts = [
        _described(run, each, own.source) for each, own in zip(sentences, found[0], strict=True)
    ]
    frames = fitting([_maps(texts, examples) for examples in found], run.room)
    names = map_names(found[0][0], len(frames[0][0].weights))
    note = _NOTE.format(links=_LINKS if any(each.links for each in sentences) else "")
    if len(names) == 1 and names[0] != _ONE:
        note += f" Weights are the {names[0]}."
    slider = Slider(run.epochs(epochs), [[AttentionMaps(items, names)] for items in frames])
    return [Text(note, "note"), slider, *problems, *run.problems()]


def _described(run: ReportedRun, own: _Chosen, labels: Sequence[str]) -> AttentionMap:
    """Return the record of a sentence, without translation and weights."""
    task = cast("Translate", run.task())
    unknown = task.source_tokenizer.unknown(own.source)
    return AttentionMap(
        [],
        name_unknown(labels, unknown),
        np.empty((0, 0, 0)),
        reference=_pieces(run, own.reference),
        reference_links=own.links,
        row_notes=UNNAMED,
        column_notes=unknown_notes(unknown, task.source_tokenizer.words),
    )


def _maps(texts: Sequence[AttentionMap], examples: Sequence[Example]) -> list[AttentionMap]:
    """Return the translations of an epoch with their maps; see `mean_and_all`."""
    return [
        text._replace(rows=each.target, weights=mean_and_all(each.maps["cross"]))
        for text, each in zip(texts, examples, strict=True)
    ]


def _by_epoch(
    run: ReportedRun, linked: bool
) -> tuple[list[int], list[_Chosen], list[list[Example]]]:
    """Return epochs, sentences, and the translations and maps of each epoch."""
    from attnlab.tasks.translation.attention_maps import example
    from attnlab.tasks.translation.decoding.search import Search

    task: Any = run.task()
    tokenizers = task.source_tokenizer, task.target_tokenizer
    sentences: list[_Chosen] = []
    search, epochs, found = None, [], []
    for epoch, model in run.models(_MOST_EPOCHS):
        if search is None:
            sentences = _sentences(run, task, model, linked)
            search = Search(model, extra_length=_LONGER)
        best = [each[0] for each in search([each.row for each in sentences])]
        pairs = zip(sentences, best, strict=True)
        found.append([example(model, tokenizers, each.row, own.tokens) for each, own in pairs])
        epochs.append(epoch)
    return epochs, sentences, found


def _with_links(run: ReportedRun) -> list[Record]:
    """Load the corpus if it has gold links; returns a warning if that fails.

    Corpora with links are never downloaded.
    """
    if "alignment" not in run.metrics:
        return []
    try:
        run.load_data()
    except RequestError as error:
        return [Text(f"Gold links are missing: {error}", "warning")]
    return []


def _sentences(run: ReportedRun, task: Translate, model, linked: bool) -> list[_Chosen]:
    """Choose short and long test sentences."""
    from attnlab.tasks.translation.batches import cut_sources
    from attnlab.text.tokenizers import END

    columns = run.run.read_predictions(KIND.scoring.text_columns)
    if "source" not in columns or "reference" not in columns or not len(columns["source"]):
        raise RequestError(f"{run.run.path / 'predictions.csv'}: damaged: expected sentences.")
    sources, references = (
        [str(text) for text in columns[name]] for name in ("source", "reference")
    )
    encoded = task.source_tokenizer.encode(sources)
    order = np.argsort([len(row) for row in encoded], kind="stable")
    # The shortest and the longest sentences are rarely typical.
    count = min(_MOST_SENTENCES, len(order))
    places = np.linspace(0.25, 0.95, count) * (len(order) - 1)
    rows = order[np.unique(places.astype(int))].tolist()
    tokens = cut_sources(model, [np.array([*encoded[row], END], np.int32) for row in rows])
    known = task.tokenized.parts["test"].texts() if linked and "alignment" in run.metrics else None
    found = []
    for row, ids in zip(rows, tokens, strict=True):
        links = known[2][row] if known and known[2] and known[0][row] == sources[row] else ""
        pairs = _token_links(task, sources[row], references[row], links)
        found.append(_Chosen(sources[row], references[row], ids, pairs))
    return found


def _token_links(task: Translate, source: str, reference: str, links: str) -> list[tuple[int, int]]:
    """Convert links between words to links between tokens."""
    from attnlab.tasks.translation.map_measures import parse_links

    known = parse_links(links)
    source_words = task.source_tokenizer.word_numbers(source)
    target_words = task.target_tokenizer.word_numbers(reference)
    return [
        (s, t)
        for s, source_word in enumerate(source_words)
        for t, target_word in enumerate(target_words)
        if (source_word, target_word) in known
    ]


def _pieces(run: ReportedRun, text: str) -> list[str]:
    tokenizer = cast("Translate", run.task()).target_tokenizer
    return tokenizer.pieces(tokenizer.encode([text])[0])


def mean_and_all(cross: np.ndarray) -> np.ndarray:
    """Convert weights (L, H, T, S) to maps: the mean over layers and heads, then each head."""
    cross = np.nan_to_num(cross)
    mean, single = cross.mean(axis=(0, 1))[None], cross.reshape(-1, *cross.shape[2:])
    return np.concatenate([mean, single]) if len(single) > 1 else mean


def map_names(example: Example, maps: int) -> list[str]:
    """Return the names of the first `maps` of `mean_and_all`."""
    layers, heads = example.maps["cross"].shape[:2]
    single = [f"layer {n + 1}, head {m + 1}" for n in range(layers) for m in range(heads)]
    return [_mean_name(layers, heads), *single[: maps - 1]]


def _mean_name(layers: int, heads: int) -> str:
    words = [f"{layers} layers"] * (layers > 1) + [f"{heads} heads"] * (heads > 1)
    return f"mean of {' and '.join(words)}" if words else _ONE
