"""The commands and the code of the README and of docs/ work."""

import re
import shlex
import sys
from pathlib import Path

import click
import keras
import numpy as np
import pytest
from command_line import ROOT
from documents import PATHS, README, code, commands
from hydra import compose, initialize_config_dir
from scipy.spatial.distance import cdist
from scipy.special import softmax

from attnlab.cli import main
from attnlab.commands import command, verbs
from attnlab.config import composing as config
from attnlab.config.options import option_class
from attnlab.studies.study import read

MECHANISM, FUNCTIONS = code("python")
(LAYERS,) = code("python", "docs/guides/keras.md")
LINES, WIDTH = 150, 160  # of the README, at most


def test_a_stranger_reads_the_readme_in_two_minutes():
    lines = README.splitlines()
    assert len(lines) <= LINES and max(map(len, lines)) <= WIDTH


def test_links_lead_to_files_that_are_there():
    for path in [*PATHS, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_the_study_of_the_guide_can_be_read(tmp_path, monkeypatch):
    (text,) = code("yaml", "docs/guides/studies.md")
    (tmp_path / "study").mkdir()
    (tmp_path / "study/cells.yaml").write_text(text)
    monkeypatch.setenv("ATTNLAB_CONFIG_DIR", str(tmp_path))
    assert read("cells").by == "model.cell" and read("cells", quick=True).seeds == 2


def test_every_recipe_is_a_valid_request(mechanism_folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ATTNLAB_RUNS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    config.register_schema()
    problems = {}
    for recipe in commands():
        try:
            check(shlex.split(recipe.replace("range(1000)", "range(3)")), mechanism_folder)
        except Exception as error:
            problems[recipe] = error
    assert not problems, capsys.readouterr().err


def check(words: list[str], mechanism_folder: Path) -> None:
    """Parse a command's options, or compose its configuration and check it."""
    if words[0] in verbs():
        if "--config-dir" in words:  # every command accepts it and ignores it
            at = words.index("--config-dir")
            del words[at : at + 2]
        verb = command(words[0])
        words_of_it = verb.list_commands(None) if isinstance(verb, click.Group) else []
        if words[1:] and words[1] in words_of_it:
            verb = verb.get_command(None, words.pop(1))
        verb.make_context(words[0], words[1:])
    elif "-m" in words:
        assert main([*words, "sweep.dry_run=true"]) == 0
    else:
        with initialize_config_dir(str(config.conf_folder()), version_base="1.3"):
            path = f"hydra.searchpath=['file://{mechanism_folder.parent}']"
            config.from_hydra(compose("config", [path, *(word for word in words if "=" in word)]))


def test_the_library_example_trains_saves_and_loads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(LAYERS, names)
    history = np.random.default_rng(0).random((3, 24, 1))
    loaded = keras.models.load_model("forecaster.keras")
    np.testing.assert_array_equal(names["model"](history), loaded(history))


@pytest.mark.slow
def test_the_functions_give_the_results_of_the_command_line(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLAB_RUNS", str(tmp_path))
    names: dict = {}
    exec(FUNCTIONS, names)
    assert len(names["attnlab"].runs()) == 10  # the sweep found the run of seed 1


@pytest.fixture
def mechanism_folder(tmp_path, monkeypatch):
    """The two files of the README's mechanism, in the folders that it names."""
    folder = tmp_path / "mine/attention"
    folder.mkdir(parents=True)
    (folder / "distance.py").write_text(MECHANISM)
    (yaml,) = code("yaml")
    (folder / "distance.yaml").write_text(yaml)
    monkeypatch.syspath_prepend(tmp_path)  # restores the path, which the option extends
    monkeypatch.setenv("ATTNLAB_CONFIG_DIR", str(folder.parent))
    yield folder
    sys.modules.pop("distance", None)


def test_the_example_mechanism_is_a_softmax_of_squared_distances(mechanism_folder):
    layer = option_class("attention", "distance")()
    random = np.random.default_rng(1)
    query, memory = random.normal(size=(2, 3, 5)), random.normal(size=(2, 7, 5))
    weights = layer(query, memory).weights[:, 0]
    expected = softmax([-(cdist(*pair) ** 2) for pair in zip(query, memory, strict=True)], -1)
    np.testing.assert_allclose(weights, expected, rtol=1e-5)


SMALL = {
    "answer": ("data.questions=200", "model.units=16"),
    "classify": ("data.texts=400",),
    "fib": (),
    "masked_words": ("data.sentences=500", "model.units=32"),
    "translate": ("data.pairs=300", "model.units=32"),
}


@pytest.mark.slow
@pytest.mark.parametrize("task", sorted(SMALL))
def test_the_example_mechanism_trains_on_a_task_of_every_kind(
    mechanism_folder, no_figures, tmp_path, task
):
    words = [f"task={task}", "attention=distance", *SMALL[task], "trainer.epochs=2"]
    words.append("tracking.enabled=false")
    assert main([*words, f"paths.runs={tmp_path}/runs"]) == 0
    (history,) = tmp_path.glob("runs/*/distance/*/history.csv")
    losses = np.genfromtxt(history, delimiter=",", names=True)["train_loss"]
    assert np.all(np.isfinite(losses)) and losses[-1] < losses[0]
