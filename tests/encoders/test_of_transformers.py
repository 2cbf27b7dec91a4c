"""Checkpoints of Transformers as encoders: keras-hub's vectors, and equal tokens."""

import json
import subprocess
import sys

import numpy as np
import pytest
import tokenizers
from command_line import CommandsHere
from hub_presets import TOKENIZER_OF, WORDS, cut_off, expected_vectors, filled, write_checkpoint

from attnlab.encoders.hub import HubSource
from attnlab.encoders.hub_tokenizer import order
from attnlab.errors import RequestError
from attnlab.text.tokenizers import END, PAD, START, Tokenizer

keras_hub = pytest.importorskip("keras_hub")
pytest.importorskip("safetensors")
TEXTS = [
    *("The quick fox jumped,", "café CAFÉ é", "a-b 漢字 caf\u00e9 Ab", "12 123", "aß İb", "", " "),
    *("##b [b]", "a\u00a0b \u200b c\u2028a", "½ ﬁ e\u0301", "b" * 120),
]
ROWS = np.array([[START, 9, 4, 17, END, 30, 5, END, PAD], [START, 11, END, *[PAD] * 6]], np.int32)


@pytest.fixture
def checkpoint(tmp_path):
    def checkpoint(class_name, **config):
        write_checkpoint(tmp_path, class_name, **config)
        return tmp_path

    return checkpoint


@pytest.mark.parametrize("class_name", TOKENIZER_OF)
def test_vectors_are_those_of_keras_hub(checkpoint, class_name):
    folder = checkpoint(class_name)
    source = HubSource.open(str(folder))
    backbone = keras_hub.models.Backbone.from_preset(str(folder))
    own = source.describe()["config"]
    assert own == {name: getattr(backbone, name) for name in own}
    expected = expected_vectors(backbone, source.tokenizer, ROWS)
    np.testing.assert_allclose(filled(source)(ROWS).vectors, expected, atol=1e-5)
    assert np.abs(expected).max() > 0.5


@pytest.mark.parametrize("said", [{}, {"do_lower_case": False}, {"strip_accents": False}])
def test_words_are_cut_as_tokenizers_cuts_them(checkpoint, said):
    folder = checkpoint("BertBackbone")
    (folder / "tokenizer_config.json").write_text(json.dumps(said))
    tokenizer = HubSource.open(str(folder)).tokenizer
    lowercase = said.get("do_lower_case", True)
    expected = tokenizers.BertWordPieceTokenizer(
        {word: number for number, word in enumerate(WORDS)},
        lowercase=lowercase,
        strip_accents=said.get("strip_accents"),
    )
    for text in TEXTS:
        (ids,) = tokenizer.encode([text])
        found = order(tokenizer)[ids].tolist()
        assert found == expected.encode(text, add_special_tokens=False).ids, text
        assert len(tokenizer.word_numbers(text)) == len(ids)
    tokenizer.save(folder / "saved.json")
    assert Tokenizer.load(folder / "saved.json").encode(TEXTS) == tokenizer.encode(TEXTS)


@pytest.mark.parametrize(
    ("config", "damage", "words"),
    [
        ({"hidden_act": "relu"}, None, "expected gelu and absolute positions in .*, got relu and"),
        ({}, lambda f: (f / "model.safetensors").unlink(), r"without model\.safetensors\."),
        (
            {},
            lambda f: cut_off(f / "model.safetensors"),
            r"weights can't be read from .*model\.safetensors",
        ),
        ({}, lambda f: (f / "vocab.txt").unlink(), r"without vocab\.txt\."),
        ({}, lambda f: (f / "tokenizer_config.json").write_text("["), "settings of a tokenizer of"),
        (
            {},
            lambda f: (f / "config.json").write_text('{"model_type": "bert"}'),
            "expected the numbers vocabulary_size, .*got {}",
        ),
        (
            {},
            lambda f: (f / "config.json").write_text('{"model_type": "gpt2"}'),
            r"Transformers model \(bert, .*\) in .*, got a model of another library \(gpt2\)\.",
        ),
    ],
)
def test_a_damaged_checkpoint_is_refused(checkpoint, config, damage, words):
    folder = checkpoint("BertBackbone", **config)
    if damage:
        damage(folder)
    with pytest.raises(RequestError, match=rf"^model\.path: .*{words}"):
        HubSource.open(str(folder))


def test_a_configuration_needs_no_tensorflow(checkpoint):
    code = """if True:
        import sys
        from attnlab.encoders.opening import as_the_encoder
        path = sys.argv[1]
        task, model = {"encoder": path}, {"name": "pretrained", "path": path}
        given = {"task": task, "model": model, "attention": {"name": "multi_head", "heads": 4}}
        print(as_the_encoder(given)["attention"]["heads"], "keras" in sys.modules)
    """
    words = [sys.executable, "-c", code, str(checkpoint("BertBackbone"))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "False"], done.stderr


def test_a_run_works_after_its_checkpoint_is_deleted(tmp_path):
    folder, here = tmp_path / "checkpoint", CommandsHere(tmp_path)
    folder.mkdir()
    write_checkpoint(folder, "BertBackbone")
    (here.folder / "fox.csv").write_text(
        "text,label\n" + "".join(f"{'the fox ' * n}{w},{w}\n" for n in range(1, 9) for w in "abc")
    )
    words = ("task=classify", "data=table", "data.path=fox.csv", "model=pretrained")
    small = ("trainer.epochs=1", "task.max_length=12", "tracking.enabled=false")
    code, _, err = here(*words, f"model.path={folder}", *small)
    assert code == 0, err
    folder.rename(tmp_path / "gone")
    code, out, err = here("classify", "latest", "the fox a", "--format", "json")
    assert code == 0, err
    assert json.loads(out.splitlines()[0])["class"] in ("a", "b", "c")
