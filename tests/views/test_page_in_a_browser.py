"""A page in a real browser without network, used by pointer and by keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsers import NEEDS_BROWSER, started_browser
from example_page import HOSTILE, page, shaded_page

from attnlab.views.html.page import page_text

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def browser():
    with started_browser() as browser:
        yield browser


@pytest.fixture
def wrong() -> list[str]:
    """The problems of a page: errors, and requests to a network."""
    return []


def opened(browser, path: Path, wrong: list[str]):
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    tab.on("request", lambda asked: wrong.append(asked.url) if asked.url[:4] == "http" else None)
    tab.goto(path.as_uri())
    return tab


@pytest.fixture(params=["plain", HOSTILE], ids=["plain", "hostile"])
def seen(browser, tmp_path, request, wrong):
    """The open page; at the end it must have no errors and no network requests."""
    path = tmp_path / "report.html"
    path.write_text(page_text(page(request.param)), encoding="utf-8")
    tab = opened(browser, path, wrong)
    yield tab
    assert tab.evaluate("window.hacked") is None
    assert wrong == []
    tab.close()


def column(tab, number: int) -> list[str]:
    """The cells of a column, without the row that contains a run's text."""
    cells = f"row => row.cells[{number}].textContent"
    texts = tab.eval_on_selector_all("tbody tr", f"rows => rows.map({cells})")
    return [text for text in texts if text not in ("plain", HOSTILE)]


def test_a_column_sorts_both_ways_by_a_button(seen):
    names, values = (seen.locator("th button").nth(number) for number in (0, 1))
    values.click()
    assert column(seen, 1) == ["-3e-2", "2.5", "1,000"]
    assert seen.locator("th").nth(1).get_attribute("aria-sort") == "ascending"
    values.press("Enter")
    assert column(seen, 1) == ["1,000", "2.5", "-3e-2"]
    names.press("Space")
    assert column(seen, 0) == ["a", "b", "c"]
    assert seen.locator("th").nth(1).get_attribute("aria-sort") is None
    seen.locator("th button").nth(2).click()
    assert column(seen, 2) == ["0.5 [0, 1]", "2", "-"]  # what has no number comes last


def test_the_slider_changes_all_its_records(seen):
    slider = seen.locator("input[type=range]")
    assert slider.input_value() == "1"

    def state():
        bars = seen.locator(".bars").first.get_attribute("d")
        tops = [float(part.split("V")[1].split("h")[0]) for part in bars.split("M")[1:]]
        pixels = "canvas => [...canvas.getContext('2d').getImageData(0, 0, 4, 1).data]"
        head = seen.locator(".maps canvas").first.evaluate(pixels)[3::4]
        words = seen.locator("dd.translation .word").all_text_contents()
        return tops.index(min(tops)), head.index(255), words

    assert state() == (1, 1, ["der", "Hund", "<end>"])
    slider.focus()
    slider.press("ArrowLeft")
    assert state() == (0, 0, ["der", "der", "<end>"])
    assert seen.locator("output").text_content() == "epoch 1 of 9 · val_loss 3"
    assert slider.get_attribute("aria-valuetext") == "epoch 1 of 9 · val_loss 3"
    slider.press("End")
    assert state() == (2, 2, ["der", "Hund", "<end>"])


def strengths(words) -> list[float]:
    """The strength of each word's highlight."""
    style = (
        "words => words.map(w => {const share = w.style.background.match(/([\\d.]+)\\)$/);"
        " return share ? Number(share[1]) : 0;})"
    )
    return words.evaluate_all(style)


def test_a_word_highlights_the_words_it_attends_to(seen):
    source, reference, target = (
        seen.locator(f"dd.{name} .word") for name in ("source", "reference", "translation")
    )
    target.nth(1).hover()
    assert strengths(source) == pytest.approx([0.85 * 64 / 255, 0.85 * 191 / 255, 0], abs=1e-3)
    assert "Hund looks at dog 0.75, the 0.25" in seen.locator("article .readout").text_content()
    assert "gold" in source.nth(1).get_attribute("class")  # translated as the reference says
    assert seen.locator(".wavy").is_visible()
    target.nth(1).click()
    seen.mouse.move(0, 0)
    assert strengths(source)[1] > 0.6  # what was clicked stays
    seen.locator("select").select_option("1")  # head 1: the same upside down
    target.nth(2).hover()
    assert strengths(source)[0] == pytest.approx(0.85 * 204 / 255, abs=1e-3)
    seen.locator("select").select_option("0")
    seen.mouse.move(0, 0)
    reference.nth(0).focus()
    assert "gold" in source.nth(0).get_attribute("class")
    assert strengths(source) == [0, 0, 0]
    reference.nth(0).press("ArrowRight")
    assert "Hund belongs to dog" in seen.locator("article .readout").text_content()
    source.nth(0).hover()
    assert strengths(target) == pytest.approx([0.85 * 0.8, 0.85 * 64 / 255, 0], abs=1e-3)
    source.nth(2).hover()
    readout = seen.locator("article .readout").text_content()
    assert " (not in the vocabulary: " in readout and readout.endswith("is looked at by <end> 1.00")
    assert target.nth(2).get_attribute("title") == "odd"  # written anew by the script


@pytest.mark.parametrize("second", [0.04, -0.04])
def test_shaded_texts_show_their_weights_all_the_time(browser, tmp_path, wrong, second):
    """Weights below 0 are red and written with their sign."""
    path = tmp_path / "report.html"
    path.write_text(page_text(shaded_page(second=second)), encoding="utf-8")
    tab = opened(browser, path, wrong)
    assert not tab.locator(".wavy").is_visible()
    source, said = (tab.locator(f"dd.{name} .word") for name in ("source", "translation"))
    readout = tab.locator("article .readout")
    assert strengths(source) == pytest.approx([0.85, 0.34, 0], abs=2e-3)
    colours = source.evaluate_all("words => words.map(word => word.style.background)")
    assert ["--below" in colour for colour in colours] == [False, second < 0, False]
    said.nth(0).hover()
    assert readout.text_content() == f"good looks at so 0.100, lovely {second:.3f}"
    tab.mouse.move(0, 0)
    assert strengths(source) == pytest.approx([0.85, 0.34, 0], abs=2e-3)
    tab.locator("select").select_option("1")
    assert strengths(source) == pytest.approx([0, 0, 0.85], abs=1e-3)
    source.nth(2).hover()
    assert readout.text_content() == "plain is looked at by good 0.50"
    tab.locator("input[type=range]").press("End")
    assert said.all_text_contents() == ["bad"] and strengths(source) == [0, 0, 0]
    tab.close()
    assert wrong == []


def test_tabs_and_folds_open_by_keys(seen):
    tabs, panels = seen.get_by_role("tab"), seen.locator(".panel")
    assert [panels.nth(n).is_visible() for n in (0, 1)] == [True, False]
    tabs.nth(0).focus()
    seen.keyboard.press("ArrowRight")
    assert [panels.nth(n).is_visible() for n in (0, 1)] == [False, True]
    assert tabs.nth(1).get_attribute("aria-selected") == "true"
    inside = seen.locator("details p")
    assert not inside.is_visible()
    seen.locator("summary").press("Enter")
    assert inside.is_visible()


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_its_window(browser, tmp_path, width):
    path = tmp_path / "report.html"
    path.write_text(page_text(page("word " * 30)), encoding="utf-8")
    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.goto(path.as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    tab.close()
