"""What the README tells people to type works."""

import re
import shlex
from pathlib import Path

import click
import keras
import numpy as np
import pytest
from hydra import compose, initialize_config_dir

from attnlab.cli import main
from attnlab.commands import command, verbs
from attnlab.config import composing as config

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
RECIPES = re.findall(r"^    attnlab (.*?)(?:\s+#.*)?$", README, flags=re.MULTILINE)


def test_there_are_recipes_of_every_kind():
    assert len(RECIPES) == 36


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_is_a_valid_request(recipe, tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLAB_RUNS", str(tmp_path))
    words = shlex.split(recipe)
    if words[0] in verbs():
        verb = command(words[0])
        words_of_it = verb.list_commands(None) if isinstance(verb, click.Group) else []
        if words[1:] and words[1] in words_of_it:
            verb = verb.get_command(None, words.pop(1))
        verb.make_context(words[0], words[1:])
        return
    if "-m" in words:
        assert main([*words, "sweep.dry_run=true"]) == 0
        return
    config.register_schema()
    with initialize_config_dir(str(config.conf_folder()), version_base="1.3"):
        config.from_hydra(compose("config", [word for word in words if "=" in word]))


def test_the_library_example_trains_saves_and_loads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(BLOCKS[0], names)
    history = np.random.default_rng(0).random((3, 24, 1))
    loaded = keras.models.load_model("forecaster.keras")
    np.testing.assert_array_equal(names["model"](history), loaded(history))


def test_the_example_mechanism_is_a_softmax_of_cosines():
    names: dict = {}
    exec(BLOCKS[1], names)
    random = np.random.default_rng(1)
    query, memory = random.normal(size=(2, 3, 5)), random.normal(size=(2, 7, 5))
    weights = names["CosineAttention"]()(query, memory).weights
    lengths = np.linalg.norm(query, axis=-1)[:, :, None] * np.linalg.norm(memory, axis=-1)[:, None]
    scores = np.exp(np.einsum("btq,bsq->bts", query, memory) / lengths)
    expected = scores / scores.sum(-1, keepdims=True)
    np.testing.assert_allclose(weights[:, 0], expected, rtol=1e-5)
