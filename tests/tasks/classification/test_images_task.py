"""task=digits and task=images from the command line: runs, files, and commands that use them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from drawn import drawn
from PIL import Image
from same_runs import assert_same_run

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.runner.resume import resume, run
from attnlab.runner.train import SweepMember
from attnlab.tasks.attention import read_attention
from attnlab.tasks.classification import shown
from attnlab.tasks.classification.image_corpora import Digits
from attnlab.tasks.classification.images import Images
from attnlab.tasks.classification.shown import figures

TINY = (
    *("model.units=8", "model.layers=1", "model.feed_forward=8", "attention.heads=2"),
    *("trainer.jit=false", "tracking.enabled=false"),
)
TRAINED = (
    *("task=images", "data.path=shapes", "data.size=8", "trainer.epochs=8", *TINY),
    *("trainer.batch_size=8", "optimizer.learning_rate=0.02", "model.dropout=0.0", "task.shift=0"),
)
DRAW = np.random.default_rng(2)


def shape(kind: str, side: int = 8, draw: np.random.Generator = DRAW) -> np.ndarray:
    """Noise images, dark or bright by class."""
    return draw.integers(0, 100, (side, side, 3), dtype=np.uint8) + np.uint8(150 * (kind == "day"))


@pytest.fixture
def lab(here, no_figures):
    draw = np.random.default_rng(3)
    for number in range(60):
        kind = ("night", "day")[number % 2]
        path = here.folder / "shapes" / kind / f"{number:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(shape(kind, draw=draw)).save(path)
    return here


def test_a_run_on_a_folder_of_images_works_with_every_command(trained_lab):
    (folder,) = trained_lab.run_folders()
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["test"]["accuracy"] == 1.0 and "images" in metrics["units"]
    assert list(metrics["baselines"]) == ["majority", "logistic_regression"]
    recorded = read_attention(RunDirectory(folder))
    assert recorded.epochs == [*range(1, 9)] and recorded.at(3)["weights"].shape == (6, 3, 2, 2)
    assert recorded.final()["pixels"].shape == (6, 8, 8, 3)
    assert (folder / "predictions.csv").read_text().splitlines()[1].count("/") == 1

    for kind, side in (("night", 13), ("day", 8)):
        Image.fromarray(shape(kind, side)).save(trained_lab.folder / f"{kind}.png")
    Image.fromarray(shape("night")[..., 0]).save(trained_lab.folder / "grey.jpg")
    code, out, err = trained_lab("classify", "latest", "night.png", "day.png", "--file", "grey.jpg")
    assert (code, out.split()) == (0, ["night", "day", "night"]), err
    words = ("--json", "night.png", "--attention", "map.png")
    code, out, err = trained_lab("classify", "latest", *words)
    result = json.loads(out)
    assert (result["image"], result["class"]) == ("night.png", "night")
    assert sum(result["probabilities"].values()) == pytest.approx(1)
    with Image.open("map.png") as picture:
        assert picture.width > 500

    code, out, err = trained_lab("evaluate", "latest", "--json")
    assert json.loads(out)["metrics"] == pytest.approx(metrics["test"], abs=1e-5), err
    trained_lab.run("report", "latest", "--out", "page.html")
    page = Path("page.html").read_text()
    assert "test images, by the probability" in page and "An image of night" in page
    result = figures(RunDirectory(folder), metrics)
    assert {"attention.png", "loss.png", "confusion.png"} <= result.keys()
    code, _, err = trained_lab("plot", "vocabulary", "latest")
    assert code == 2 and "that this command can use" in err


def test_wrong_images_are_refused_in_one_sentence(trained_lab):
    (trained_lab.folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nand no more")
    for words, message in (
        ((), "FILE.png: the run reads images; give an image file."),
        (("no.png",), "FILE.png: expected an image file, got no.png, no such file."),
        (("broken.png",), "broken.png: can't be read as an image: "),
        (("broken.png", "--attention", "x.gif"), "--attention: expected a file that ends"),
    ):
        code, out, err = trained_lab("classify", "latest", *words)
        assert (code, out) == (2, "") and message in err and err.count("\n") == 1, err


class Stopped(BaseException):
    """Ends a run as a kill does."""


@pytest.mark.slow
def test_a_run_with_random_augmentation_resumes_to_the_same_bits(compose, no_figures, tmp_path):
    words = ("task=digits", "data.limit=300", "trainer.epochs=3", "task.flip=true", *TINY)
    config = compose(*words, "model.stochastic_depth=0.5", "model.layers=2")

    def stop(row):
        if row["epoch"] == 2:
            raise Stopped

    whole = run(config)
    with pytest.raises(Stopped):
        elsewhere = config.with_values({"paths.runs": str(tmp_path)})
        run(elsewhere, SweepMember("stopping", on_epoch=stop))
    (folder,) = tmp_path.glob("digits/*/*")
    assert_same_run(resume(RunDirectory(folder)), whole)
    assert config.task.settings["shift"] == 1


def test_a_served_model_accepts_images_in_several_shapes():
    task = Images(corpus=Digits(), cache=Path("nowhere"))
    task.classes = ["dark", "bright"]

    def model(images, training):
        mean = np.asarray(images, float).mean(axis=(1, 2, 3))
        return np.stack([127 - mean, mean - 127], axis=1)

    images = np.zeros((3, 8, 8, 1))
    images[1] = 255
    for form in (images, images[..., 0], images.reshape(3, 64), images.tolist()):
        assert task.serve(model, form).tolist() == ["dark", "bright", "dark"]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (None, "expected images of 8 x 8 x 1 numbers from 0 to 255, got none"),
        (np.zeros((0, 8, 8)), "numbers from 0 to 255, got none"),
        (np.zeros((2, 7, 8)), r"got shape \(2, 7, 8\)"),
        (np.full((2, 8, 8), 300), "got 300 to 300"),
        (["text"], r"got shape \(1,\)"),
    ],
)
def test_other_inputs_are_refused(inputs, message):
    with pytest.raises(RequestError, match=message):
        Images(corpus=Digits(), cache=Path("nowhere")).serve(None, inputs)


METRICS = {"task": "digits", "attention": "multi_head", "seed": 0, "test": {"accuracy": 0.5}}


def test_maps_are_next_to_their_images_wrong_ones_first():
    arrays = {
        "weights": DRAW.random((3, 11, 2, 2), np.float32),
        "pixels": DRAW.integers(0, 256, (3, 8, 8, 1), dtype=np.uint8),
        "label": np.array(["1", "2", "3"]),
        "prediction": np.array(["1", "7", "3"]),
        "index": np.array([4, 5, 6]),
    }
    figure = drawn(shown.attention_figure)(arrays, METRICS)
    assert len(figure.axes) == 3 * 10  # image, rollout, eight heads
    assert figure.axes[0].get_ylabel() == "said 7\nis 2\n(test image 5)"
    assert figure.axes[10].get_ylabel() == "1\n(test image 4)"
    np.testing.assert_array_equal(figure.axes[0].images[0].get_array(), arrays["pixels"][1, ..., 0])
    np.testing.assert_array_equal(figure.axes[11].images[0].get_array(), arrays["weights"][0, 0])
    assert [axes.get_title() for axes in figure.axes[:3]] == ["image", "rollout", "head 1"]
