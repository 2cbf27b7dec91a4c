"""Tokenizers of keras-hub's presets: the same tokens, in this project's order."""

import json
import pickle

import numpy as np
import pytest
from hub_presets import CORPUS, WORDS, byte_pairs, write_tokenizer
from hypothesis import given
from hypothesis import strategies as st

from attnlab.encoders.hub_preset import tokenizer_files
from attnlab.encoders.hub_tokenizer import order, read_tokenizer
from attnlab.errors import RequestError
from attnlab.text.tokenizers import END, PAD, START, UNKNOWN, Tokenizer
from attnlab.text.words import split_words

TEXTS = [
    *("The quick foxes jumped, the CAFÉ …", "[MASK] [PAD] <mask> <s></s> it's 12345", "", " "),
    *("abc aab  ab-b.\n\nIİß ss", "漢字 e\u0301 é caf\u00e9 \u00a0 \u200b \ufe0f ≠ ½ ™", "x" * 120),
    *("é" * 60, "don't WE'LL  99 !!\t\n ok", "a\u00adb a\u2028b ﹇MASK﹈"),
]
any_text = st.text(
    st.sampled_from([*"abc éÉ.\n'[]<>/AKMS漢\u0301\ufe0f\u00adİß…123"]) | st.characters()
)


def tokenizer_of(folder, class_name, **settings):
    write_tokenizer(folder, class_name, **settings)
    files = [folder / name for name in tokenizer_files(class_name)]
    return read_tokenizer(files, class_name)


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory):
    settings = {
        "cased": ("BertTokenizer", {}),
        "uncased": ("DistilBertTokenizer", {"lowercase": True}),
        "bare": ("BertTokenizer", {"lowercase": True, "strip_accents": True}),
        "roberta": ("RobertaTokenizer", {}),
    }
    return {
        name: tokenizer_of(tmp_path_factory.mktemp(name), class_name, **own)
        for name, (class_name, own) in settings.items()
    }


every = pytest.mark.parametrize("name", ["cased", "uncased", "bare", "roberta"])


def theirs(rows):
    rows = rows if isinstance(rows, list) else rows.to_list()
    return [[int(token) for token in row] for row in rows]


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("strip_accents", [False, True])
def test_word_pieces_are_those_of_keras_hub(tmp_path, lowercase, strip_accents):
    pytest.importorskip("tensorflow_text")
    keras_hub = pytest.importorskip("keras_hub")
    settings = {"lowercase": lowercase, "strip_accents": strip_accents}
    own = tokenizer_of(tmp_path, "BertTokenizer", **settings)
    their = keras_hub.models.BertTokenizer(vocabulary=list(WORDS), **settings)
    assert [order(own)[row].tolist() for row in own.encode(TEXTS)] == theirs(their(TEXTS))


def test_byte_pairs_are_those_of_keras_hub(tokenizers):
    """Its graph splits texts as GPT-2 does; called directly, 0.32 splits them as Llama 3 does."""
    pytest.importorskip("tensorflow_text")
    keras_hub = pytest.importorskip("keras_hub")
    import tensorflow as tf

    vocabulary, merges = byte_pairs()
    their = keras_hub.models.RobertaTokenizer(
        vocabulary=vocabulary, merges=merges, unsplittable_tokens=[]
    )
    texts = [text for text in [*TEXTS, *CORPUS] if text]
    rows = next(iter(tf.data.Dataset.from_tensors(texts).map(their)))
    own = tokenizers["roberta"]
    assert [order(own)[row].tolist() for row in own.encode(texts)] == theirs(rows)


@every
def test_the_special_tokens_come_first_and_the_others_stay_in_their_order(tokenizers, name):
    tokenizer = tokenizers[name]
    numbers = order(tokenizer)
    assert sorted(numbers) == list(range(tokenizer.size))
    assert (np.diff(numbers[END + 1 :]) > 0).all()
    names = [*byte_pairs()[0]] if name == "roberta" else list(WORDS)
    special = ["<pad>", "<unk>", "<s>", "</s>"]
    special = special if name == "roberta" else ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    by_number = sorted(names, key=byte_pairs()[0].get) if name == "roberta" else names
    assert [by_number[number] for number in numbers[:4]] == special
    assert (PAD, UNKNOWN, START, END) == (0, 1, 2, 3)


@every
@given(text=any_text)
def test_no_text_is_a_special_token(tokenizers, name, text):
    tokenizer = tokenizers[name]
    (ids,) = tokenizer.encode([text])
    assert not {PAD, START, END} & {*ids}
    tokens = {tokenizer.vocabulary.tokens[token] for token in ids}
    assert not tokens & {"[MASK]", "<mask>", "[unused0]"}


@every
@given(text=any_text)
def test_each_token_has_the_number_of_its_word(tokenizers, name, text):
    tokenizer = tokenizers[name]
    numbers = tokenizer.word_numbers(text)
    assert len(numbers) == len(tokenizer.encode([text])[0])
    assert numbers == sorted(numbers)
    assert all(0 <= number < max(len(split_words(text)), 1) for number in numbers)


def test_words_find_their_pieces(tokenizers):
    text = "The FOXES … jumped!"
    assert tokenizers["uncased"].word_numbers(text) == [0, 1, 1, 2, 3, 3, 4]
    accents = "e\u0301 caf\u00e9 foxes"
    assert tokenizers["bare"].word_numbers(accents) == [0, 1, 1, 2, 2]


def test_labels_and_texts_are_readable(tokenizers):
    pieces, roberta = tokenizers["uncased"], tokenizers["roberta"]
    (ids,) = pieces.encode(["The foxes, zebra."])
    assert pieces.pieces([START, *ids, END]) == (
        ["<start>", "the", "fox", "·es", ",", "⁇", ".", "<end>"]
    )
    assert pieces.decode([[*ids, END, PAD]]) == ["the foxes , ⁇ ."]
    assert pieces.unknown("The Zebra sees foxes") == ["Zebra", "sees"]
    assert roberta.decode(roberta.encode(TEXTS[:2])) == TEXTS[:2]
    assert roberta.pieces(roberta.encode(["The漢"])[0]) == ["The", "<E6>", "<BC>", "<A2>"]
    assert roberta.unknown("漢") == []


@every
def test_the_most_frequent_words_follow_the_characters(tokenizers, name):
    tokenizer = tokenizers[name]
    found = tokenizer.most_frequent(3)
    assert len(found) == 3
    if name != "roberta":
        assert tokenizer.pieces(found) == ["the", "quick", "fox"]


@every
def test_a_copy_is_the_same(tokenizers, name):
    copy = pickle.loads(pickle.dumps(tokenizers[name]))
    assert copy.encode(TEXTS) == tokenizers[name].encode(TEXTS)


@every
def test_a_saved_tokenizer_is_the_same(tokenizers, name, tmp_path):
    tokenizer = tokenizers[name]
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert loaded.encode(TEXTS) == tokenizer.encode(TEXTS)
    assert (loaded.kind, loaded.manner, loaded.lowercase, loaded.size) == (
        *(tokenizer.kind, tokenizer.manner, tokenizer.lowercase, tokenizer.size),
    )
    assert (order(loaded) == order(tokenizer)).all()


@pytest.mark.parametrize("damage", [{"manner": None}, {"manner": {"special": [1]}}, {"tokens": []}])
def test_a_damaged_file_is_refused(tokenizers, damage, tmp_path):
    path = tmp_path / "tokenizer.json"
    tokenizers["cased"].save(path)
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **damage}))
    with pytest.raises(RequestError, match=r"tokenizer\.json: damaged"):
        Tokenizer.load(path)


def test_the_last_of_repeated_tokens_is_used(tmp_path):
    write_tokenizer(tmp_path, "BertTokenizer")
    path = tmp_path / "assets" / "tokenizer" / "vocabulary.txt"
    path.write_text(path.read_text(encoding="utf-8") + "fox\n", encoding="utf-8")
    files = [tmp_path / name for name in tokenizer_files("BertTokenizer")]
    tokenizer = read_tokenizer(files, "BertTokenizer")
    (ids,) = tokenizer.encode(["fox"])
    assert order(tokenizer)[ids].tolist() == [len(WORDS)]


def test_roberta_without_an_unknown_token_uses_the_mask(tmp_path):
    write_tokenizer(tmp_path, "RobertaTokenizer")
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<mask>": 3, "a": 4, "b": 5, "ab": 6}
    assets = tmp_path / "assets" / "tokenizer"
    (assets / "vocabulary.json").write_text(json.dumps(vocabulary))
    (assets / "merges.txt").write_text("#version: 0.2\na b\n")
    files = [tmp_path / name for name in tokenizer_files("RobertaTokenizer")]
    tokenizer = read_tokenizer(files, "RobertaTokenizer")
    assert order(tokenizer).tolist() == [1, 3, 0, 2, 4, 5, 6]
    assert tokenizer.encode(["abx"]) == [[6, UNKNOWN]]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("tokenizer.json", "{", r"tokenizer\.json can't be read: expected the settings"),
        ("tokenizer.json", '{"config": {}, "class_name": "GPT2"}', "RobertaTokenizer .*'GPT2'"),
        (
            "assets/tokenizer/vocabulary.json",
            '{"<s>": 0, "<pa',
            r"vocabulary\.json can't be read: expected tokens",
        ),
        ("assets/tokenizer/vocabulary.json", '{"a": 0, "b": 2}', "some numbers are missing"),
        ("assets/tokenizer/vocabulary.json", '{"a": 0}', r"without <pad>, <mask>, <s>, </s>\."),
        ("assets/tokenizer/merges.txt", "a b\nĠ t", "in the middle of a line"),
        ("assets/tokenizer/merges.txt", "a\n", r"merges\.txt .*two pieces in each line"),
        ("assets/tokenizer/merges.txt", "a qqq\n", r"merges\.txt .*pieces of its vocabulary"),
    ],
)
def test_a_damaged_preset_is_refused(tmp_path, name, content, words):
    write_tokenizer(tmp_path, "RobertaTokenizer")
    (tmp_path / name).write_text(content, encoding="utf-8")
    files = [tmp_path / file for file in tokenizer_files("RobertaTokenizer")]
    with pytest.raises(RequestError, match=words):
        read_tokenizer(files, "RobertaTokenizer")


def test_a_tokenizer_that_expects_words_is_refused(tmp_path):
    with pytest.raises(RequestError, match=r'expected "split": true .*tokenizer\.json, got false'):
        tokenizer_of(tmp_path, "BertTokenizer", split=False)
