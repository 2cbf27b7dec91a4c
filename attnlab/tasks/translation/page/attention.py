"""How attention was learned: what a run wrote of a few test sentences at each epoch, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from attnlab.errors import RequestError
from attnlab.page.by_run import attention_by_run
from attnlab.page.parts import Part, Sentence, Sentences, Slider, Text, Written
from attnlab.tasks.base import Shown
from attnlab.tasks.translation.kind import KIND
from attnlab.text.unknown import UNNAMED, name_unknown, unknown_notes

if TYPE_CHECKING:
    from attnlab.tasks.translation.attention_maps import Example
    from attnlab.tasks.translation.task import Translate

_MOST_EPOCHS, _MOST_SENTENCES = 30, 6
_LONGER = 12  # tokens by which a translation may exceed its source: bad ones have no end
_NOTE = (
    "Point at a word, or reach it by Tab and the arrow keys. A word of the translation lights up "
    "the source by its weights, a source word the translation. In the map beside them a row is a "
    "word of the translation, a column one of the source. {links}Dotted: changed since the "
    "epoch before. Translated greedily, at each epoch anew."
)
_ONE = "weights"  # the name of the map where there is one alone
_LINKS = "A dashed frame is a gold link, known of the reference. "


class _Chosen(NamedTuple):
    """A test sentence."""

    source: str
    reference: str
    row: np.ndarray  # ids of the source, END included
    links: list[tuple[int, int]]  # gold ones, from token to token


def attention_parts(shown: Sequence[Shown]) -> list[Part]:
    """A slider over the epochs for each run that attends."""
    return attention_by_run(shown, _run_parts)


def _run_parts(run: Shown) -> list[Part]:
    run.task()  # before all else that needs TensorFlow, with whose notices it does away
    problems = _with_links(run)
    epochs, sentences, found = _by_epoch(run, linked=not problems)
    if not all(each.maps for examples in found for each in examples):
        raise RequestError(f"{run.run.name}: its model has no attention weights.")
    names, parts = _kept(found, run.room)
    columns = list(zip(*parts, strict=True))
    shown = [
        _sentence(run, each, found[0][n].source, columns[n])
        for n, each in enumerate(sentences[: len(columns)])
    ]
    note = _NOTE.format(links=_LINKS if any(each.links for each in sentences) else "")
    if len(names) == 1 and names[0] != _ONE:
        note += f" Weights are the {names[0]}."
    slider = Slider(run.frames(epochs), [Sentences(shown, names)])
    return [Text(note, "note"), slider, *problems, *run.problems()]


def _sentence(run: Shown, own: _Chosen, labels: Sequence[str], written: Any) -> Sentence:
    task = cast("Translate", run.task())
    unknown = task.source_tokenizer.unknown(own.source)
    return Sentence(
        name_unknown(labels, unknown),
        _pieces(run, own.reference),
        own.links,
        written,
        unknown_notes(unknown, task.source_tokenizer.words),
        UNNAMED,
    )


def _by_epoch(run: Shown, linked: bool) -> tuple[list[int], list[_Chosen], list[list[Example]]]:
    """Epochs, the sentences, and what the model of each epoch makes of them."""
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


def _with_links(run: Shown) -> list[Part]:
    """Load the corpus where it has gold links; what is said where it can't be loaded.

    Corpora with links are never fetched from a network.
    """
    if "alignment" not in run.metrics:
        return []
    try:
        run.load_data()
    except RequestError as error:
        return [Text(f"Gold links are missing: {error}", "warning")]
    return []


def _sentences(run: Shown, task: Translate, model, linked: bool) -> list[_Chosen]:
    """Some test sentences, short and long ones."""
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
    # Neither the shortest nor the longest ones, which are seldom typical.
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
    """Links between words as links between tokens."""
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


def _pieces(run: Shown, text: str) -> list[str]:
    tokenizer = cast("Translate", run.task()).target_tokenizer
    return tokenizer.pieces(tokenizer.encode([text])[0])


def _kept(found: Sequence[Sequence[Example]], room: int) -> tuple[list[str], list[list[Written]]]:
    """The names of the maps, and of each epoch what was written of each sentence.

    The mean over layers and heads comes first; each by itself follows where there is room, and
    where there is none even for means, sentences are left out.
    """
    layers, heads = found[0][0].maps["cross"].shape[:2]
    cells = [
        sum(each.maps["cross"][0, 0].size for each in column) for column in zip(*found, strict=True)
    ]
    every = layers * heads > 1 and (1 + layers * heads) * sum(cells) <= room
    names = [_mean_name(layers, heads)]
    if every:
        names += [f"layer {n + 1}, head {m + 1}" for n in range(layers) for m in range(heads)]
    count = next((n for n in range(len(cells), 1, -1) if sum(cells[:n]) <= room), 1)
    return names, [[_written(each, every) for each in examples[:count]] for examples in found]


def _written(each: Example, every: bool) -> Written:
    cross = np.nan_to_num(each.maps["cross"])  # (L, H, T, S)
    mean = cross.mean(axis=(0, 1))[None]
    single = cross.reshape(-1, *cross.shape[2:])
    return Written(each.target, np.concatenate([mean, single]) if every else mean)


def _mean_name(layers: int, heads: int) -> str:
    words = [f"{layers} layers"] * (layers > 1) + [f"{heads} heads"] * (heads > 1)
    return f"mean of {' and '.join(words)}" if words else _ONE
