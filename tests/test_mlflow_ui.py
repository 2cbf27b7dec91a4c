"""A sweep in the MLflow UI, in a real browser."""

from __future__ import annotations

import re
import shutil
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
EPOCHS = 4
SWEEP = ("-m", "task=fib", "attention=bahdanau,multi_head", "seed=0,1")
SETTINGS = (f"trainer.epochs={EPOCHS}", "model.units=8", "trainer.jit=false", "sweep.name=seen")
NAMES = [f"fib-{attention}-s{seed}" for attention in ("bahdanau", "multi_head") for seed in (0, 1)]
PATIENCE = 120_000  # milliseconds
ATTEMPTS = 5

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium, which is not installed"),
]


@pytest.fixture
def server(attnlab) -> Iterator[str]:
    """The address of `attnlab ui` over the runs of a sweep."""
    outcome = attnlab(*SWEEP, *SETTINGS)
    assert outcome.code == 0, outcome.err
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    with attnlab.start("ui", "--port", port) as process:
        until(lambda: urllib.request.urlopen(address, timeout=1).status == 200)
        assert process.stdout is not None
        yield process.stdout.readline().split()[3]  # MLflow UI at ADDRESS
        process.terminate()
        process.communicate()


def until(answers) -> None:
    """Wait until a function answers without an error."""
    for attempt in range(120):
        try:
            answers()
            return
        except OSError:
            time.sleep(0.5 + attempt / 100)
    raise AssertionError("the server does not answer")


@pytest.fixture
def page(server):
    """The experiment's page, with the sweep's runs below the run that stands for it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.set_default_timeout(PATIENCE)
        page.goto(server)
        parent = page.get_by_role("row").filter(has_text="seen").first
        links = [page.get_by_role("link", name=name).first for name in NAMES]
        press(parent.get_by_role("button").first, links[0].wait_for)
        for link in links:
            link.wait_for()
        yield page
        browser.close()


def press(target, shows: Callable[..., None]) -> None:
    """Click until the target is visible, because a page may lose clicks while it is drawn."""
    from playwright.sync_api import TimeoutError as Late

    for attempt in range(1, ATTEMPTS + 1):
        try:
            target.click(timeout=PATIENCE / ATTEMPTS)
            shows(timeout=PATIENCE / ATTEMPTS)
            return
        except Late:
            if attempt == ATTEMPTS:
                raise


def chart(page) -> list[dict]:
    """Name and number of points of each curve of the first chart, bands among them."""
    page.wait_for_function(
        "() => [...document.querySelectorAll('.js-plotly-plot')].slice(0, 1)"
        ".some(plot => plot.data && plot.data.some(d => d.x && d.x.length))"
    )
    script = "plot => plot.data.map(d => ({name: String(d.name), points: d.x.length}))"
    return page.locator(".js-plotly-plot").first.evaluate(script)


def test_the_runs_of_a_sweep_have_columns_and_curves(page):
    for column in ("attention.name", "seed", "test_rmse"):
        page.get_by_role("columnheader").filter(has_text=column).first.wait_for()
    rows = page.get_by_role("row").filter(has_text=re.compile("fib-(bahdanau|multi_head)-s"))
    for number in range(rows.count()):
        box = rows.nth(number).get_by_role("checkbox")
        if box.count():
            box.first.click()
    compare = page.get_by_role("button", name="Compare").first
    press(compare, page.get_by_text("Run details").wait_for)
    text = page.inner_text("body")
    assert all(name in text for name in NAMES)
    link = page.get_by_role("link", name="val_loss")
    press(link, partial(page.wait_for_url, re.compile("#/metric")))
    curves = chart(page)
    assert {curve["name"].split()[0] for curve in curves} == set(NAMES)
    assert EPOCHS in {curve["points"] for curve in curves}
