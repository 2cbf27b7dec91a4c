"""How fast `attnlab explore` answers a person who types: milliseconds in a headless Chromium.

    python scripts/bench_explore.py RUN...

For each run: the time from a change of the input, and of the epoch, to the drawn answer (median and
range of 30 and of 50), and how many megabytes the server's memory grew by over both. It needs
playwright and Chromium.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

INPUTS, EPOCHS, WARM = 30, 50, 3
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Changes the input, and returns the milliseconds until the answer is drawn.
TIMED = """change => new Promise(drawn => {
  const start = performance.now();
  const seen = new MutationObserver(() => requestAnimationFrame(() => {
    seen.disconnect();
    drawn(performance.now() - start);
  }));
  document.querySelectorAll(".where").forEach(part => seen.observe(part, {childList: true}));
  const slider = document.querySelector("#epoch");
  const field = document.querySelector("textarea");
  if (change === "epoch") slider.value = slider.value === slider.max ? 0 : Number(slider.value) + 1;
  else field.value = change;
  (change === "epoch" ? slider : field).dispatchEvent(new Event("input", {bubbles: true}));
})"""


def inputs(first: str) -> list[str]:
    """Different inputs of about the same length as the first one: its words in other orders."""
    if re.fullmatch(r"[-+.\deE,\s]+", first):  # a series
        numbers = re.split(r"[,\s]+", first.strip())
        lasts = (float(numbers[-1]) * (1 + n / 1000) for n in range(INPUTS + WARM))
        return [", ".join([*numbers[:-1], repr(last)]) for last in lasts]
    words, texts = first.split(), []
    for number in range(1, INPUTS + WARM + 1):
        more, start = divmod(number, len(words))
        texts.append(" ".join(words[start:] + words[:start]) + "." * more)
    return texts


def memory(process: subprocess.Popen) -> float:
    """Megabytes of a process in memory."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def measure(page: Page, process: subprocess.Popen) -> str:
    """Return a row: the milliseconds of inputs, of epochs, and the growth of memory."""
    page.wait_for_selector(".where > *")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    texts = inputs(page.evaluate("document.querySelector('textarea').value"))
    for text in texts[:WARM]:
        page.evaluate(TIMED, text)
    before = memory(process)
    typed = [page.evaluate(TIMED, text) for text in texts[WARM:]]
    moved = [page.evaluate(TIMED, "epoch") for _ in range(EPOCHS)]
    growth = memory(process) - before
    cells = [f"{statistics.median(t):4.0f} [{min(t):.0f}, {max(t):.0f}]" for t in (typed, moved)]
    return f"{cells[0]:18}  {cells[1]:18}  {growth:5.1f}"


def main(runs: list[str]) -> None:
    """Print a row per run."""
    browser_path = next(filter(None, map(shutil.which, BROWSERS)))
    print(f"{'typing, ms':18}  {'epoch, ms':18}  {'MB':>5}  run")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for run in runs:
            words = [sys.executable, "-m", "attnlab", "explore", run, "--no-browser"]
            process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            try:
                page = browser.new_page()
                page.goto(re.findall(r"http://\S+", process.stdout.readline())[0])
                print(f"{measure(page, process)}  {run}", flush=True)
                page.close()
            finally:
                process.terminate()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
