"""A trained run that a person explores: predictions, changes of its attention, its heads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from attnlab.attention.head_measures import record_attention
from attnlab.attention.interventions import Change, Intervention, prepare
from attnlab.errors import RequestError
from attnlab.explore.frames import Layer, chosen_shares, likely_outputs, show_layer
from attnlab.records.run_directory import RunDirectory
from attnlab.report.heads import LEFT, head_cells, head_rows
from attnlab.runner.loading import TrainedRun, choose_epochs
from attnlab.runner.train import load_weights
from attnlab.tasks.base import ReportedRun, assign
from attnlab.tasks.kinds import kind_of, load
from attnlab.tasks.predictor import Explored, Predictor, Request
from attnlab.text.tokenizers import PAD
from attnlab.views.records import Epochs, Record, Slider, Table, Tabs

Changes = Mapping[str, Change]  # by name of the layer; none: the model as it was trained

_CACHED = 8  # epochs whose weights are kept
_ITEMS = 100  # test items on which heads are ranked
_MEASURED = 64  # test items on which heads are measured, as in `attnlab heads`


class Score(NamedTuple):
    """What changes do to an output."""

    output: str  # without changes
    kind: str  # its log probability, or how far values move (root of the mean square, scaled units)
    before: float
    now: float


class Prediction(NamedTuple):
    """What a page shows of a prediction."""

    epoch: int
    explored: Explored
    likely: Table | None
    layers: list[Layer]
    score: Score | None  # None without changes
    messages: list[str]

    def maps(self) -> Sequence[Record]:
        """Return the layers as records of a page, in a tab each if there are several."""
        epochs = Epochs([self.epoch], [""], 0)
        layers = {layer.name: [Slider(epochs, [[layer.frame]])] for layer in self.layers}
        return [Tabs("layer", layers)] if len(layers) > 1 else [*chain(*layers.values())]


class Session:
    """A run's models: as trained, and one whose attention can be changed.

    Two models, so that programs compiled for the first have nothing of the changes. All methods
    must be called in one thread.
    """

    def __init__(self, run: RunDirectory) -> None:
        self.run, self.kind = run, kind_of(run.read_task())
        choose_epochs(run, "last")  # raises without weights
        is_completed = run.status.read()["state"] == "completed"
        metrics = run.read_metrics() if is_completed else {}
        self.epochs = ReportedRun("", 0, run, metrics, 0).epochs(run.weights_epochs())
        self._models: dict[bool, tuple[Predictor, dict[str, Intervention]]] = {}
        self._loaded: dict[bool, int] = {}  # the epoch whose weights each model has
        self._values = lru_cache(_CACHED)(self._read_values)
        self._messages: list[str] = []
        self._has_data = False
        predictor, _ = self._model(False)
        self.fields, self.starts = predictor.fields, predictor.starts()

    def predict(self, epoch: int, entries: Mapping[str, Any], changes: Changes) -> Prediction:
        """Predict with the weights of an epoch and changes of attention.

        Raises:
            RequestError: Wrong input, an unknown layer or head, or weights that can't be read.
        """
        self._messages.clear()
        predictor, score, likely = self._at(epoch), None, None
        predictor.warned.clear()
        explored = predictor.explore(entries)
        if changes and explored.inputs is not None:
            before = self._outputs(predictor, explored.inputs)
            predictor = self._at(epoch, changes)
            score = _score(explored, before, self._outputs(predictor, explored.inputs))
            explored = predictor.explore(entries)
        layers: list[Layer] = []
        if explored.inputs is not None:
            with record_attention(predictor.model) as looked:
                outputs = self._outputs(predictor, explored.inputs)
            for name, weights in looked.items():
                shape = weights.weights.shape[2:]
                sides = predictor.sides(explored, name, shape)
                layers.append(show_layer(name, weights, explored, sides))
            likely = likely_outputs(explored, outputs)
        return Prediction(epoch, explored, likely, layers, score, [*dict.fromkeys(self._messages)])

    def rank(self, epoch: int, entries: Mapping[str, Any]) -> Iterator[tuple[int, int] | Table]:
        """Yield how many heads of how many were switched off so far, then the table of their cost.

        The cost is how much less probable, in nats, the outputs become that the whole model finds
        most probable; of values, how far they move.
        """
        predictor = self._at(epoch)
        original = predictor.explore(entries)
        if original.inputs is None:
            raise RequestError("rank: expected an input that the model reads, got none.")
        outputs = self._outputs(predictor, original.inputs)
        measured = [("this input", original.inputs, original.chosen, outputs)]
        measured.append(self._test_items(epoch, is_logits=original.chosen is not None))
        _, interventions = self._model(True)
        heads = [(name, n) for name, layer in interventions.items() for n in range(layer.heads)]
        costs: dict[tuple[str, int], list[float]] = {}
        for number, (layer, head) in enumerate(heads):
            yield number, len(heads)
            predictor = self._at(epoch, {layer: Change(heads=[head])})
            costs[layer, head] = [
                _cost(chosen, before, self._outputs(predictor, inputs))
                for _, inputs, chosen, before in measured
            ]
        unit = "nats" if original.chosen is not None else "RMS, scaled units"
        cells = [
            [layer, str(head + 1), *(f"{cost:.4f}" for cost in costs[layer, head])]
            for layer, head in sorted(costs, key=lambda key: -costs[key][-1])
        ]
        header = ["layer", "head", *(f"{name} ({unit})" for name, *_ in measured)]
        yield Table("Cost of switching a head off", header, cells, words=1)

    def heads(self, epoch: int) -> Table:
        """Return the table of `attnlab heads` for an epoch."""
        self._load_data()
        predictor = self._at(epoch)
        header, rows = head_cells([*head_rows(predictor.task, predictor.model, _MEASURED)])
        return Table("", header, rows, words=sum(name in LEFT for name in header))

    def _test_items(
        self, epoch: int, *, is_logits: bool
    ) -> tuple[str, Any, np.ndarray | None, np.ndarray]:
        """Return a name, inputs, the numbers of the most probable outputs, and the outputs."""
        self._load_data()
        predictor = self._at(epoch)
        inputs, tokens = predictor.task.head_inputs(predictor.model, "test", _ITEMS)
        outputs, chosen = self._outputs(predictor, inputs), None
        if is_logits:
            chosen = outputs.argmax(axis=-1)
            # Padding predicts nothing. A model that reads its outputs, too, has them last.
            is_read = inputs[-1] != PAD if isinstance(inputs, tuple) else tokens
            if is_read is not None and np.shape(is_read) == chosen.shape:
                chosen = np.where(is_read >= 0 if is_read is tokens else is_read, chosen, -1)
        return f"{len(outputs)} test items", inputs, chosen, outputs

    def _load_data(self) -> None:
        if not self._has_data:
            predictor, _ = self._model(False)
            predictor.trained.load_data(self.run)
            self._has_data = True

    @staticmethod
    def _outputs(predictor: Predictor, inputs: Any) -> np.ndarray:
        return np.asarray(predictor.model(inputs, training=False))

    def _model(self, is_changed: bool) -> tuple[Predictor, dict[str, Intervention]]:
        """Return the predictor of one of both models, and what changes its attention."""
        if is_changed not in self._models:
            trained = TrainedRun.load(self.run, str(self.epochs.numbers[-1]))
            interventions = prepare(trained.model) if is_changed else {}
            declared: type[Predictor] = load(self.kind.predictions.predictor)
            request = Request(self.run, lambda line: self._messages.append(line))
            settings = {s.name: () if s.repeated else s.default for s in declared.settings}
            predictor = declared(request, **settings)
            predictor.use(trained)
            self._models[is_changed] = predictor, interventions
            self._loaded[is_changed] = self.epochs.numbers[-1]
        return self._models[is_changed]

    def _at(self, epoch: int, changes: Changes = MappingProxyType({})) -> Predictor:
        """Return the predictor with the weights of an epoch and changes."""
        is_changed = bool(changes)
        predictor, interventions = self._model(is_changed)
        if epoch not in self.epochs.numbers:
            raise RequestError(f"epoch: expected one of {self.epochs.numbers}, got {epoch}.")
        if self._loaded.get(is_changed) != epoch:
            values = self._values(epoch)
            self._loaded.pop(is_changed, None)
            assign(predictor.model.variables, values)
            self._loaded[is_changed] = epoch
        for name in changes:
            if name not in interventions:
                valid = ", ".join(interventions) or "none"
                raise RequestError(f"layer: expected one of {valid}, got {name}.")
        for name, intervention in interventions.items():
            intervention.set(changes.get(name, Change()))
        return predictor

    def _read_values(self, epoch: int) -> Sequence[np.ndarray]:
        """Return the weights of an epoch, read by the model as trained."""
        predictor, _ = self._model(False)
        self._loaded.pop(False, None)  # a damaged file may be read in part
        path = self.run.weights_path(epoch)
        load_weights(predictor.model, [path], f"the weights of epoch {epoch}")
        return [np.array(variable) for variable in predictor.model.variables]


def _cost(chosen: np.ndarray | None, before: np.ndarray, now: np.ndarray) -> float:
    """Return the mean loss of log probability of chosen outputs, or how far values moved."""
    if chosen is None:
        return float(np.sqrt(np.mean(np.square(now - before))))
    return float(np.nanmean(chosen_shares(before, chosen) - chosen_shares(now, chosen)))


def _score(explored: Explored, before: np.ndarray, now: np.ndarray) -> Score:
    if explored.chosen is None:
        return Score(explored.output, "RMS", 0.0, _cost(None, before, now))
    sums = [np.nansum(chosen_shares(logits, explored.chosen)) for logits in (before, now)]
    return Score(explored.output, "log probability", float(sums[0]), float(sums[1]))
