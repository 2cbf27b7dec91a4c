"""Learning to classify images: one compiled program takes the steps of an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from attnlab.config.sections import RunConfig
from attnlab.tasks.classification.scoring import validation_scores
from attnlab.tasks.resident import ResidentLearner
from attnlab.tasks.right_answers import chosen_examples

if TYPE_CHECKING:
    from attnlab.tasks.base import Report
    from attnlab.tasks.classification.images.models.vision_transformer import VisionTransformer
    from attnlab.tasks.classification.images.task import Images

_LARGE = 4e9  # operations of a step from which a processor's own libraries are the faster ones


class ImageLearner(ResidentLearner):
    """A classifier on its corpus, whose pixels stay in memory as bytes; see `Learner`."""

    def __init__(self, config: RunConfig, task: Images, model: VisionTransformer) -> None:
        self._task = task
        parts = task.data.parts.items()
        inputs = {name: part.pixels for name, part in parts}
        targets = {name: part.labels for name, part in parts}
        jit = runs_on_xla(model, config.trainer.batch_size)
        super().__init__(config, model, task.loss, inputs, targets, jit=jit)

    def validate(self, epoch: int) -> dict[str, float]:
        """`val_loss` in nats, `val_accuracy`."""
        logits = self.program.predict(self.rows["validation"])
        return validation_scores(
            self._task.loss, self._task.data.parts["validation"].labels, logits
        )

    def report(self) -> Report:
        """The test part's classes beside the baselines."""
        return self._task.report(self.program.predict(self.rows["test"]))

    def examples(self) -> dict[str, Any]:
        """Attention on a few test images, right and wrong ones.

        `weights` (N, 1 + H, rows, columns) as `VisionTransformer.attend` has them, `pixels` (N,
        height, width, channels), the `label` and the `prediction` (N,) by name, and `index` (N,),
        where the image stands in the test part; `positions` (P, P), see `position_similarity`,
        where positions are learned.
        """
        test, classes = self._task.data.parts["test"], np.array(self._task.classes)
        found = self.program.predict(self.rows["test"]).argmax(axis=-1)
        chosen = chosen_examples(found == test.labels)
        kept = {
            "weights": np.asarray(self.program.attend(test.pixels[chosen]), np.float32),
            "pixels": test.pixels[chosen],
            "label": classes[test.labels[chosen]],
            "prediction": classes[found[chosen]],
            "index": chosen,
        }
        similarity = self.program.model.position_similarity()
        return kept if similarity is None else {**kept, "positions": similarity}


def runs_on_xla(model: VisionTransformer, batch: int) -> bool:
    """Whether a model trains sooner by XLA than as a TensorFlow graph.

    On a GPU it does. A processor's libraries multiply large matrices faster than XLA does there,
    while of small models the overhead of a graph's operations is most of their time. A step has
    about six operations for each parameter and each vector of the batch.
    """
    vectors = batch * model.steps
    small = 6 * vectors * model.count_params() < _LARGE
    return small or bool(tf.config.list_physical_devices("GPU"))
