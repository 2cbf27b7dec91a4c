"""The page of `attnlab explore` in a real browser, with its server and small trained runs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browsers import NEEDS_BROWSER, started_browser
from command_line import CommandsHere

pytestmark = NEEDS_BROWSER

CROSS = "decoder_0 cross_attention"
SMALL = ("trainer.epochs=2", "trainer.jit=false", "tracking.enabled=false", "seed=3")
LOADING = "Failed to load resource"  # what browsers write about each answer that isn't 200


class Serving:
    """The server of some runs, which can go away and come back at the same address."""

    def __init__(self, *folders: Path) -> None:
        from attnlab.explore.server import prepare
        from attnlab.records.run_directory import RunDirectory

        self.computing = ThreadPoolExecutor(1)
        listening = socket.create_server(("127.0.0.1", 0))
        runs = [RunDirectory(folder) for folder in folders]
        self.address, serve = prepare(runs, self.computing, listening, is_remote=False)
        self.server, self.port = serve.func.__self__, listening.getsockname()[1]
        self.start(listening)

    def start(self, listening: socket.socket | None = None) -> None:
        self.server.should_exit = False
        sockets = [listening or socket.create_server(("127.0.0.1", self.port))]
        self.thread = threading.Thread(target=self.server.run, args=(sockets,))
        self.thread.start()

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join()


@contextmanager
def serving(*folders: Path) -> Iterator[Serving]:
    server = Serving(*folders)
    try:
        yield server
    finally:
        server.stop()
        server.computing.shutdown()


@pytest.fixture(scope="module")
def browser():
    with started_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def one(exploring) -> Iterator[Serving]:
    """A Transformer that translates."""
    with serving(exploring.folder) as server:
        yield server


@pytest.fixture(scope="module")
def two(exploring, translating) -> Iterator[Serving]:
    """The same one and a recurrent model of one head, which translates."""
    with serving(exploring.folder, translating.folder) as server:
        yield server


@pytest.fixture
def opened(browser):
    """Open a page; at the end none has errors, or has asked another server."""
    from playwright.sync_api import expect

    wrong: list[str] = []
    tabs = []

    def open_page(server: Serving, address: str = "", width: int = 1280) -> Any:
        tab = browser.new_page(viewport={"width": width, "height": 900})
        tabs.append(tab)
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        local = (server.address, "data:", "blob:")
        tab.on("request", lambda r: None if r.url.startswith(local) else wrong.append(r.url))
        tab.goto(address or server.address)
        expect(tab.locator(".where").last).not_to_be_empty(timeout=60_000)
        return tab

    yield open_page
    assert [text for text in wrong if LOADING not in text] == []
    for tab in tabs:
        assert tab.evaluate("window.hacked") is None
        tab.close()


@contextmanager
def predicted(tab: Any) -> Iterator[Any]:
    """Wait until the page has the answer to what the block changes, which the value has."""
    from playwright.sync_api import expect

    expect(tab.locator(".waiting")).to_have_count(0)
    with tab.expect_response(lambda response: response.url.endswith("/predict")) as got:
        yield got
    assert got.value.status == 200, got.value.text()
    expect(tab.locator(".waiting")).to_have_count(0)


def asked(got: Any) -> dict[str, Any]:
    return got.value.request.post_data_json


def words(tab: Any, name: str, slot: int = 0) -> Any:
    """The words of a line of the layer that is shown."""
    shown = (
        tab.locator(".slot").nth(slot).locator("[role=tabpanel]:not([hidden]), .where > .slider")
    )
    return shown.locator(f"dd.{name} .word")


def test_typing_changes_the_output_and_the_maps(one, opened):
    from playwright.sync_api import expect

    tab = opened(one)
    box, messages = tab.get_by_label("text", exact=True), tab.locator(".messages")
    expect(words(tab, "source")).to_have_text(["The", "old", "dog", "sleeps", ".", "<end>"])
    box.fill("The dog")
    expect(words(tab, "source")).to_have_text(["The", "dog", "<end>"])
    box.press_sequentially(" sleeps qqq", delay=20)
    expect(words(tab, "source")).to_have_count(5)
    expect(messages).to_contain_text("qqq")
    box.fill("")
    expect(messages).not_to_contain_text("qqq")
    box.fill("The dog")
    expect(words(tab, "source")).to_have_count(3)
    expect(messages).to_be_empty()


@pytest.mark.parametrize(
    "text",
    [
        "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>",
        "הכלב הזקן ישן 🐕‍🦺 \u202e\u2028 & old dog",
        "The old dog sleeps. " * 2500,
    ],
    ids=["markup", "right to left", "10,000 words"],
)
def test_any_text_is_only_text(one, opened, text):
    from playwright.sync_api import expect

    tab = opened(one)
    with tab.expect_response(lambda response: response.url.endswith("/predict")) as got:
        tab.get_by_label("text", exact=True).fill(text)
    assert asked(got)["entries"] == {"text": text} and got.value.status in (200, 422)
    expect(tab.locator(".waiting")).to_have_count(0)
    assert tab.locator("img, .slot script:not([type='application/json'])").count() == 0
    assert tab.evaluate("document.documentElement.scrollWidth") == 1280


def test_a_word_shows_where_it_looks_by_pointer_and_by_keys(one, opened):
    from playwright.sync_api import expect

    tab = opened(one)
    readout = tab.locator("[role=tabpanel]:not([hidden]) .readout")
    words(tab, "translation").first.hover()
    expect(readout).to_contain_text("looks at")
    words(tab, "source").nth(1).click()
    expect(readout).to_contain_text("old is looked at by")
    tab.keyboard.press("ArrowRight")
    expect(readout).to_contain_text("dog is looked at by")
    expect(tab.locator(".word-bar .label")).to_have_text("“dog”")
    tab.get_by_role("tab").last.focus()
    tab.keyboard.press("ArrowLeft")
    assert tab.get_by_role("tab", selected=True).text_content() == "decoder_0 self_attention"


def test_the_slider_and_play_move_through_the_epochs(one, opened):
    from playwright.sync_api import expect

    tab = opened(one)
    slider, said = tab.get_by_role("slider"), tab.locator(".epochs output")
    slider.focus()
    with predicted(tab) as got:
        slider.press("Home")
        slider.press("ArrowLeft")
    assert asked(got)["epoch"] == 1
    expect(said).to_contain_text("epoch 1 of 2")
    with predicted(tab) as got:
        tab.get_by_role("button", name="play the epochs").click()
    assert asked(got)["epoch"] == 2
    expect(said).to_contain_text("epoch 2 of 2")
    expect(tab.get_by_role("button", name="play the epochs")).to_be_visible()


def test_heads_words_and_rows_are_changed_and_undone(one, opened):
    from playwright.sync_api import expect

    tab = opened(one)
    changes, score = tab.locator(".list li"), tab.locator(".score")
    head, hide = tab.get_by_role("button", name="head 1"), tab.get_by_role("button", name="hide it")
    expect(score).to_be_empty()
    with predicted(tab) as got:
        head.click()
    assert asked(got)["changes"] == {CROSS: {"heads": [0], "hidden": [], "rows": {}}}
    assert head.first.get_attribute("aria-pressed") == "false"
    expect(score).to_contain_text("without changes")
    words(tab, "source").nth(1).focus()
    with predicted(tab) as got:
        hide.press("Enter")
    assert asked(got)["changes"][CROSS]["hidden"] == [1]
    expect(tab.locator(".hidden-word")).to_have_text("old")
    words(tab, "translation").first.click()
    with predicted(tab):
        tab.get_by_role("button", name="spread its weights evenly").click()
    with predicted(tab) as got:
        tab.locator("select.only").select_option(index=3)
    row = got.value.json()["layers"][-1]["rows"][0]
    assert asked(got)["changes"][CROSS]["rows"] == {str(row): 2}
    expect(changes).to_have_count(3)
    expect(changes.nth(1)).to_contain_text(f"“old” hidden in {CROSS}")
    expect(changes.nth(2)).to_contain_text("looks only at “dog”")
    with predicted(tab) as got:
        changes.first.get_by_role("button").click()
    assert asked(got)["changes"][CROSS]["heads"] == []
    with predicted(tab) as got:
        tab.get_by_role("button", name="undo all").click()
    expect(changes).to_have_count(0)
    expect(score).to_be_empty()
    with predicted(tab) as got:
        tab.get_by_role("button", name="all off").click()
    assert asked(got)["changes"][CROSS]["heads"] == [0, 1]


def test_the_address_reopens_the_same_view(one, opened):
    from playwright.sync_api import expect

    first = opened(one)
    first.get_by_label("text", exact=True).fill("The dog & <b>")
    first.get_by_role("slider").press("ArrowLeft")
    first.get_by_role("tab").first.click()
    first.locator(".where select:visible").select_option(index=2)
    with predicted(first):
        first.get_by_role("button", name="head 2").click()
    expect(first.locator(".list li")).to_have_count(1)
    first.wait_for_timeout(500)
    again = opened(one, first.url)
    expect(again.locator(".list li")).to_have_text("head 2 off in encoder_0×")
    assert again.get_by_label("text", exact=True).input_value() == "The dog & <b>"
    expect(again.locator(".epochs output")).to_contain_text("epoch 1 of 2")
    assert again.get_by_role("tab", selected=True).text_content() == "encoder_0"
    assert again.locator(".where select:visible").input_value() == "2"
    assert again.locator(".output").text_content() == first.locator(".output").text_content()
    again.goto(one.address + "#nonsense")  # only the hash differs
    expect(words(again, "source")).to_have_count(6)


def test_two_runs_answer_the_same_input(two, opened):
    from playwright.sync_api import expect

    tab = opened(two)
    slots, outputs = tab.locator(".slot"), tab.locator(".output")
    with predicted(tab):
        tab.get_by_label("text", exact=True).fill("The dog sleeps.")
    for slot in (0, 1):
        expect(words(tab, "source", slot)).to_have_count(5)
    texts = [outputs.nth(slot).text_content().split() for slot in (0, 1)]
    marks = [word for word in texts[0] if word not in texts[1]]
    expect(slots.first.locator("mark")).to_have_text(marks)
    tab.get_by_text("settings that differ").click()
    row = tab.locator(".differs tr", has=tab.get_by_text("attention.name", exact=True))
    expect(row.locator("td")).to_have_text(["attention.name", "multi_head", "bahdanau"])
    with predicted(tab) as got:
        slots.nth(1).get_by_role("button", name="attention", exact=True).click()
    (change,) = asked(got)["changes"].values()
    assert asked(got)["slot"] == 1 and change["heads"] == [0]
    expect(slots.first.locator(".list li")).to_have_count(0)
    boxes = [slots.nth(slot).bounding_box() for slot in (0, 1)]
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] < boxes[1]["x"]
    narrow = opened(two, width=390)
    assert narrow.evaluate("document.documentElement.scrollWidth") == 390


def test_a_series_is_dragged_typed_and_made_longer(trained, opened):
    from playwright.sync_api import expect

    with serving(trained.folder) as server:
        tab = opened(server)
        points, series = tab.locator(".series [role=slider]"), lambda got: asked(got)["entries"]
        count = points.count()
        tab.get_by_role("button", name="longer").click()
        expect(tab.locator(".messages")).to_contain_text(f"reads {count} numbers, got {count + 1}")
        with predicted(tab) as got:
            tab.get_by_role("button", name="shorter").click()
        (name,) = series(got)
        before = series(got)[name]
        assert len(before) == count
        box = points.nth(2).bounding_box()
        tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        tab.mouse.down()
        with predicted(tab) as got:
            tab.mouse.move(box["x"], box["y"] - 30)
        tab.mouse.up()
        changed = [a != b for a, b in zip(before, series(got)[name], strict=True)]
        assert changed.index(True) == 2 and sum(changed) == 1
        assert series(got)[name][2] > before[2]
        with predicted(tab) as got:
            points.nth(2).press("Shift+ArrowDown")
        assert all(a != b for a, b in zip(before, series(got)[name], strict=True))
        points.nth(2).press("ArrowRight")
        expect(points.nth(3)).to_be_focused()
        tab.get_by_text("as numbers").click()
        with predicted(tab) as got:
            tab.locator(".series textarea").fill(" ".join(map(str, range(count))))
        assert series(got)[name] == [*range(count)]
        expect(points).to_have_count(count)
        expect(tab.locator("polyline.forecast-0")).to_have_count(1)
        narrow = opened(server, width=390)
        assert narrow.evaluate("document.documentElement.scrollWidth") == 390


def test_an_image_is_chosen_and_a_question_is_asked(no_figures, tmp_path, opened):
    from playwright.sync_api import expect

    attnlab = CommandsHere(tmp_path)
    sizes = ("attention.heads=2", "model.layers=1", "model.feed_forward=4", "model.units=4")
    attnlab.run("task=digits", "data.limit=100", *sizes, *SMALL)
    attnlab.run("task=answer", "data.questions=100", "model.units=4", "model.embedding=4", *SMALL)
    answering, digits = sorted(attnlab.run_folders())
    with serving(digits) as server:
        tab = opened(server)
        picture = tab.locator(".drop img")
        start = picture.get_attribute("src")
        tab.locator(".where img").first.screenshot(path=tmp_path / "other.png")
        with predicted(tab) as got:
            tab.locator("input[type=file]").set_input_files(tmp_path / "other.png")
        assert asked(got)["entries"]["image"].startswith("data:image/png;base64,")
        assert picture.get_attribute("src") == asked(got)["entries"]["image"] != start
        frame = tab.locator("div:has(> canvas)").first  # the map is over the image
        assert "data:image/png" in frame.get_attribute("style")
        (tmp_path / "text.png").write_text("no image")
        tab.locator("input[type=file]").set_input_files(tmp_path / "text.png")
        expect(tab.locator(".messages")).not_to_be_empty()
    with serving(answering) as server:
        tab = opened(server)
        names = [box.get_attribute("data-field") for box in tab.locator(".field").all()]
        with predicted(tab) as got:
            tab.get_by_label(names[0], exact=True).fill("Who has the ball?")
        assert [*asked(got)["entries"]] == names and len(names) == 2


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (("task=classify", "data.texts=100", "attention=bahdanau"), "The dog sleeps."),
        (("task=masked_words", "data.sentences=100", "attention.heads=2"), "The [MASK] sleeps."),
        (("task=language", "data.sentences=100", "attention.heads=2"), "The dog sl"),
    ],
)
def test_texts_of_other_kinds_are_typed_and_changed(no_figures, tmp_path, opened, settings, text):
    attnlab = CommandsHere(tmp_path)
    attnlab.run(*settings, "model.units=4", *SMALL)
    with serving(*attnlab.run_folders()) as server:
        tab = opened(server, width=390)
        with predicted(tab) as got:
            tab.locator("textarea").fill(text)
        assert asked(got)["entries"] == {"text": text}
        assert tab.locator(".output").inner_text() and tab.locator(".likely td").count()
        words(tab, "source").first.click()
        with predicted(tab) as got:
            tab.locator(".hide").click()
        assert got.value.json()["score"]["before"] != got.value.json()["score"]["now"]


def test_tables_of_heads_are_sorted_and_cancelled_and_maps_are_saved(one, opened):
    from playwright.sync_api import expect

    tab = opened(one)
    result, progress = tab.locator(".result"), tab.get_by_role("progressbar")
    tab.get_by_role("button", name="what heads do").click()
    expect(result.locator("tbody tr")).to_have_count(6, timeout=60_000)
    result.get_by_role("button", name="entropy").click()
    assert result.locator("[aria-sort=ascending]").count() == 1
    tab.get_by_role("button", name="close").click()
    expect(result).to_be_empty()
    tab.get_by_role("button", name="rank the heads").click()
    expect(progress).to_be_visible()
    tab.get_by_role("button", name="cancel").click()
    expect(progress).to_be_hidden()
    expect(result).to_be_empty()
    tab.get_by_role("button", name="rank the heads").click()
    expect(result.locator("tbody tr")).to_have_count(6, timeout=60_000)
    expect(progress).to_be_hidden()
    for form in ("PNG", "CSV"):
        with tab.expect_download() as got:
            tab.get_by_role("button", name=form).click()
        assert got.value.suggested_filename == f"attention.{form.lower()}"


def test_a_server_that_goes_away_may_return(one, opened):
    from playwright.sync_api import expect

    tab = opened(one)
    away = tab.get_by_text("The server doesn't answer: start attnlab explore again.")
    expect(away).to_be_hidden()
    one.stop()
    tab.get_by_label("text", exact=True).fill("The dog")
    expect(away).to_be_visible()
    one.start()
    expect(away).to_be_hidden(timeout=10_000)
    expect(words(tab, "source")).to_have_text(["The", "dog", "<end>"])
