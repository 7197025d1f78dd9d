"""What the tests of this folder drive a browser with; a module that imports it is skipped where playwright is missing."""

import pytest

MISSING = "the browser of the viewer's tests is not installed; scripts/browser does it"
playwright = pytest.importorskip("playwright.sync_api", reason=MISSING)
expect = playwright.expect


def watched(context):
    """A page whose `troubles` are errors, violations of its policy, dialogs and requests that leave its server."""
    page = context.new_page()
    page.troubles = []
    page.on("pageerror", lambda error: page.troubles.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (page.troubles.append("dialog"), dialog.dismiss()))
    page.on(
        "console",
        lambda said: (
            page.troubles.append(f"console: {said.text}")
            if said.type in ("error", "warning")
            else None
        ),
    )
    page.on("request", lambda request: _judge(page, request.url))
    page.add_init_script(
        "addEventListener('securitypolicyviolation', (event) => console.error('refused: ' + event.violatedDirective))"
    )
    return page


def _judge(page, url):
    own = page.url.split("#")[0].rsplit("/", 1)[0]
    if not url.startswith(("http://127.0.0.1:", "data:", "about:", "file:", own)):
        page.troubles.append(f"request: {url}")


def as_read(rows):
    """Rows in the order of the page: a result stands under its call."""
    results = {}
    for row in rows:
        if row["kind"] == "result" and "call" in row:
            results.setdefault(row["call"], []).append(row)
    nested = {row["n"] for under in results.values() for row in under}
    return [
        one for row in rows if row["n"] not in nested for one in (row, *results.get(row["n"], ()))
    ]


def rows_of(server, id_="s1.main"):
    return server.conversations[id_]["rows"]
