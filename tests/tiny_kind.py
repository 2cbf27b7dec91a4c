"""An external kind of task: one folder of Python, one YAML.

It learns to count: from a number to the next one. attnlab doesn't know it.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

FILES = {
    "conf/task/count.yaml": """\
        # @package _global_
        # The number after a number.
        task:
          name: count
          _target_: counting.task.Count
          most: 40
          rules:
            most: {type: int, min: 20}
        trainer:
          epochs: 3
        """,
    "counting/__init__.py": "",
    "counting/kind.py": """\
        from attnlab.tasks.kinds import Kind, KindModels, Metric, Predictions, Scoring

        METRICS = (Metric("miss", "min", "miss"), Metric("loss", "min", "loss"))
        KIND = Kind(
            name="counting",
            models=KindModels(learner="counting.learner:CountLearner"),
            scoring=Scoring(metrics=METRICS, reported="miss"),
            predictions=Predictions(
                item="count",
                command="count",
                predictor="counting.predictor:CountPredictor",
            ),
            views="counting.learner:VIEWS",
        )
        """,
    "counting/task.py": """\
        import json

        import numpy as np

        from attnlab.tasks.base import Report, Task, TaskData
        from counting.kind import KIND


        class Count(Task):
            kind, name, monitor = KIND, "count", ("val_loss", "min")
            served = [0.0], [0.0]

            def __init__(self, *, most):
                self.most = most

            def load(self, seed, progress=None):
                parts = {"train": range(self.most), "validation": range(10), "test": range(10)}
                return TaskData(
                    name="numbers", source="counting", digest="0" * 64, longest=1, parts=parts
                )

            def rows(self, part):
                first = {"train": 0, "validation": self.most, "test": self.most + 10}[part]
                count = self.most if part == "train" else 10
                return np.arange(first, first + count, dtype="float32")[:, None] / self.most

            def build(self, attention, model):
                import keras

                built = keras.Sequential([keras.layers.Dense(1)])
                built.build((None, 1))
                return built

            def evaluate(self, model, part="test"):
                rows = self.rows(part)
                wanted = rows[:, 0] + 1 / self.most
                counts = np.asarray(model(rows))[:, 0]
                miss, other = (float(np.mean(np.abs(x - wanted))) for x in (counts, rows[:, 0]))
                return Report(
                    metrics={"miss": miss},
                    baselines={"same_again": {"miss": other}},
                    best_baseline="same_again",
                    skill=1 - miss / other,
                    notes=[],
                    predictions={"index": np.arange(len(rows)), "target": wanted, "count": counts},
                    units="shares of the most",
                    metric="miss",
                    skills={"same_again": 1 - miss / other},
                )

            def head_inputs(self, model, part, count):
                return self.rows(part)[:count], None

            def serve(self, model, inputs):
                return np.asarray(model(np.asarray(inputs, "float32")))

            def save(self, folder):
                (folder / "count.json").write_text(json.dumps({"most": self.most}))

            def load_from(self, folder):
                assert json.loads((folder / "count.json").read_text()) == {"most": self.most}
        """,
    "counting/learner.py": """\
        import keras
        import numpy as np
        import tensorflow as tf

        from attnlab.tasks.base import Learner, Views
        from attnlab.training.optimizers import make_optimizer
        from attnlab.training.plan import StepLosses


        class Steps:
            steps = 4


        class CountLearner(Learner):
            jit = False

            def __init__(self, config, task, model):
                self.model, self._task = model, task
                settings = config.optimizer.settings
                self.optimizer = make_optimizer(config.optimizer.name, settings)
                self.optimizer.build(model.trainable_variables)

            def chunks(self, epoch):
                return [Steps()]

            def train(self, chunk, rates, first_step):
                rows, losses = self._task.rows("train"), []
                for rate in rates:
                    self.optimizer.learning_rate = float(rate)
                    with tf.GradientTape() as tape:
                        missed = self.model(rows) - rows - 1 / self._task.most
                        loss = tf.reduce_mean(tf.square(missed))
                    variables = self.model.trainable_variables
                    self.optimizer.apply(tape.gradient(loss, variables), variables)
                    losses.append(float(loss))
                return StepLosses(np.array(losses), np.ones(len(losses)))

            def validate(self, epoch):
                report = self._task.evaluate(self.model, "validation")
                return {"val_loss": report.metrics["miss"]}

            def report(self):
                return self._task.evaluate(self.model, "test")


        VIEWS = Views(lambda run, metrics: {})
        """,
    "counting/predictor.py": """\
        from attnlab.tasks.predictor import Inputs, Predictor


        class CountPredictor(Predictor):
            '''Say the number after each NUMBER, by a trained RUN.'''

            takes = Inputs("NUMBER", "[NUMBER]...")

            def predict(self, inputs):
                outputs = self.task.serve(self.model, [[float(number)] for number in inputs])
                return [{"number": float(number)} for number in outputs[:, 0]]

            def lines(self, result):
                return [f"{result['number']:.3g}"]
        """,
    # What pip writes for an installed package with entry points.
    "counting-1.0.dist-info/METADATA": """\
        Metadata-Version: 2.1
        Name: counting
        Version: 1.0
        """,
    "counting-1.0.dist-info/entry_points.txt": """\
        [attnlab.kinds]
        counting = counting.kind:KIND
        """,
}


def write(folder: Path) -> None:
    """Write the kind's files into a folder, which becomes one of Python's path."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(text), encoding="utf-8")
