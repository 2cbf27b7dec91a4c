"""A sweep in the MLflow UI, in a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress

import pytest
from command_line import answer_of, free_port

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
SWEEP = ("-m", "task=fib", "attention=bahdanau,multi_head", "seed=0,1")
SETTINGS = ("trainer.epochs=4", "model.units=8", "trainer.jit=false", "sweep.name=seen")
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
    attnlab.run(*SWEEP, *SETTINGS)
    port = free_port()
    with attnlab.start("ui", "--port", port) as process:
        assert answer_of(f"http://127.0.0.1:{port}")
        yield process.stdout.readline().split()[3]  # MLflow UI at ADDRESS
        process.terminate()
        process.communicate()


@pytest.fixture
def page(server):
    """The experiment's page, with the sweep's runs below the run that stands for it."""
    from playwright.sync_api import TimeoutError, sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.set_default_timeout(PATIENCE)
        page.goto(server)
        parent = page.get_by_role("row").filter(has_text="seen").first
        links = [page.get_by_role("link", name=name).first for name in NAMES]
        for _ in range(ATTEMPTS):  # the page may lose clicks while it is drawn
            parent.get_by_role("button").first.click()
            with suppress(TimeoutError):
                links[0].wait_for(timeout=PATIENCE / ATTEMPTS)
                break
        for link in links:
            link.wait_for()
        yield page
        browser.close()


def test_the_runs_of_a_sweep_are_below_its_run_and_have_columns(page):
    for column in ("attention.name", "seed", "test_rmse"):
        page.get_by_role("columnheader").filter(has_text=column).first.wait_for()
