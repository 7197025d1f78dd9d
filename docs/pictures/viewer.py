"""Makes the pictures of the viewer: its states and pages, light and dark, in three widths, of the files that its tests open. Some of them are in the documentation.

Needs what scripts/browser installs; scripts/pictures calls it: docs/pictures/viewer.py [FOLDER]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from playwright.sync_api import Page, sync_playwright  # noqa: E402

from innervoice.view.library import Library  # noqa: E402
from innervoice.view.server import ViewServer  # noqa: E402
from view.browser import sample_files  # noqa: E402
from view.usage_logs import month, sample_prices  # noqa: E402

HERE = Path(__file__).parent
KEPT = {
    ("timeline", "light"): "viewer-reading.png", ("plan", "light"): "viewer-plan.png", ("compare", "dark"): "viewer-compare.png",
    ("runs", "light"): "viewer-runs.png", ("usage", "light"): "viewer-usage.png",
}  # fmt: skip
"""The pictures that the documentation has."""
SIZE: Any = {"width": 1280, "height": 720}
OTHER_SIZES: tuple[Any, ...] = ({"width": 400, "height": 800}, {"width": 1600, "height": 1000})
"""Sizes in which everything is looked at."""
USAGE_SIZE: Any = {"width": 1280, "height": 1240}


def _open(page: Page, name: str) -> None:
    page.locator("#source-list a", has_text=name).last.click()
    page.locator("#head .path", has_text=name).wait_for()


def timeline(page: Page) -> None:
    _open(page, "slow-build.json")


def unfolded(page: Page) -> None:
    _open(page, "slow-build-edited.json")
    page.locator("input[value=full]").check()


def plan(page: Page) -> None:
    _open(page, "slow-build-edited.json")
    page.get_by_role("button", name="Plan").click()
    page.locator("#target").fill("openai/gpt-5.6")
    page.keyboard.press("Enter")
    page.locator(".mark.stays").first.wait_for()
    page.locator("#close-side").focus()


def compare(page: Page) -> None:
    _open(page, "slow-build.json")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.locator("#left").select_option(index=4)
    _open(page, "gpt.json")
    page.locator("#right option").nth(1).wait_for(state="attached")
    page.locator("#right").select_option(index=1)
    page.locator("ins.line").first.wait_for()


def search(page: Page) -> None:
    _open(page, "slow-build.json")
    page.locator("#search").fill("lock file")
    page.locator(".hit").first.click()


def lanes(page: Page) -> None:
    _open(page, "5e55.jsonl")


def runs(page: Page) -> None:
    page.locator("#source-list a").first.wait_for()
    links = {
        link.locator(".path, .title").last.inner_text().rpartition("/")[2]: link.get_attribute("href")
        for link in page.locator("#source-list a").all()
    }  # fmt: skip
    ids = [str(links[name])[3:] for name in ("slow-build.json", "gpt.json")]
    page.goto(f"{page.url.split('#')[0]}runs#a={ids[0]}&b={ids[1]}")
    page.locator(".pair").first.wait_for()


def keys(page: Page) -> None:
    timeline(page)
    page.keyboard.press("?")


def filters(page: Page) -> None:
    timeline(page)
    page.get_by_text("Filter", exact=True).click()


STATES: dict[str, Callable[[Page], None]] = {
    "timeline": timeline,
    "unfolded": unfolded,
    "plan": plan,
    "compare": compare,
    "search": search,
    "lanes": lanes,
    "runs": runs,
    "keys": keys,
    "filters": filters,
}


def usage(browser: Any, folder: Path) -> None:
    """The page about usage, with a month of made-up requests and prices."""
    sys.modules["genai_prices"] = sample_prices()
    with tempfile.TemporaryDirectory() as made:
        Path(made, "requests-1.jsonl").write_bytes(month(time.time()))
        with ViewServer(Library([Path(made)])) as server:
            for scheme in ("light", "dark"):
                context = browser.new_context(color_scheme=scheme, viewport=USAGE_SIZE)
                page = context.new_page()
                page.goto(server.first_address)
                page.goto(f"{server.url}/usage#days=30")
                page.locator("figure").last.wait_for()
                page.screenshot(path=folder / f"usage-{scheme}.png")
                context.close()


def main(folder: Path) -> None:
    """Writes all pictures into a folder, and those that are kept beside this file."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as made,
        ViewServer(Library([sample_files.write(Path(made) / "conversations")])) as server,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for scheme in ("light", "dark"):
            for name, reach in STATES.items():
                for size in (SIZE, *OTHER_SIZES):
                    context: Any = browser.new_context(color_scheme=scheme, viewport=size)  # type: ignore[arg-type]
                    page = context.new_page()
                    page.goto(server.first_address)
                    reach(page)
                    page.wait_for_timeout(300)
                    width = "" if size is SIZE else f"-{size['width']}"
                    page.screenshot(path=folder / f"{name}-{scheme}{width}.png")
                    context.close()
        usage(browser, folder)
        browser.close()
    for (name, scheme), kept in KEPT.items():
        shutil.copy(folder / f"{name}-{scheme}.png", HERE / kept)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "pictures")
