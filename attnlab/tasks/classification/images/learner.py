"""Learning to classify images: one compiled program takes the steps of an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.tasks.accuracy_tests import chosen_examples
from attnlab.tasks.classification.scoring import validation_scores
from attnlab.tasks.in_memory import InMemoryLearner
from attnlab.training.compiler import Border, is_faster_with_xla

if TYPE_CHECKING:
    from attnlab.tasks.base import Report
    from attnlab.tasks.classification.images.models.vision_transformer import VisionTransformer
    from attnlab.tasks.classification.images.task import Images


class ImageLearner(InMemoryLearner):
    """A classifier on its corpus, whose pixels stay in memory as bytes; see `Learner`."""

    def __init__(self, config: RunConfig, task: Images, model: VisionTransformer) -> None:
        self._task = task
        parts = task.data.parts.items()
        inputs = {name: part.pixels for name, part in parts}
        targets = {name: part.labels for name, part in parts}
        # A step has about six operations for each parameter and each vector of the batch.
        vectors = config.trainer.batch_size * model.steps
        operations = 6 * vectors * model.count_params()
        faster = is_faster_with_xla(operations, Border.VISION_TRANSFORMER)
        super().__init__(config, model, task.loss, inputs, targets, faster_with_xla=faster)

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
