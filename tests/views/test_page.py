"""A page's HTML: complete, self-contained, and without markup in texts."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import numpy as np
import pytest
from example_page import HOSTILE, TABLE, WEIGHTS, page, shaded_page

from attnlab.views.html.page import encode_weights, largest, page_text

_VOID = {"img", "meta", "input"}
SVG = "{http://www.w3.org/2000/svg}"


class Tree(HTMLParser):
    """The elements that the standard library's parser finds."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.inside.setdefault(self.open[-1] if self.open else "", []).append(data)


@pytest.fixture(scope="module", params=["plain", HOSTILE], ids=["plain", "hostile"])
def text(request) -> str:
    return page_text(page(request.param))


def test_every_element_is_closed_and_hostile_text_makes_none(text):
    tree, plain = Tree(text), Tree(page_text(page()))
    assert tree.open == []
    assert [tag for tag, _ in tree.elements] == [tag for tag, _ in plain.elements]
    assert [sorted(attributes) for _, attributes in tree.elements] == [
        sorted(attributes) for _, attributes in plain.elements
    ]


def test_text_is_unchanged_in_html():
    tree = Tree(page_text(page(HOSTILE)))
    for tag in ("h1", "h2", "title", "td", "pre", "p", "time"):
        said = "".join(tree.inside[tag])
        assert HOSTILE in said or tag == "time"
    data = [json.loads(s) for s in tree.inside["script"] if s.startswith("{")]
    assert HOSTILE in json.dumps(data, ensure_ascii=False).replace("\\\\", "\\")


def test_nothing_is_fetched_and_only_the_pages_script_runs(text):
    tree = Tree(text)
    for tag, attributes in tree.elements:
        assert not {"srcset", "style", "onload", "onclick"} & attributes.keys()
        assert attributes.get("src", "data:").startswith("data:")
        assert tag not in ("link", "iframe", "object", "base")
        assert attributes.get("href", "#").startswith("#")
    assert not re.search(r"url\(|@import|https?://|fetch\(|eval\(|innerHTML", text)
    (policy,) = [a["content"] for _, a in tree.elements if a.get("http-equiv")]
    script = text.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'"
    )


def test_words_that_a_model_does_not_know_have_a_note():
    elements = Tree(page_text(page(HOSTILE))).elements
    notes = [a.get("title") for _, a in elements if a.get("class") == "word unknown"]
    assert notes == [f"not in the vocabulary: {HOSTILE}", "odd"]


def test_every_label_has_its_element(text):
    tree = Tree(text)
    ids = [a["id"] for _, a in tree.elements if "id" in a]
    assert len(ids) == len({*ids})
    for _, attributes in tree.elements:
        for name in ("for", "aria-controls", "aria-labelledby"):
            assert attributes.get(name, ids[0]) in ids
        if attributes.get("href"):
            assert attributes["href"][1:] in ids


def test_weights_are_bytes_of_the_largest_one():
    tree = Tree(page_text(page()))
    data = [json.loads(s) for s in tree.inside["script"] if s.startswith("{")]
    (strips,) = [record for record in data if "steps" in record]
    steps = np.frombuffer(base64.b64decode(strips["weights"]), np.uint8)
    assert np.array_equal(steps.reshape(WEIGHTS.shape), 255 * WEIGHTS)
    (sentence,) = [record for record in data if "frames" in record]
    weights = np.frombuffer(base64.b64decode(sentence["frames"][1]["weights"]), np.uint8)
    assert weights.reshape(2, 3, 3)[0, 1].tolist() == [64, 191, 0]
    assert weights.reshape(2, 3, 3)[1, 0].tolist() == [0, 0, 255]


def test_weights_below_0_are_signed_bytes():
    weights = np.array([0.5, -2.0, np.nan, 0.0])
    data = encode_weights(weights, largest(np.nan_to_num(weights)))
    steps = np.frombuffer(base64.b64decode(data.pop("weights")), np.int8)
    assert steps.tolist() == [32, -127, 0, 0] and data == {"signed": True}
    assert "signed" not in encode_weights(np.abs(weights), 2.0)


def test_shaded_texts_have_the_bytes_of_each_maps_largest_weight():
    text = page_text(shaded_page(HOSTILE))
    tree = Tree(text)
    (data,) = [json.loads(s) for s in tree.inside["script"] if s.startswith("{")]
    first, second = data["frames"]
    assert first["most"] == [0.1, 0.5] and second["most"] == [0, 0]
    weights = np.frombuffer(base64.b64decode(first["weights"]), np.uint8)
    assert weights.tolist() == [255, 102, 0, 0, 0, 255]
    assert not any(base64.b64decode(second["weights"]))
    assert tree.inside["dt"] == ["text", "class", HOSTILE] and tree.open == []


def test_without_a_script_the_first_epoch_is_shown():
    text = page_text(page())
    assert '<output for="epoch-1">epoch 4 of 9 · val_loss 1 · best</output>' in text
    shown = re.search(r'<dd class="translation">(.*?)</dd>', text)
    assert re.sub(r"<.*?>", "", shown[1]) == "der Hund &lt;end&gt;"


def test_charts_are_images_whose_text_is_text():
    text = page_text(page(HOSTILE))
    images = re.findall(r'<img alt="[^"]*" src="data:image/svg\+xml;base64,([^"]*)">', text)
    means, curves, dots = (ElementTree.fromstring(base64.b64decode(image)) for image in images)
    texts = [
        [str(word.text) for word in chart.iter(f"{SVG}text")] for chart in (means, curves, dots)
    ]
    assert {"one", "near"} <= {*texts[0]} and {"one", "epoch", "loss"} <= {*texts[1]}
    assert all(HOSTILE[:20] in "".join(text) for text in texts)


def test_equal_records_give_equal_pages_with_the_rows_in_their_order():
    assert page_text(page()) == page_text(page())
    other = page_text(page()._replace(made="2027"))
    assert other == page_text(page()).replace("2026-01-02 03:04", "2027")
    rows = re.findall(r"<tr( class=\"muted\")?>((?:<td.*?</td>)+)</tr>", page_text(page()))
    assert [re.findall(r"<td[^>]*>(.*?)</td>", row) for _, row in rows][:3] == TABLE
    assert [bool(muted) for muted, _ in rows] == [True, False, False, False]
