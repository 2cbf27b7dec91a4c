"""Tokenizers: no collisions, exact decoding by BPE, and the words of pieces."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import RequestError
from attnlab.text.tokenizers import END, PAD, START, UNKNOWN, Tokenizer
from attnlab.text.words import split_words

SENTENCES = [
    *('"Hello, Tom!" said Mary.', "Tom doesn't know the time: 10:30.", "Wie geht’s?"),
    *("Tom liest das Buch, das Maria liest.", "Das ist größer als 3.50 Äpfel - oder?"),
    *("a <pad> [UNK] ▁ <unk> </s> [ END ] Ġ ⁇", "[ PAD ] <0xC3> ##ing ing@@ ĠĠ"),
] * 3
KINDS = ("word", "char", "bpe")
FITTED = {kind: Tokenizer.fit(SENTENCES, kind=kind, size=400) for kind in KINDS}
every_kind = pytest.mark.parametrize("kind", KINDS)


def back(tokenizer, text):
    return tokenizer.decode(tokenizer.encode([text]))[0]


@every_kind
def test_a_known_sentence_is_decoded_exactly(kind):
    for text in SENTENCES[:7]:
        assert back(FITTED[kind], text) == text


@every_kind
def test_characters_that_are_words_are_decoded_without_spaces(kind):
    for text, words in [
        ("彼得于1900年在 Berlin。", [*"彼得于", "1900", *"年在", "Berlin", "。"]),
        ("น้ำดี AI", ["น้ำ", "ดี", "AI"]),
        ("ភ្នំពេញ។", ["ភ្នំ", "ពេ", "ញ", "។"]),
    ]:
        tokenizer = Tokenizer.fit([text] * 3, kind=kind, size=500)
        assert back(tokenizer, text) == text
        numbers = tokenizer.word_numbers(text)
        assert sorted({*numbers}) == [*range(len(words))] and split_words(text) == words
        if kind != "char":  # no token crosses a character that is a word
            parts = tokenizer.decode([[token] for token in tokenizer.encode([text])[0]])
            assert kind == "bpe" or [part.strip() for part in parts] == words


@given(st.text())
def test_bpe_decodes_any_text_exactly(text):
    assert back(FITTED["bpe"], text) == text


@given(st.text(), st.sampled_from(KINDS))
def test_no_text_gives_a_special_token_but_unknown(text, kind):
    (ids,) = FITTED[kind].encode([text])
    assert not {PAD, START, END} & set(ids)
    assert kind != "bpe" or UNKNOWN not in ids
    assert all(0 <= token < FITTED[kind].size for token in ids)


@every_kind
@given(text=st.text(st.sampled_from("Tom's 10.-ä\u0301\u00a0 \n\"漢🙂İ")))
def test_each_token_has_the_number_of_its_word(kind, text):
    tokenizer = FITTED[kind]
    (ids,) = tokenizer.encode([text])
    numbers = tokenizer.word_numbers(text)
    assert len(numbers) == len(ids)
    assert numbers == sorted(numbers)
    words = split_words(text)
    if kind == "word":
        assert numbers == list(range(len(words)))
    elif words:
        assert set(numbers) == set(range(len(words)))


@every_kind
def test_lower_case(kind):
    tokenizer = Tokenizer.fit(["Tom TOM Äpfel"], kind=kind, lowercase=True)
    assert back(tokenizer, "ÄPFEL Tom") == "äpfel tom"
    assert len(tokenizer.word_numbers("İTOM")) == len(tokenizer.encode(["İTOM"])[0])


def test_unknown_words_and_characters_are_shown():
    assert back(FITTED["word"], 'Tom liest "Faust".') == 'Tom liest " ⁇".'
    assert back(FITTED["char"], "Tom ☃") == "Tom ⁇"
    assert FITTED["word"].unknown('Tom liest "Faust", Tom.') == ["Faust"]
    assert FITTED["char"].unknown("Tom ☃") == ["☃"]
    assert FITTED["bpe"].unknown("Tom ☃") == []


def test_decoding_stops_at_the_end_and_shows_no_special_token():
    tokenizer = FITTED["word"]
    tom, liest = tokenizer.encode(["Tom liest"])[0]
    rows = [[START, tom, liest, END, liest, PAD], np.array([tom, PAD, PAD], np.int32), []]
    assert tokenizer.decode(rows) == ["Tom liest", "Tom", ""]


def test_a_continued_text_has_no_space_in_front():
    bpe = FITTED["bpe"]
    lines = ["Tom liest\n", "das Buch\n"]
    ids = [token for line in bpe.encode_on(lines) for token in line]
    assert bpe.content(ids).decode() == "".join(lines)
    assert bpe.content(bpe.encode(["Tom"])[0]) == b" Tom"


def test_labels_are_readable():
    word, char, bpe = (FITTED[kind] for kind in KINDS)
    ids = [START, *word.encode(['"Tom" Faust'])[0], END, PAD]
    assert word.pieces(ids) == ["<start>", '"', "Tom", '"', "⁇", "<end>", "<pad>"]
    assert char.pieces(char.encode(["a m"])[0]) == ["a", "␣", "m"]
    assert "".join(bpe.pieces(bpe.encode(["größer"])[0])).replace("·", "") == "größer"
    labels = bpe.pieces(bpe.encode(["xyz,(a\n"])[0])
    assert labels == ["␣", "x", "·y", "·z", ",", "(", "a", "\\n"]


@every_kind
def test_the_vocabulary_is_no_larger_than_asked(kind):
    size = {"word": 11, "char": 7, "bpe": 263}[kind]
    assert Tokenizer.fit(SENTENCES, kind=kind, size=size).size == size


@every_kind
def test_a_fit_is_a_function_of_the_sentences(kind):
    lines = [f"{word}{number % 97} {word}" for number in range(2000) for word in ("ab", "ba", "ca")]
    first, second = (Tokenizer.fit(iter(lines), kind=kind, size=300) for _ in range(2))
    assert first.vocabulary == second.vocabulary


@every_kind
def test_a_saved_tokenizer_is_the_same(kind, tmp_path):
    FITTED[kind].save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert loaded.vocabulary == FITTED[kind].vocabulary
    assert (loaded.kind, loaded.lowercase, loaded.size) == (kind, False, FITTED[kind].size)
    assert loaded.encode(SENTENCES) == FITTED[kind].encode(SENTENCES)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content.pop("tokens"),
        lambda content: content.update(format=99),
        lambda content: content["tokens"].append(content["tokens"][-1]),
    ],
)
def test_a_damaged_file_is_refused_and_named(damage, tmp_path):
    FITTED["bpe"].save(tmp_path / "tokenizer.json")
    content = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    damage(content)
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(RequestError, match=r"tokenizer\.json: can't be read"):
        Tokenizer.load(tmp_path / "tokenizer.json")


def test_impossible_settings_are_refused():
    for kind, size, words in [
        ("bpe", 259, r"task\.vocabulary: expected at least 260 .*256 bytes.*, got 259"),
        ("word", 4, r"task\.vocabulary: expected at least 5 .*, got 4"),
        ("sentence", None, r"task\.tokenizer: expected one of word, char, bpe, got 'sentence'"),
    ]:
        with pytest.raises(RequestError, match=words):
            Tokenizer.fit(SENTENCES, kind=kind, size=size)


@every_kind
def test_the_most_frequent_words_come_first(kind):
    lines = ["Der Hund sieht den Hund.", "Der Hund schläft."]
    tokenizer = Tokenizer.fit(lines, kind=kind, size=280)
    first = 260 if kind == "bpe" else 4  # special tokens, and the bytes of BPE
    assert tokenizer.most_frequent(4) == range(first, first + 4)
    if kind == "word":
        assert tokenizer.pieces(tokenizer.most_frequent(1)) == ["Hund"]
